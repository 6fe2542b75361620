/**
 * Cases that are the same over several values, such as protocols. By day they take turns: each case
 * runs over one value, and each value has its share of them. `npm run test:full` runs each case
 * over all values.
 */
import { describe, inject, type RunnerTestSuite } from 'vitest';

/** How an answer comes, with the fields of a chat request that ask for it. */
export const FORMS = [
  { form: 'whole', fields: {} },
  { form: 'streamed', fields: { stream: true, stream_options: { include_usage: true } } },
];

/**
 * Blocks of the same cases, one for each value.
 *
 * @param titleOf of a block, different for each value
 * @param block states the cases, which have the same names and order over each value
 */
export function inTurn<Value>(
  values: readonly Value[],
  titleOf: (value: Value) => string,
  block: (value: Value) => void,
): void {
  /** The names of the cases, as the first block has stated them. */
  let stated: readonly string[] | undefined;
  for (const [at, value] of values.entries()) {
    const title = titleOf(value);
    const collector = describe(title, () => block(value));
    if (inject('properties').full) continue;
    const collect = collector.collect.bind(collector);
    collector.collect = async (file) => {
      const suite = await collect(file);
      const names: string[] = [];
      const first = titleOf(values[0] as Value).length;
      keep(suite, (name) => turnOf(first + names.push(name), values.length) === at);
      stated ??= names;
      if (names.join('\n') !== stated.join('\n')) throw new Error(`"${title}" has cases of its own`);
      if (suite.tasks.length === 0) suite.mode = 'skip';
      return suite;
    };
  }
}

/** Blocks of the same cases, for answers in one piece and for streams. */
export function inBothForms(title: string, block: (stream: boolean) => void): void {
  inTurn([false, true], (stream) => `${title} (streamed: ${stream})`, block);
}

/**
 * Values over which a block runs as a whole, since its cases build on each other or there is one
 * alone: by day the one whose turn it is.
 *
 * @param at the place of the block, or of what else it runs over: neighbors differ
 */
export function ofTurn<Value>(at: number, values: readonly Value[]): readonly Value[] {
  return inject('properties').full ? values : values.slice(at % values.length).slice(0, 1);
}

/** Leaves out what has no turn, and the blocks that have nothing else. */
function keep(suite: RunnerTestSuite, hasTurn: (name: string) => boolean): void {
  suite.tasks = suite.tasks.filter((task) => {
    if (task.type !== 'suite') return hasTurn(task.name);
    keep(task, hasTurn);
    return task.tasks.length > 0;
  });
}

/** Whose turn it is: neighbors differ, and so does what comes at the same place of a pattern. */
function turnOf(place: number, values: number): number {
  let sum = 0;
  for (let rest = place; rest > 0; rest = Math.floor(rest / values)) sum += rest % values;
  return sum % values;
}
