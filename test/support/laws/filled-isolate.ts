/** The memory of an isolate that has served many tenants: each kind is filled beyond its bound. */
import { textBytes } from '../../../src/lib/copy.ts';
import type { Bound } from '../../../src/lib/lru.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { BELIEFS, type Isolate, isolateMemory } from '../../../src/request/beliefs.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, step, user } from '../conversations/chat.ts';

const encoder = new TextEncoder();

type Kind = keyof typeof BELIEFS;

/** Keys of an owner, before the next one comes. */
const KEYS = 6;
/** How often the bound of a kind is filled. */
const TIMES = 2.5;

/** A text of its own with two bytes a character. */
const text = (length: number): string => Buffer.alloc(2 * length, 'ж', 'utf16le').toString('utf16le');
let made = 0;
/** Like a hash, and another one each time. */
const hash = (): string => (++made).toString(16).padStart(64, '0');
const hashes = (): ReadonlySet<string> => new Set(Array.from({ length: 20 }, hash));
const version = () => ({
  memory_text: text(4_000),
  signed: null,
  ref: `ref_${hash()}`,
  prefix_hash: hash(),
  strategy_hash: hash(),
  status: 'completed',
  covers_end: 40,
  start_sequence: 0,
});

/** What is remembered under one key. Absent: a small value. */
const values: Partial<Record<Kind, () => unknown>> = {
  messageCounts: () => ({ content: 100.5, whole: 104.5 }),
  facts: () => ({
    tokens: 100,
    bytes: 400,
    length: 400,
    room: 300,
    marker: undefined,
    storable: true,
    name: hash(),
    ends: { head: 20, tail: 30 },
  }),
  previews: () => text(200),
  digests: () => text(8_000),
  closed: hashes,
  items: hashes,
  instructions: () => ({ place: 'field', preamble: hash(), at: Date.now(), misses: 0 }),
  versions: version,
  rounds: () => ({
    memory: version(),
    moved: false,
    health: 'healthy',
    digest: { here: null, before: null },
    known: true,
  }),
  injections: () => ({ text: text(3_000), sources: [] }),
  blocks: () => ({ label: 'a label', version: 1, text: text(4_000) }),
  keptRounds: () => ({
    stored: { key: hash(), rounds: 2, tokens: 5_000, bytes: 20_000, names: [hash(), hash()], goneAt: null },
    json: text(20_000),
  }),
  keptAnswers: () => ({ id: 1, size: 4_000, tokens: 1_000, bytes: 4_000, blocks: 1, goneWith: null }),
  answerOutputs: () => text(4_000),
  outputDigests: () => ({ text: text(1_000), isStored: true }),
  archived: hash,
  userlessSettings: () => ({
    memory_strategy: { mode: 'auto', token_budget: 8_000 },
    memory_injection: null,
  }),
  learnedSizes: () => 10_000_000,
  learnedLimits: () => ({ tokens: 100_000, withAnswer: true }),
  lines: () => ({
    lines: [
      {
        at: 0,
        left: 0,
        model: 'gpt-6.2-sol',
        tools: '',
        effort: '',
        format: '',
        user: '',
        key: '',
        own: '',
        messages: text(1_200),
      },
    ],
  }),
  sentRequests: () => {
    const own = {
      edits: hash(),
      reasoning: '',
      rounds: '',
      hosted: '',
      tools: hash(),
      added: '',
      instructions: false,
    };
    const terms = { strategy: hash(), model: 'gpt-4.1', limit: 8_000, tools: hash() };
    return { terms, own, reported: own, thinkingFrom: 0, hadRounds: false };
  },
};

/** Kinds that are not filled key by key. */
const OTHERS: ReadonlySet<Kind> = new Set(['arrays', 'tenants', 'names', 'checks', 'strategies']);

export function filledIsolate(): Isolate {
  const memory = isolateMemory();
  fillArrays(memory);
  fillTenants(memory);
  for (const kind of Object.keys(BELIEFS) as Kind[]) if (!OTHERS.has(kind)) fill(kind, memory);
  return memory;
}

function fill(kind: Kind, memory: Isolate): void {
  const held = memory.of(kind) as { set(owner: string, key: string, value: unknown): void };
  const { bytes, sizeOf = () => 0 } = BELIEFS[kind] as Bound<unknown>;
  const make = values[kind] ?? (() => true);
  let owner = '';
  for (let filled = 0, n = 0; filled < TIMES * bytes; n++) {
    if (n % KEYS === 0) owner = `${hash().slice(32)}:a user:${hash()}`;
    const value = make();
    const key = hash();
    held.set(owner, key, value);
    filled += textBytes(key) + sizeOf(value);
  }
}

/** Of conversations with outputs, each of 100 kB. */
function fillArrays(memory: Isolate): void {
  for (let n = 0; n < (TIMES * BELIEFS.arrays.bytes) / 100_000; n++) {
    const steps = Array.from({ length: 20 }, (_, at) => step(`call_${at}`, 'f', `${hash()} `.repeat(75)));
    const read = readChatRequest(encoder.encode(JSON.stringify(body([user(hash()), ...steps.flat()]))));
    if (!read.ok) throw new Error('a request was written');
    for (const message of read.value.messages) void message.identity;
    memory.of('arrays').of(hash().slice(32)).keep(read.value, undefined);
  }
}

function fillTenants(memory: Isolate): void {
  const [tenants, names, checks] = [memory.of('tenants'), memory.of('names'), memory.of('checks')];
  const all = new Tenants('a secret for tests only', undefined, { tenants, names, checks });
  for (let n = 0; n < (TIMES * BELIEFS.tenants.bytes) / 2_000; n++) {
    const { refs } = all.ofToken(`sk-a-key-of-a-test-${hash()}`);
    for (let at = 0; at < KEYS * 2; at++) refs.name(hash(), hash);
  }
}
