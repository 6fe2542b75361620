/**
 * Any state that a conversation's object can have is read back by `PUT`, and answers as before, in
 * the same object and in another one.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import type { Boundary } from '../../../src/memory/conversation/passage.ts';
import { overviewJson } from '../../../src/routes/conversations/memory.ts';
import { readOverview } from '../../../src/routes/conversations/sent-overview.ts';
import type {
  Found,
  Overview,
  RoundHashes,
  SavedMemory,
  TextRequest,
  Written,
  WrittenText,
} from '../../../src/storage/conversation/memories.ts';
import type { TextProgress } from '../../../src/storage/conversation/texts.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { conversation, MINUTE, recordLog, writing } from './conversation-object.ts';

recordLog();

const ARRAYS = ['trunk', 'fork'];
const STRATEGIES = ['one', 'another'].map(sha256Hex);
const ENDS = [2, 4, 6, 8, 10];
const ROUNDS = [1, 2, 3, 4];

/** Both arrays share their first messages. */
const boundaryOf = (array: number, end: number): Boundary => ({
  prefixHash: sha256Hex(`${end < 4 ? 'trunk' : ARRAYS[array]} ${end}`),
  end,
  sequence: end - 1,
});
const roundOf = (array: number, n: number): RoundHashes => ({
  hash: sha256Hex(`round ${array} ${n}`),
  previous: n === 1 ? null : sha256Hex(`round ${array} ${n - 1}`),
});
const refOf = (text: string) =>
  `ref_${sha256Hex(text)
    .replace(/[^a-f2-7]/g, 'q')
    .slice(0, 26)}`;

const array = fc.nat(ARRAYS.length - 1);
const strategy = fc.constantFrom(...STRATEGIES);
const end = fc.constantFrom(...ENDS);
const round = fc.constantFrom(...ROUNDS);
const which = fc.nat(20);

const ACTION = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('order' as const),
      array,
      strategy,
      end,
      round: fc.option(round),
      isWindow: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('complete' as const), which, hasTranscript: fc.boolean() }),
  },
  fc.record({ do: fc.constantFrom('fail' as const, 'retry' as const), which }),
  fc.record({ do: fc.constant('advance' as const), which, end }),
  fc.record({ do: fc.constant('digest' as const), array, strategy, end }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('find' as const), array, strategy, round }) },
  fc.record({ do: fc.constant('pin digest' as const), array, strategy, round, end: fc.option(end) }),
  fc.record({
    do: fc.constant('configure' as const),
    turns: fc.option(fc.nat(9)),
    injection: fc.option(fc.boolean()),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 200, MINUTE, 10 * MINUTE) }),
);
type Action = typeof ACTION extends fc.Arbitrary<infer Value> ? Value : never;

/** A version in the making, which may have ended. */
interface Open {
  readonly end: (made: WrittenText['made']) => void;
  readonly progress: TextProgress;
  readonly request: TextRequest;
}

/** Does what callers and writers do, in one object. */
class Actor {
  private readonly memory: ConversationMemory;
  private readonly clock: { now: number };
  private readonly open: Open[] = [];
  private made = 0;

  constructor(memory: ConversationMemory, clock: { now: number }) {
    this.memory = memory;
    this.clock = clock;
  }

  async act(action: Action): Promise<void> {
    const { memory } = this;
    if (action.do === 'wait') this.clock.now += action.ms;
    else if (action.do === 'configure') await memory.configure(settingsOf(action));
    else if (action.do === 'order') await this.order(action);
    else if (action.do === 'digest') await memory.keepDigest(requestOf(action), null, this.digest());
    else if (action.do === 'find')
      memory.find({
        strategyHash: action.strategy,
        boundaries: ENDS.map((each) => boundaryOf(action.array, each)),
        round: roundOf(action.array, action.round),
      });
    else if (action.do === 'pin digest') {
      const hash = action.end === null ? '' : boundaryOf(action.array, action.end).prefixHash;
      memory.pinDigest(roundOf(action.array, action.round).hash, action.strategy, hash);
    } else await this.end(action);
  }

