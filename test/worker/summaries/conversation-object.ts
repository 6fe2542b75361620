/** A conversation's object as its tests use it: with a clock of theirs, and its own log. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { createLog } from '../../../src/log.ts';
import type { Boundary } from '../../../src/memory/conversation/passage.ts';
import type { MemoryChain } from '../../../src/storage/conversation/chain.ts';
import type { Making } from '../../../src/storage/conversation/making.ts';
import type {
  Claim,
  Failure,
  Memory,
  TextAnswer,
  TextRequest,
  Written,
  WrittenText,
} from '../../../src/storage/conversation/memories.ts';
import type { TextProgress } from '../../../src/storage/conversation/texts.ts';
import type { TextMaterial } from '../../../src/summary/conversation.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';

export const MINUTE = 60_000;

/** When a request came after all that its test does. */
export const LATER = Number.MAX_SAFE_INTEGER;

/** The boundary after `end` messages of one of several arrays. */
export const boundary = (end: number, array = 'array'): Boundary => ({
  prefixHash: `${array}:${end}`,
  end,
  sequence: end - 1,
});

export const request = (end: number, changes: Partial<TextRequest> = {}): TextRequest => ({
  order: 'an order of another one',
  since: LATER,
  conversation: 'the conversation',
  strategyHash: 'strategy',
  boundary: boundary(end),
  bases: [],
  startSequence: 0,
  windowSize: null,
  retryIntervalMs: 30_000,
  exclusive: 'boundary',
  from: 0,
  ...changes,
});

/** Of those who have a text made by the functions below. */
const OWN = { order: 'an order of its own' };

export const written = (text: string, changes: Partial<Written> = {}): Written => ({
  text,
  tokens: 7,
  ref: 'ref_transcript',
  transcript_from: '',
  transcript_earlier: null,
  model: 'a-model',
  ms: 40,
  ...changes,
});

export const digest = (text: string) => ({ text, tokens: 3, ms: 1, ...NO_TRANSCRIPT });

/** A version in the making that its test ends, and what those are answered who wait for it. */
interface Begun {
  readonly base: Memory | null;
  /** What its writer reports, and asks, meanwhile. */
  act<Result>(use: (progress: TextProgress) => Result): Promise<Result>;
  complete(text: string, more?: Partial<Written>): Promise<TextAnswer>;
  fail(failure?: Partial<Failure>): Promise<TextAnswer>;
}

type Write = (base: Memory | null, progress: TextProgress) => Promise<WrittenText>;

/** Material of which a text is made by a function of its test. */
export const writing = (write: Write) => ({ write }) as unknown as TextMaterial;

/** Material of which a text is made at once. */
export const made = (text: string) =>
  writing(async () => ({ made: { ok: true, value: written(text) }, usage: NO_USAGE }));

const makingOf = (memory: ConversationMemory): Making<number, unknown> => Reflect.get(memory, 'made');

/** Has an object make its texts of such material, without a summarizer. */
export function writeByTests(memory: ConversationMemory): void {
  const write = (material: TextMaterial, ...context: Parameters<Write>) =>
    (material as unknown as { write: Write }).write(...context);
  Reflect.set(memory, 'write', write);
}

let count = 0;

/** A tenant of its own. */
export const newTenant = (): string => `tenant${count++}`;

/**
 * An object with its own clock.
 *
 * @param evicted whether it loses its memory after each call
 * @param name of the object
 */
