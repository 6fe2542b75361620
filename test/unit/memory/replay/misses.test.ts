import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  result,
  user,
} from '../../../support/conversations/chat.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, stranger, tenant, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

const strategy: MemoryStrategyRequest = {
  mode: 'auto',
  token_soft_budget: 1_600,
  min_reclaim_tokens: 0,
  compact_min_tokens: 50,
  compact_keep_steps: 1,
  compact_preview_tokens: 0,
};

/** A file that is read, with what is in it. */
interface Read {
  readonly file: string;
  readonly content: string;
}

const of = (file: string, content = lines(40, `in ${file}`)): Read => ({ file, content });
/** Files that are read once. */
const others = (from: number, to: number): Read[] =>
  Array.from({ length: to - from }, (_, at) => of(`other ${from + at}`));

function stepsOf(reads: readonly Read[]): Message[] {
  const steps = reads.flatMap(({ file, content }, at) => [
    calls([`c${at}`, 'read_file', JSON.stringify({ path: file })]),
    result(`c${at}`, content),
  ]);
  return [user('go'), ...steps];
}

const viewAfter = (messages: readonly Message[], input = strategy): Viewed => viewOf(body(messages), input);

/** The views of a conversation, one per read. */
const viewsOf = (reads: readonly Read[], input = strategy): Viewed[] =>
  reads.map((_, at) => viewAfter(stepsOf(reads.slice(0, at + 1)), input));

/** The messages that the view has in full. */
const inFull = ({ view }: Viewed, message: number): boolean =>
  !view.removals.has(message) && !view.dropped.has(message);

const OFFLOADED: MemoryStrategyRequest = { ...strategy, token_soft_budget: 8_000, offload_min_tokens: 1_000 };

describe.each([
  // Of two repetitions the later one stays, or if they are large the earlier one.
  ['compacted', strategy, 40, 2],
  ['offloaded', OFFLOADED, 200, 0],
] as const)('a call that is repeated soon after its output was %s', (_, strategy, size, stays) => {
  const sized = (reads: readonly Read[]): Read[] =>
    reads.map(({ file }) => of(file, lines(size, `in ${file}`)));
  const reads = sized([of('a'), ...others(0, 12), of('a'), ...others(12, 40)]);
  /** Its second output. */
  const again = 2 * 14;
  const views = viewsOf(reads, strategy);

  it('is reported from then on', () => {
    expect(inFull(views[12] as Viewed, 2)).toBe(false);
    for (const { report } of views.slice(0, 13)) expect(report).not.toHaveProperty('misses');
    const ref = views[12]?.report.refs.find(({ tool_call_id }) => tool_call_id === 'c0')?.ref;
    for (const { report } of views.slice(13))
      expect(report.misses).toEqual([
        { how: 'repeated', message: again, tool_name: 'read_file', tool_call_id: 'c13', ref },
      ]);
  });

  it('has its output stay, while those around it leave', () => {
    for (const viewed of views.slice(13)) expect(inFull(viewed, again)).toBe(true);
    const last = views.at(-1) as Viewed;
    expect([again - 2, again + 2].map((message) => inFull(last, message))).toEqual([false, false]);
  });

  it('keeps every law, and every byte between two moves', () => {
    for (const [at, viewed] of views.entries()) {
      expect(brokenLaws(viewed)).toEqual([]);
      const before = views[at - 1];
      if (before) expect(brokenPrefix(before, viewed)).toEqual([]);
    }
  });

  it('has one of its outputs stay if it is repeated once more', () => {
    // Late: no move looks at the output again.
    const late = viewAfter(stepsOf([...reads, ...sized([of('a'), ...others(40, 60)])]), strategy);
    expect([again, 2 * (reads.length + 1)].map((message) => inFull(late, message))).toEqual([true, false]);
    // At once: the next move has both before it.
    const twice = viewAfter(
      stepsOf([...reads.slice(0, 14), ...sized([of('a'), ...others(12, 40)])]),
      strategy,
    );
    expect([again, again + 2].filter((message) => inFull(twice, message))).toEqual([again + stays]);
  });
});

