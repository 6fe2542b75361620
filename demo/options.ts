/** The arguments of the demo. */
import { parseArgs } from 'node:util';
import { type DemoMode, isDemoMode, STRATEGIES } from './strategies.ts';

const MODES = Object.keys(STRATEGIES).join(', ');

const USAGE = `usage: precis demo [--mode <mode>] [--inspect]

  --mode     the memory strategy: ${MODES}
  --inspect  leaves the Worker running, and prints the address of its inspector

Without OPENAI_API_KEY the demo's own model answers; with it, OPENAI_MODEL does. In a clone
the command is \`npm run demo -- [the same]\`.`;

/** Ends the process after `--help`, and for an argument that it does not know. */
export function readOptions(args: readonly string[]): {
  readonly mode: DemoMode;
  readonly inspects: boolean;
} {
  const { mode, inspect, help } = parsed(args);
  if (help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (!isDemoMode(mode)) return fail(`--mode takes ${MODES}.`);
  return { mode, inspects: inspect };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        mode: { type: 'string', default: 'auto' },
        inspect: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

/**
 * Why a run with a key of OpenAI ended early, in a sentence.
 *
 * @returns undefined if the error is no answer of an API
 */
export function refusedRun(error: unknown): string | undefined {
  if (!(error instanceof Error && 'status' in error)) return undefined;
  return `The demo asked OpenAI, since OPENAI_API_KEY is set, and got: ${error.message}\nUnset it to let the demo's own model answer.`;
}
