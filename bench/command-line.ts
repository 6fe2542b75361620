/** The command lines of the benchmarks: `--help`, and faults in a sentence instead of a stack. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Status of a process whose command line, or a file that it names, is at fault. */
const USAGE = 2;

type Parsed<Options extends NonNullable<ParseArgsConfig['options']>> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: boolean }>
>;

/**
 * Reads the options of the process. `--help` prints the usage and ends it with 0, an unknown option
 * with 2.
 *
 * @param usage the command with its options, then a line for each
 */
export function readCommandLine<const Options extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: Options,
  allowPositionals = false,
): Parsed<Options> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ options, allowPositionals }) as Parsed<Options>;
  } catch (error) {
    return refuse(`${sentence(error)}\n\n${usage}`);
  }
}

/**
 * The result of reading what the command line names. An error is printed, and ends the process with
 * 2.
 */
export async function orRefuse<Value>(read: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    return refuse(sentence(error));
  }
}

/** A number over 0. */
export function readPositive(option: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  return refuse(`${option} must be a number over 0, and is '${text}'.`);
}

/** Numbers from 0 on, separated by commas. */
export function readNumbers(option: string, list: string): number[] {
  return list.split(',').map((text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
    return refuse(`${option} takes numbers separated by commas, and '${text}' is none.`);
  });
}

/** Known names, separated by commas. */
export function readNames<Name extends string>(option: string, list: string, names: readonly Name[]): Name[] {
  return list.split(',').map((text) => {
    const name = names.find((known) => known === text);
    return name ?? refuse(`${option} takes ${names.join(', ')}, and '${text}' is none of them.`);
  });
}

function refuse(message: string): never {
  console.error(message);
  process.exit(USAGE);
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