describe('a view that comes back as the array', () => {
  it('still has the output stay', () => {
    const reads = [of('a'), ...others(0, 12), of('a'), ...others(12, 16)];
    const viewed = viewAfter(stepsOf(reads));
    const longer = [
      ...messagesOf(viewed),
      ...stepsOf([...reads, ...others(16, 40)]).slice(1 + 2 * reads.length),
    ];
    const again = viewAfter(longer as Message[]);
    expect(inFull(again, 2 * 14)).toBe(true);
    expect(again.report.misses).toMatchObject([{ how: 'repeated', message: 2 * 14 }]);
  });
});

describe('no miss is', () => {
  const missesOf = (reads: readonly Read[]) => viewAfter(stepsOf(reads)).report.misses;

  it.each<[what: string, reads: Read[]]>([
    ['a call whose output is in the view', [of('a'), of('a'), ...others(0, 12)]],
    ['a call that gives something else by now', [of('a'), ...others(0, 12), of('a', lines(40, 'changed'))]],
    ['another call with the same output', [of('a'), ...others(0, 12), of('b', of('a').content)]],
    ['a call that is repeated much later', [of('a'), ...others(0, 60), of('a'), ...others(60, 70)]],
  ])('%s', (_, reads) => {
    expect(missesOf(reads)).toBeUndefined();
  });
});

describe('a ref that was fetched through a tool of the caller’s', () => {
  const fetching = (ref: string): Message[] => [
    ...stepsOf([of('a'), ...others(0, 12)]),
    calls(['f', 'retrieve_ref', JSON.stringify({ ref, lines: '1-30' })]),
    result('f', lines(30, 'in a')),
    assistant('I see.'),
    user('go on'),
    ...stepsOf(others(12, 40)).slice(1),
  ];
  const FETCHED = 1 + 2 * 13 + 1;

  it('is reported, and its output stays', () => {
    const ref = viewAfter(stepsOf([of('a'), ...others(0, 12)])).report.refs[0]?.ref ?? '';
    const viewed = viewAfter(fetching(ref));
    expect(viewed.report.misses).toEqual([
      { how: 'fetched', message: FETCHED, tool_name: 'retrieve_ref', tool_call_id: 'f', ref },
    ]);
    expect(inFull(viewed, FETCHED)).toBe(true);
    expect(messagesOf(viewed)).toContainEqual(result('f', lines(30, 'in a')));
  });

  it('is like any other tool’s output if the ref is another tenant’s', () => {
    const foreign = stranger.refs.name('x', () => 'x');
    expect(tenant.refs.owns(foreign)).toBe(false);
    const viewed = viewAfter(fetching(foreign));
    expect(viewed.report).not.toHaveProperty('misses');
    expect(inFull(viewed, FETCHED)).toBe(false);
  });
});

describe('outputs that were missed', () => {
  it('stay in every later view, until the same comes again', () => {
    const file = fc.integer({ min: 0, max: 5 }).map((n) => of(`file ${n}`));
    const other = fc.integer({ min: 0, max: 1_000 }).map((n) => of(`other ${n}`));
    const reads = fc.array(fc.oneof({ weight: 1, arbitrary: file }, { weight: 2, arbitrary: other }), {
      minLength: 20,
      maxLength: 45,
    });
    const numRuns = runs(4, 40);
    let missed = 0;
    forAll({ numRuns, endOnFailure: true }, reads, (all) => {
      const views = viewsOf(all);
      const found = new Set<number>();
      for (const [at, viewed] of views.entries()) {
        const before = views[at - 1];
        if (before) expect(brokenPrefix(before, viewed)).toEqual([]);
        for (const message of found) {
          const file = all[message / 2 - 1]?.file;
          const same = all.flatMap((read, n) => (n <= at && read.file === file ? [2 * (n + 1)] : []));
          expect(same.some((one) => inFull(viewed, one))).toBe(true);
        }
        for (const { message = -1 } of viewed.report.misses ?? []) found.add(message);
      }
      missed += found.size;
    });
    expect(missed).toBeGreaterThan(numRuns / 2);
  });
});
