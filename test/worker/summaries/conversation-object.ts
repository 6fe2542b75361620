/** A conversation's object as its tests use it: with a clock of theirs, and its own log. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { createLog } from '../../../src/log.ts';
import type { Boundary } from '../../../src/memory/conversation/passage.ts';
import type {
  Claim,
  Claimed,
  ClaimRequest,
  Memory,
  Written,
} from '../../../src/storage/conversation/memories.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';

export const MINUTE = 60_000;

/** The boundary after `end` messages of one of several arrays. */
export const boundary = (end: number, array = 'array'): Boundary => ({
  prefixHash: `${array}:${end}`,
  end,
  sequence: end - 1,
});

export const request = (end: number, changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  conversation: 'the conversation',
  strategyHash: 'strategy',
  boundary: boundary(end),
  bases: [],
  startSequence: 0,
  windowSize: null,
  leaseMs: MINUTE,
  retryIntervalMs: 30_000,
  exclusive: 'boundary',
  from: 0,
  ...changes,
});

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

let made = 0;

/** A tenant of its own. */
export const newTenant = (): string => `tenant${made++}`;

/**
 * An object with its own clock.
 *
 * @param evicted whether it loses its memory after each call
 * @param name of the object
 */
export function conversation(evicted = false, name = `conversation ${made++}`) {
  const stub = env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
  const clock = { now: 1_000_000_000 };
  const call = async <Result>(
    use: (memory: ConversationMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => {
    const result = await runInDurableObject(stub, (memory, state) => {
      Reflect.set(memory, 'now', () => clock.now);
      Reflect.set(memory, 'log', createLog('debug'));
      return use(memory, state);
    });
    if (evicted) await evictDurableObject(stub);
    return result;
  };
  const claim = (end: number, changes?: Partial<ClaimRequest>): Promise<Claim> =>
    call((memory) => memory.claim(request(end, changes)));
  const claimed = async (end: number, changes?: Partial<ClaimRequest>): Promise<Claimed> => {
    const answer = await claim(end, changes);
    if (answer.state !== 'claimed') throw new Error(`the claim is ${answer.state}`);
    return answer;
  };
  const complete = ({ memoryId, lease }: Claimed, text: string, changes?: Partial<Written>) =>
    call((memory) => memory.complete(memoryId, lease, written(text, changes)));
  const fail = ({ memoryId, lease }: Claimed, text?: string) =>
    call((memory) =>
      memory.fail(memoryId, lease, {
        error: 'upstream_error',
        ...(text === undefined ? {} : { digest: digest(text) }),
      }),
    );
  const make = async (end: number, text: string, changes?: Partial<ClaimRequest>): Promise<Memory> => {
    const memory = await complete(await claimed(end, changes), text);
    if (!memory) throw new Error('the lease is lost');
    return memory;
  };
  const find = (ends: readonly number[], round?: { hash: string; previous: string | null }, anew = false) =>
    call((memory) =>
      memory.find({
        strategyHash: 'strategy',
        boundaries: ends.map((end) => boundary(end)),
        ...(round ? { round, anew } : {}),
      }),
    );
  const overview = () => call((memory) => memory.overview());
  const health = async () => (await overview()).health;
  const tables = () =>
    call((_, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        .toArray(),
    );
  const row = async (memoryId: number) =>
    (await overview()).memories.find(({ memory_id }) => memory_id === memoryId);
  return { name, clock, call, claim, claimed, complete, fail, make, find, overview, health, tables, row };
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

  afterEach(() => {
    vi.restoreAllMocks();
  });

  return () => lines.splice(0);
}