  private async order(action: Extract<Action, { do: 'order' }>): Promise<void> {
    const request = requestOf(action);
    const outcome = Promise.withResolvers<WrittenText>();
    const end = (made: WrittenText['made']) => outcome.resolve({ made, usage: NO_USAGE });
    const material = writing((_, progress) => {
      this.open.push({ end, progress, request });
      return outcome.promise;
    });
    await this.memory.text(request, material, 0);
  }

  private async end(
    action: Exclude<Action, { do: 'order' | 'wait' | 'find' | 'digest' | 'configure' | 'pin digest' }>,
  ) {
    const writer = this.open[action.which % Math.max(1, this.open.length)];
    if (!writer) return;
    const { end, progress, request } = writer;
    if (action.do === 'retry') progress.retrying('rate_limited');
    else if (action.do === 'advance') {
      if (action.end < request.boundary.end)
        progress.advance({ ...this.written(true), boundary: boundaryOf(0, action.end) });
    } else {
      end(
        action.do === 'complete'
          ? { ok: true, value: this.written(action.hasTranscript) }
          : { ok: false, reason: { error: 'timeout' } },
      );
      // Until the object has taken it.
      await this.memory.text(request, null, 1_000);
    }
  }

  private written(hasTranscript: boolean): Written {
    const text = `Summary ${++this.made}`;
    const transcript = {
      ref: refOf(text),
      transcript_from: sha256Hex('from'),
      transcript_earlier: refOf('earlier'),
    };
    return { text, tokens: 7, model: 'a-model', ms: 40, ...(hasTranscript ? transcript : NO_TRANSCRIPT) };
  }

  private digest(): Omit<Written, 'model'> {
    return { text: `Digest ${++this.made}`, tokens: 3, ms: 0, ...NO_TRANSCRIPT };
  }
}

function requestOf(action: {
  readonly array: number;
  readonly strategy: string;
  readonly end: number;
  readonly round?: number | null;
  readonly isWindow?: boolean;
}): TextRequest {
  return {
    order: 'an order',
    conversation: 'a conversation',
    strategyHash: action.strategy,
    boundary: boundaryOf(action.array, action.end),
    bases: ENDS.filter((each) => each < action.end).map((each) => boundaryOf(action.array, each)),
    startSequence: 0,
    windowSize: action.isWindow ? 4 : null,
    retryIntervalMs: 100,
    exclusive: action.isWindow ? 'conversation' : 'boundary',
    from: 0,
    ...(action.round == null ? {} : { round: roundOf(action.array, action.round) }),
  };
}

function settingsOf({ turns, injection }: Extract<Action, { do: 'configure' }>) {
  return {
    memory_strategy: turns === null ? null : { mode: 'trim', max_turns: turns },
    memory_injection: injection,
  };
}

/** What GET answers, over the wire. */
const answerOf = (overview: Overview): Record<string, unknown> =>
  JSON.parse(JSON.stringify(overviewJson('x', overview)));

/** The times when versions were begun are in seconds on the wire. */
const inSeconds = (overview: Overview): Overview => ({
  ...overview,
  memories: overview.memories.map((memory) => ({
    ...memory,
    created_at: 1000 * Math.floor(memory.created_at / 1000),
  })),
});

function savedOf(overview: Overview): SavedMemory {
  const read = readOverview(answerOf(overview), 'x');
  if (!read.ok) throw new Error(`${read.reason.message} ${JSON.stringify(overview)}`);
  const { memory_strategy, memory_injection, health, memories, rounds } = read.value;
  const settings = { memory_strategy, memory_injection };
  return { conversation: 'a conversation', settings, health, memories, rounds };
}

/** What becomes of versions that were being made. */
const withoutWriters = (overview: Overview): Overview => ({
  ...overview,
  exists: true,
  stuck: false,
  memories: overview.memories.map((memory) =>
    memory.status === 'processing' ? { ...memory, status: 'failed', error: 'writer_lost' } : memory,
  ),
});

const foundInSeconds = (found: Found): Found =>
  found.memory
    ? { ...found, memory: { ...found.memory, created_at: 1000 * Math.floor(found.memory.created_at / 1000) } }
    : found;