export function conversation(evicted = false, name = `conversation ${count++}`) {
  // A stub whose object was restarted is broken.
  const stubOf = () => env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
  const clock = { now: 1_000_000_000 };
  const call = async <Result>(
    use: (memory: ConversationMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => {
    const result = await runInDurableObject(stubOf(), (memory, state) => {
      Reflect.set(memory, 'now', () => clock.now);
      Reflect.set(memory, 'log', createLog('debug'));
      writeByTests(memory);
      return use(memory, state);
    });
    if (evicted) await evictDurableObject(stubOf());
    return result;
  };
  const ask = (end: number, changes?: Partial<TextRequest>, waitMs = 0): Promise<TextAnswer> =>
    call((memory) => memory.text(request(end, changes), null, waitMs));
  /** What would become of a version now. */
  const look = (end: number, changes?: Partial<TextRequest>): Promise<Claim> =>
    call((memory) => (Reflect.get(memory, 'chain') as MemoryChain).claim(request(end, changes), false));
  /** Has a version made in one step. */
  const order = (end: number, made: WrittenText['made'], changes?: Partial<TextRequest>) =>
    call((memory) =>
      memory.text(
        request(end, { ...OWN, ...changes }),
        writing(async () => ({ made, usage: NO_USAGE })),
        10_000,
      ),
    );
  const make = async (
    end: number,
    text: string,
    changes?: Partial<TextRequest>,
    more?: Partial<Written>,
  ): Promise<Memory> => {
    const answer = await order(end, { ok: true, value: written(text, more) }, changes);
    if (answer.state !== 'ready') throw new Error(`the text is ${answer.state}`);
    return answer.memory;
  };
  const fail = (end: number, changes?: Partial<TextRequest>, error = 'upstream_error') =>
    order(end, { ok: false, reason: { error } }, changes);
  const begin = async (end: number, changes?: Partial<TextRequest>): Promise<Begun> => {
    const outcome = Promise.withResolvers<WrittenText>();
    let begun: { base: Memory | null; progress: TextProgress } | undefined;
    const material = writing((base, progress) => {
      begun = { base, progress };
      return outcome.promise;
    });
    const { state, id } = await call(async (memory) => {
      const answer = await memory.text(request(end, { ...OWN, ...changes }), material, 0);
      return { ...answer, id: Math.max(...makingOf(memory).keys()) };
    });
    if (!begun) throw new Error(`the text is ${state}`);
    const { base, progress } = begun;
    const finish = (made: WrittenText['made']) =>
      call(async (memory) => {
        const ended = makingOf(memory).get(id);
        const waiting = memory.text(request(end, changes), null, 10_000);
        outcome.resolve({ made, usage: NO_USAGE });
        await (ended ?? memory.idle(10_000));
        return waiting;
      });
    return {
      base,
      act: (use) => call(() => use(progress)),
      complete: (text, more) => finish({ ok: true, value: written(text, more) }),
      fail: (failure = {}) => finish({ ok: false, reason: { error: 'upstream_error', ...failure } }),
    };
  };
  const find = (ends: readonly number[], round?: { hash: string; previous: string | null }, anew = false) =>
    call((memory) =>
      memory.versions.find({
        strategyHash: 'strategy',
        boundaries: ends.map((end) => boundary(end)),
        ...(round ? { round, anew } : {}),
      }),
    );
  const overview = () => call((memory) => memory.versions.overview());
  const health = async () => (await overview()).health;
  const tables = () =>
    call((_, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        .toArray(),
    );
  const row = async (memoryId: number) =>
    (await overview()).memories.find(({ memory_id }) => memory_id === memoryId);
  /** Ends the life of the object, whatever it is making. */
  const restart = () =>
    runInDurableObject(stubOf(), (_, state) => state.abort('a restart')).catch(() => undefined);
  return {
    name,
    clock,
    call,
    restart,
    ask,
    look,
    order,
    make,
    fail,
    begin,
    find,
    overview,
    health,
    tables,
    row,
  };
}

/**
 * Records what each test of a file logs, and prints none of it.
 *
 * @returns takes the lines logged since the last call, each with its level
 */
export function recordLog(): () => string[] {
  let lines: string[] = [];

  beforeEach(() => {
    lines = [];
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line: string) => {
        const { level: said, message } = JSON.parse(line) as { level: string; message: string };
        lines.push(`${said} ${message}`);
      });
  });

  return () => lines.splice(0);
}
