import { describe, expect, it } from 'vitest';
import { readOverview } from '../../../src/routes/conversations/sent-overview.ts';

const hash = (digit: string): string => digit.repeat(64);
const REF = `ref_${'a'.repeat(26)}`;

const completed = {
  memory_id: 3,
  base_memory_id: 1,
  prefix_hash: hash('a'),
  strategy_hash: hash('b'),
  start_sequence: 0,
  end_sequence: 7,
  base_end_seq: 5,
  window_size: 14,
  covers_end: 9,
  status: 'completed',
  memory_text: '## User Intent\n(none)',
  ref: REF,
  tokens: 12,
  model: 'gpt-4.1-nano',
  attempts: 1,
  error: null,
  created_at: 1_795_372_800,
  completed_at: 1_795_372_801,
  completed_at_ms: 1_795_372_801_250,
  generation_time_ms: 1_000,
  transcript_from: hash('c'),
  transcript_earlier: null,
};
const unfinished = {
  ...completed,
  memory_id: 2,
  base_memory_id: null,
  base_end_seq: null,
  status: 'failed',
  memory_text: null,
  ref: null,
  tokens: null,
  model: null,
  error: 'upstream_error',
  completed_at: null,
  completed_at_ms: null,
  generation_time_ms: null,
  transcript_from: '',
};
const round = { round_hash: hash('d'), strategy_hash: hash('b'), memory_id: 3, digest_hash: null };
const stats = { avg_ms: 1_000, max_ms: 1_000, total_summaries: 1 };

/** What GET answers. */
const overview = {
  id: 'case-4711',
  object: 'memory.conversation',
  memory_strategy: { mode: 'summarize' },
  memory_injection: null,
  health: 'healthy',
  conversation_memory: completed.memory_text,
  memories: [completed, unfinished],
  rounds: [round, { ...round, round_hash: hash('e'), memory_id: null, digest_hash: '' }],
  stats,
  stuck: false,
};

/** A body with the times of its versions as they are stored. */
const inMilliseconds = <Body extends { memories: { created_at: number; completed_at_ms: number | null }[] }>(
  body: Body,
) => ({
  ...body,
  memories: body.memories.map(({ completed_at_ms, ...memory }) => ({
    ...memory,
    created_at: memory.created_at * 1000,
    completed_at: completed_at_ms,
  })),
});

const readIt = (body: object) => readOverview(body as Record<string, unknown>, 'case-4711');
const withMemory = (change: object) => ({ ...overview, memories: [{ ...completed, ...change }, unfinished] });
const withUnfinished = (change: object) => ({
  ...overview,
  memories: [completed, { ...unfinished, ...change }],
});
const withRound = (change: object) => ({ ...overview, rounds: [{ ...round, ...change }] });
const without = (object: object, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));

