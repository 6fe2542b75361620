import { describe, expect, it } from 'vitest';
import { readOverview } from '../../../src/routes/conversations/sent-overview.ts';

const hash = (digit: string): string => digit.repeat(64);
const REF = `ref_${'a'.repeat(26)}`;

const newest = {
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
const failed = {
  ...newest,
  ...{ memory_id: 4, status: 'failed', memory_text: null, ref: null, tokens: null, model: null },
  ...{ error: 'timeout', completed_at: null, completed_at_ms: null, generation_time_ms: null },
};
const older = { ...newest, memory_id: 2, base_memory_id: null, completed_at_ms: 1_795_372_801_249 };
const digest = { ...newest, memory_id: 5, model: 'digest', completed_at_ms: 1_795_372_801_251 };

/** What GET answers. */
const overview = {
  id: 'case-4711',
  object: 'memory.conversation',
  memory_strategy: { mode: 'summarize' },
  memory_injection: null,
  health: 'degraded',
  conversation_memory: digest.memory_text,
  memories: [digest, failed, newest, older] as object[],
  rounds: [{ round_hash: hash('d'), strategy_hash: hash('b'), memory_id: 3, digest_hash: null }],
  stats: { avg_ms: 1_000, max_ms: 1_000, total_summaries: 2 },
  stuck: false,
};

const readIt = (body: object) => readOverview(body as Record<string, unknown>, 'case-4711');
/** What is read of one version, or the member that is wrong. */
const readOne = (memory: object) => {
  const read = readIt({ ...overview, memories: [memory] });
  return read.ok ? read.value.memory : read.reason.param;
};
const without = (object: object, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));

describe('the body of PUT', () => {
  it('has the settings, and the newest text that a summarizer has written', () => {
    const { completed_at_ms: completed_at, ...memory } = newest;
    const created_at = newest.created_at * 1000;
    expect(readIt(overview)).toEqual({
      ok: true,
      value: {
        settings: { memory_strategy: { mode: 'summarize' }, memory_injection: null },
        memory: { ...memory, created_at, completed_at },
      },
    });
  });

  it('has a digest where there is no summary, and nothing where there is no text', () => {
    expect(readOne(digest)).toMatchObject({ memory_id: 5, model: 'digest' });
    expect(readOne(failed)).toBeNull();
  });

  it.each(['id', 'object', 'health', 'conversation_memory', 'rounds', 'stats', 'stuck'])(
    'may lack %s',
    (name) => {
      expect(readIt(without(overview, name))).toEqual(readIt(overview));
    },
  );

  it.each(['memory_strategy', 'memory_injection', 'memories'])('needs %s', (param) => {
    expect(readIt(without(overview, param))).toMatchObject({ ok: false, reason: { param } });
  });

  it('has what looks like a marker in a text made harmless', () => {
    const read = readOne({ ...newest, memory_text: 'all </session_summary> of it' });
    expect(read).toMatchObject({ memory_text: expect.not.stringContaining('</session_summary>') });
  });

  it.each<[string, object, string]>([
    ['another conversation', { ...overview, id: 'case-4712' }, 'id'],
    ['more versions than GET lists', { ...overview, memories: Array(101).fill(null) }, 'memories'],
    ['versions that are no list', { ...overview, memories: {} }, 'memories'],
    ['an unknown member', { ...overview, ['x'.repeat(99)]: 1 }, 'x'.repeat(64)],
    ['an unknown member of a version', { ...overview, memories: [{ ...older, x: 1 }] }, 'memories[0].x'],
    [
      'another status',
      { ...overview, memories: [newest, { ...older, status: 'done' }] },
      'memories[1].status',
    ],
    [
      'a fault in the newest text',
      { ...overview, memories: [older, { ...newest, tokens: null }] },
      'memories[1].tokens',
    ],
  ])('is refused with %s', (_, body, param) => {
    expect(readIt(body)).toMatchObject({
      ok: false,
      reason: { param, message: expect.stringMatching(/\.$/) },
    });
    const unknown = /^x|\.x$/.test(param);
    expect(readIt(body)).toMatchObject({
      reason: {
        message: unknown ? expect.stringContaining('leave it out') : expect.not.stringContaining('no member'),
      },
    });
  });

  it.each<[string, unknown]>([
    ['memory_id', 0],
    ['memory_id', 2 ** 31],
    ['base_memory_id', -1],
    ['prefix_hash', hash('A')],
    ['memory_text', ''],
    ['memory_text', 'ä'.repeat(500_001)],
    ['ref', 'ref_of_another_form'],
    ['model', 'm'.repeat(1_001)],
    ['created_at', 1_795_372_800_000],
    ['completed_at_ms', 8_640_000_000_000_001],
    ['generation_time_ms', null],
    ['error', 'timeout'],
  ])('is refused where %s of the newest text is %j', (name, value) => {
    expect(readOne({ ...newest, [name]: value })).toBe(`memories[0].${name}`);
  });
});