/** What every request would be given. Rounds are asked in their order, since asking pins them. */
const answers = (memory: ConversationMemory): Found[] =>
  ARRAYS.flatMap((_, at) =>
    STRATEGIES.flatMap((strategyHash) => {
      const boundaries = ENDS.map((each) => boundaryOf(at, each));
      const free = boundaries.map((boundary) => memory.find({ strategyHash, boundaries: [boundary] }));
      const inRounds = ROUNDS.map((n) => memory.find({ strategyHash, boundaries, round: roundOf(at, n) }));
      return [...free, memory.find({ strategyHash, boundaries }), ...inRounds].map(foundInSeconds);
    }),
  );

describe('the state of a conversation’s object', () => {
  it('survives GET, PUT and GET, whatever has happened in it', async () => {
    const seen = { rows: 0, rounds: 0, processing: 0, digests: 0, sick: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(ACTION, { minLength: 5, maxLength: 60, size: 'max' }), async (actions) => {
        const here = conversation();
        const there = conversation();
        there.clock.now += 7 * MINUTE;
        const state = await here.call(async (memory) => {
          const actor = new Actor(memory, here.clock);
          for (const action of actions) await actor.act(action);
          return memory.overview();
        });
        const { memories, rounds, health } = state;
        seen.rows += memories.length;
        seen.rounds += rounds.filter(({ memory_id }) => memory_id !== null).length;
        seen.processing += memories.filter(({ status }) => status === 'processing').length;
        seen.digests += memories.filter(({ model }) => model === 'digest').length;
        seen.sick += health === 'healthy' ? 0 : 1;
        const saved = savedOf(state);
        const expected = withoutWriters(inSeconds(state));

        expect(await there.call((memory) => memory.restore(saved))).toEqual(expected);
        expect(savedOf(await there.overview())).toEqual(savedOf(expected));
        expect(await there.call((memory) => memory.restore(saved))).toEqual(expected);
        const before = await here.call(answers);
        expect(await there.call(answers)).toEqual(before);
        expect(await here.call((memory) => memory.restore(saved))).toEqual(expected);
        expect(await here.call(answers)).toEqual(before);
      }),
      { numRuns: 120 },
    );
    // The generator makes all kinds of states.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });

  it('has its newest hundred versions and rounds put back, which others go on from', async () => {
    const here = conversation();
    const there = conversation();
    const state = await here.call(async (memory) => {
      for (let n = 1; n <= 130; n++) {
        const boundary = { prefixHash: sha256Hex(`long ${n}`), end: n, sequence: n - 1 };
        const request = { ...requestOf({ array: 0, strategy: sha256Hex('one'), end: 2 }), boundary };
        const previous = { prefixHash: sha256Hex(`long ${n - 1}`), end: n - 1, sequence: n - 2 };
        const value = { text: `${n}`, tokens: 1, model: 'm', ms: 1, ...NO_TRANSCRIPT };
        const material = writing(async () => ({ made: { ok: true, value }, usage: NO_USAGE }));
        await memory.text({ ...request, bases: [previous] }, material, 10_000);
        memory.find({ strategyHash: sha256Hex('one'), boundaries: [boundary], round: roundOf(0, n) });
      }
      return memory.overview();
    });

    const restored = await there.call((memory) => memory.restore(savedOf(state)));

    expect(restored).toEqual({ ...inSeconds(state), stats: { ...state.stats, total_summaries: 100 } });
    expect(restored.memories.map(({ memory_id }) => memory_id)).toEqual(
      Array.from({ length: 100 }, (_, at) => 130 - at),
    );
    expect(restored.memories.at(-1)?.base_memory_id).toBe(30);
    expect(restored.rounds.map(({ memory_id }) => memory_id)).toEqual(
      restored.memories.map(({ memory_id }) => memory_id),
    );
    const next = await there.begin(10, {
      ...requestOf({ array: 1, strategy: sha256Hex('one'), end: 10 }),
      bases: [{ prefixHash: sha256Hex('long 130'), end: 130, sequence: 129 }],
    });
    expect(next.base).toMatchObject({ memory_id: 130, memory_text: '130' });
    expect(await next.complete('131')).toMatchObject({ memory: { memory_id: 131 } });
  });
});