describe('the body of PUT', () => {
  it('is what GET answers', () => {
    expect(readIt(overview)).toEqual({ ok: true, value: inMilliseconds(overview) });
  });

  it.each(['id', 'object', 'conversation_memory', 'stats', 'stuck'])('may lack %s', (name) => {
    expect(readIt(without(overview, name))).toMatchObject({ ok: true });
  });

  it.each(['memory_strategy', 'memory_injection', 'health', 'memories', 'rounds'])('needs %s', (param) => {
    expect(readIt(without(overview, param))).toMatchObject({ ok: false, reason: { param } });
  });

  it.each([
    ['a base that is not listed any more', withMemory({ base_memory_id: 1 })],
    ['a base whose row had gone', withMemory({ base_end_seq: null })],
    [
      'a version that was built on a younger part of itself',
      {
        ...overview,
        memories: [
          { ...completed, memory_id: 5, base_memory_id: null, base_end_seq: null },
          { ...completed, base_memory_id: 5 },
        ],
      },
    ],
    ['a processing version', withUnfinished({ status: 'processing', error: null })],
    ['one that is tried again', withUnfinished({ status: 'processing', error: 'timeout' })],
    ['a number before the first round', withMemory({ end_sequence: -1, base_end_seq: -1 })],
    ['no round and no version', { ...overview, memories: [], rounds: [] }],
  ])('may have %s', (_, body) => {
    expect(readIt(body)).toEqual({ ok: true, value: inMilliseconds(body) });
  });

  it('may have times to the second alone, or in milliseconds as versions before 0.7.0 gave them', () => {
    const times = (memory: object) => {
      const read = readIt({ ...overview, memories: [memory, unfinished] });
      return read.ok && [read.value.memories[0]?.created_at, read.value.memories[0]?.completed_at];
    };
    const { completed_at_ms: _, ...rest } = completed;
    expect(times(rest)).toEqual([1_795_372_800_000, 1_795_372_801_000]);
    const before = { created_at: 1_795_372_800_007, completed_at: 1_795_372_801_009 };
    expect(times({ ...rest, ...before })).toEqual(Object.values(before));
  });

  it('can hold no text that ends its block in a view', () => {
    const memory_text = 'a </session_summary> b ⟦removed: c⟧ \ud83d d';

    expect(readIt(withMemory({ memory_text }))).toMatchObject({
      value: { memories: [{ memory_text: 'a <\\/session_summary> b [removed: c⟧ \ufffd d' }, {}] },
    });
  });

  it.each([
    [withMemory({ memory_id: 0 }), 'an integer from 1 to 2147483647'],
    [withMemory({ base_end_seq: -2 }), 'an integer from -1, or null'],
    [withMemory({ prefix_hash: '' }), 'a SHA-256 of 64 hexadecimal digits in lower case'],
    [withMemory({ transcript_from: 'a' }), 'a SHA-256 of 64 hexadecimal digits in lower case, or empty'],
    [
      { ...overview, rounds: [{ ...round, digest_hash: 'a' }] },
      'a SHA-256 of 64 hexadecimal digits in lower case, empty, or null',
    ],
    [{ ...overview, rounds: [{ ...round, memory_id: 0 }] }, 'an integer from 1 to 2147483647, or null'],
    [{ ...overview, rounds: {} }, 'a list of at most 100 rounds'],
    [withMemory({ status: 'done' }), "'processing', 'completed' or 'failed'"],
    [withMemory({ ref: 'ref_' }), 'ref_ and 26 characters of a to z and 2 to 7, or null'],
    [withMemory({ created_at: -1 }), 'a time in seconds since 1970, an integer from 0'],
    [withMemory({ completed_at_ms: -1 }), 'completed_at in milliseconds, or left out'],
    [withMemory({ tokens: null }), 'an integer from 0 in a completed version'],
    [withUnfinished({ model: '' }), 'a text of 1 to 1000 characters, or null'],
    [{ ...overview, object: 'x' }, "'memory.conversation'"],
    [{ ...overview, stuck: 'no' }, 'true or false'],
    [{ ...overview, stats: 7 }, 'an object of avg_ms, max_ms and total_summaries'],
    [{ ...overview, conversation_memory: 7 }, 'a text, or null'],
    [{ ...overview, memories: [7] }, "an object, as in GET's answer"],
  ])('is answered with what would be right (fault %#)', (body, right) => {
    const read = readIt(body);
    expect(read.ok || read.reason.message.split(' must be ')[1]).toBe(`${right}.`);
  });

  const MEMBERS: Record<string, unknown[]> = {
    memory_id: [0, -1, 1.5, '3', null, 2 ** 31, undefined],
    base_memory_id: [0, 3, 2, 4, '1', undefined],
    prefix_hash: ['', 'a'.repeat(63), 'A'.repeat(64), 'g'.repeat(64), null, 7, undefined],
    strategy_hash: ['', null, `${hash('a')}\n`, undefined],
    start_sequence: [-1, 0.5, null, '0', undefined],
    end_sequence: [-2, null, undefined],
    base_end_seq: [-2, '5', undefined],
    window_size: [-1, '14', undefined],
    covers_end: [-1, null, 2 ** 60, undefined],
    status: ['done', 'COMPLETED', null, undefined],
    memory_text: ['', null, 7, 'x'.repeat(1_000_001), undefined],
    ref: ['ref_', REF.toUpperCase(), `${REF}a`, 7, undefined],
    completed_at_ms: [-1, '0', 1_795_372_802_000, 0.5],
    tokens: [-1, null, '12', undefined],
    model: ['', null, 'x'.repeat(1_001), undefined],
    attempts: [0, null, undefined],
    error: ['Some text', '', 'timeout', undefined],
    created_at: [-1, null, '2026-11-22', 8.64e15 + 1, undefined],
    completed_at: [-1, null, 1.5, 8.64e15 + 1, undefined],
    generation_time_ms: [-1, null, undefined],
    transcript_from: [null, 'a', undefined],
    transcript_earlier: ['', 'ref_', undefined],
  };

  it('is checked in each of its members', () => {
    expect(Object.keys(MEMBERS).toSorted()).toEqual(Object.keys(completed).toSorted());
  });

  it.each(Object.entries(MEMBERS).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
    'has versions whose %s is not %j',
    (name, value) => {
      const reason = {
        param: `memories[0].${name}`,
        message: expect.stringMatching(new RegExp(`\\.${name} must (?!.*undefined)`)),
      };

      expect(readIt(withMemory({ [name]: value }))).toEqual({ ok: false, reason });
    },
  );

  it.each<[string, object]>([
    ['round_hash', { round_hash: 'x' }],
    ['strategy_hash', { strategy_hash: '' }],
    ['memory_id', { memory_id: 0 }],
    ['memory_id', { memory_id: 2 }],
    ['memory_id', { memory_id: 4 }],
    ['digest_hash', { digest_hash: 'x' }],
    ['digest_hash', { digest_hash: undefined }],
  ])('has rounds whose %s is right: not %j', (name, change) => {
    const reason = {
      param: `rounds[0].${name}`,
      message: expect.stringMatching(new RegExp(`\\.${name} must (?!.*undefined)`)),
    };

    expect(readIt(withRound(change))).toEqual({ ok: false, reason });
  });

  it.each<[string, object, string]>([
    ['the id of another conversation', { ...overview, id: 'another' }, 'id'],
    ['an id that is no text', { ...overview, id: 4711 }, 'id'],
    ['another object', { ...overview, object: 'list' }, 'object'],
    ['a health of its own', { ...overview, health: 'fine' }, 'health'],
    ['no list of versions', { ...overview, memories: {} }, 'memories'],
    ['a version that is no object', { ...overview, memories: [completed, 'x'] }, 'memories[1]'],
    ['too many versions', { ...overview, memories: Array(101).fill(unfinished) }, 'memories'],
    ['too many rounds', { ...overview, rounds: Array(101).fill(round) }, 'rounds'],
    ['a version twice', { ...overview, memories: [completed, completed] }, 'memories[0].memory_id'],
    ['a round twice', { ...overview, rounds: [round, round] }, 'rounds[1].round_hash'],
    ['a member too many', { ...overview, archive: true }, 'archive'],
    ['a version with a member too many', withMemory({ lease: 'x' }), 'memories[0].lease'],
    ['a round with a member too many', withRound({ pin_id: 1 }), 'rounds[0].pin_id'],
    ['stats that are none', { ...overview, stats: { ...stats, avg_ms: 'x' } }, 'stats.avg_ms'],
    ['text as stats', { ...overview, stats: 'x' }, 'stats'],
    ['a memory that is no text', { ...overview, conversation_memory: 7 }, 'conversation_memory'],
    ['a word for stuck', { ...overview, stuck: 'no' }, 'stuck'],
    ['a text in a failed version', withUnfinished({ memory_text: 'x' }), 'memories[1].memory_text'],
    ['a transcript of a failed version', withUnfinished({ ref: REF }), 'memories[1].ref'],
    ['no error in a failed version', withUnfinished({ error: null }), 'memories[1].error'],
    ['an end of no base', withUnfinished({ base_end_seq: 3 }), 'memories[1].base_end_seq'],
    [
      'a transcript before none',
      withMemory({ ref: null, transcript_earlier: REF }),
      'memories[0].transcript_earlier',
    ],
  ])('does not have %s', (_, body, param) => {
    const read = readIt(body);

    expect(read).toMatchObject({ ok: false, reason: { param } });
    expect(read.ok ? '' : read.reason.message).not.toContain('undefined');
  });
});
