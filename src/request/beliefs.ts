/**
 * The table of what an isolate keeps between requests, kind by kind (`lib/isolate-memory.ts`). An
 * isolate has 128 MB for the requests of all its tenants, so all kinds together have at most 64 MiB
 * (`test/unit/request/beliefs.test.ts` adds them up, and fills them).
 *
 * Each tenant has its own values, under common bounds, so that response times reveal nothing about
 * another tenant's contents. No value keeps a part of a longer text, since V8 would keep the whole
 * text alive: keys and labels are copied. Within a kind, what was used last stays.
 */
import { textBytes } from '../lib/copy.ts';
import {
  type Beliefs,
  type Believed,
  believed,
  type Computed,
  computed,
  IsolateMemory,
  type Made,
} from '../lib/isolate-memory.ts';
import type { MessageTokens } from '../memory/conversation/message.ts';
import { type Facts, sizeOfFacts } from '../memory/edits/compact.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import type { PlacedInstructions } from '../memory/money/uncached-instructions.ts';
import type { Line } from '../memory/run/followed.ts';
import type { MemoryBlock } from '../memory/strategy/memory-blocks.ts';
import { KnownArrays } from '../protocol/known-arrays.ts';
import type { StoredAnswer } from '../storage/conversation/kept-answers.ts';
import type { Found, FrozenBlock, Memory, Settings } from '../storage/conversation/memories.ts';
import type {
  RememberedConversation,
  RememberedKinds,
  SeenDigest,
  SeenRounds,
} from '../storage/conversation/remembered.ts';
import { TRUST_MS } from '../storage/upkeep.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Answered } from '../upstream/acceptance.ts';
import type { LearnedLimit } from '../upstream/learned-limits.ts';
import { type SentRequest, sizeOfSent } from '../upstream/sent-requests.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
/** Isolates hardly live longer. */
const DAY = 24 * HOUR;

/** Bytes of a stored row beside its texts. */
const ROW_BYTES = 1_024;
const sizeOfSet = ({ size }: ReadonlySet<string>): number => 100 * size;
const sizeOfVersion = ({ memory_text, signed }: Memory): number =>
  ROW_BYTES + textBytes(memory_text ?? '') + textBytes(signed ?? '');

/** In an object, as the values of all kinds. */
interface KnownLines {
  readonly lines: readonly Line[];
}
const sizeOfLines = ({ lines }: KnownLines): number =>
  lines.reduce(
    (sum, { messages, model, lost = [] }) =>
      sum + 384 + textBytes(messages) + textBytes(model) + 64 * lost.length,
    0,
  );

/** In bytes: half of it is for one conversation. */
export const ANSWER_OUTPUTS_BYTES = 1_088 * KIB;

/** In characters. No model has a longer name. */
const LONGEST_MODEL = 256;

/** The rows of a group have one owner. */
type Unowned<Row> = Omit<Row, 'owner'>;
const ofTenant = <Value>(row: Unowned<Computed<Value>>) => computed({ ...row, owner: 'tenant' });
const ofConversation = <Value>(row: Unowned<Computed<Value>>) => computed({ ...row, owner: 'conversation' });

const ofContents = {
  arrays: {
    owner: 'tenant',
    about:
      'The latest arrays of messages, from which the next request continues. About ten of 1 MB, with what is known of them.',
    bytes: 16 * MIB,
    make: (bytes) => new KnownArrays(bytes),
  } satisfies Made<KnownArrays>,
  messageCounts: ofTenant<MessageTokens>({
    about: 'Tokens of messages by their digest: about 15,000, as known arrays have their own.',
    bytes: 3 * MIB,
    sizeOf: () => 32,
  }),
  textCounts: ofTenant<number>({
    about: 'Tokens of markers, tools and other short texts that recur: about 5,000.',
    bytes: 1 * MIB,
  }),
  facts: ofTenant<Facts>({
    about: 'Facts about contents, such as where their previews end: about 7,000.',
    bytes: 3 * MIB,
    sizeOf: sizeOfFacts,
  }),
  previews: ofTenant<string>({
    about: 'Written previews of outputs: about 3,500 short ones.',
    bytes: 2 * MIB,
    sizeOf: textBytes,
  }),
  digests: ofTenant<string>({
    about: 'Extractive digests, each of a few thousand tokens. Making one requires reading all it covers.',
    bytes: 2 * MIB,
    sizeOf: textBytes,
  }),
  strategies: computed<MemoryStrategy>({
    about: 'Valid strategies by their JSON, without those that hold a text of their caller: about 250.',
    owner: 'nobody',
    bytes: 512 * KIB,
    sizeOf: () => 1_000,
  }),
  tenants: ofTenant<Tenant>({
    about: 'Tenants with their derived keys: about 500.',
    bytes: 1 * MIB,
    sizeOf: () => 2_000,
  }),
  names: ofTenant<string>({
    about: 'Refs of contents by their digest: about 6,000.',
    bytes: 1_536 * KIB,
    sizeOf: textBytes,
  }),
  checks: ofTenant<number>({
    about: 'Refs whose check characters were right: about 5,000.',
    bytes: 1 * MIB,
  }),
};

const ofRequests = {
  prepared: ofConversation<number>({
    about: "Boundaries whose summary the conversation's object has been asked for: about 1,000.",
    bytes: 512 * KIB,
  }),
  rewritesAnswers: ofConversation<true>({
    about: 'Whether its client sends different answers back than it got, as far as their keys show.',
    bytes: 512 * KIB,
  }),
  closed: ofConversation<ReadonlySet<string>>({
    about: "Arrays, by hash, at which the caller's `tool_choice` kept the model from fetching: about 2,500.",
    bytes: 512 * KIB,
    sizeOf: sizeOfSet,
  }),
  instructions: ofConversation<PlacedInstructions>({
    about: 'Where the newest instructions were, and what is cached of them: about 700 conversations.',
    bytes: 512 * KIB,
    sizeOf: ({ preamble }) => 96 + textBytes(preamble),
  }),
  lines: ofConversation<KnownLines>({
    about:
      'Requests that the next ones are compared with, where reasoning is bound: about 300 conversations of ' +
      '400 messages.',
    bytes: 512 * KIB,
    sizeOf: sizeOfLines,
  }),
  items: ofConversation<ReadonlySet<string>>({
    about: 'Names of the items that views have left out or replaced: about 10,000.',
    bytes: 1 * MIB,
    sizeOf: sizeOfSet,
  }),
  turns: ofConversation<number>({
    about: 'When something of a conversation was last confirmed: about 1,500 conversations.',
    bytes: 1 * MIB,
  }),
};

/** Only a deletion makes these wrong. */
const ofStorage = {
  refs: believed<true>({
    about: 'Refs and manifests that are written: about 18,000. One look at a manifest confirms its refs.',
    owner: 'tenant',
    bytes: 3 * MIB,
    holdsMs: TRUST_MS,
    confirm: 'refs',
  }),
  uses: believed<true>({
    about: "Uses of refs that the tenant's object knows of: about 7,000.",
    owner: 'conversation',
    bytes: 2 * MIB,
    holdsMs: TRUST_MS,
    confirm: 'uses',
  }),
};

/** A row whose owner and time are the group's, where it does not say otherwise. */
type Seen<Value> = Omit<Believed<Value>, 'owner' | 'holdsMs'> & Partial<Believed<Value>>;

/** What a conversation's object has said. */
const said = <Value>(row: Seen<Value>): Believed<Value> => ({
  owner: 'conversation',
  holdsMs: TRUST_MS,
  ...row,
});

/** Only a deletion or a restored memory makes these wrong. */
const ofConversations = {
  versions: said<Memory>({
    about:
      'Completed summaries, by strategy and prefix: about 150. `covers_end` counts the array it was found for.',
    bytes: 2 * MIB,
    sizeOf: sizeOfVersion,
    confirm: 'version',
  }),
  rounds: said<Found>({
    about: 'The memory that the first request of a round got, by strategy and round: about 150.',
    bytes: 2 * MIB,
    sizeOf: ({ memory }) => ROW_BYTES + (memory ? sizeOfVersion(memory) : 0),
    confirm: 'round',
  }),
  injections: said<FrozenBlock>({
    about: 'The frozen block of cross-session memory, which may be empty: about 100.',
    bytes: 512 * KIB,
    sizeOf: ({ text }) => ROW_BYTES + textBytes(text),
    confirm: 'injection',
  }),
  blocks: said<MemoryBlock>({
    about: 'Frozen memory blocks, by label and point: about 200 of the largest size.',
    bytes: 2 * MIB,
    sizeOf: ({ text }) => ROW_BYTES + textBytes(text),
    confirm: 'blocks',
  }),
  keptRounds: said<SeenRounds | null>({
    about:
      'Kept rounds by the key of their answer, and answers without any: as many as one conversation may keep.',
    bytes: 8 * MIB,
    sizeOf: (seen) => (seen ? ROW_BYTES + textBytes(seen.json ?? '') : 0),
    confirm: 'kept rounds',
  }),
  keptAnswers: said<StoredAnswer | null>({
    about: 'What is kept of answers over a bridge, by their key, and answers without any: about 1,200.',
    bytes: 384 * KIB,
    sizeOf: () => 96,
    confirm: 'kept answers',
  }),
  answerOutputs: said<string>({
    about: 'The newest outputs of these answers: about 250 of 4 kB. They are read again beyond that.',
    bytes: ANSWER_OUTPUTS_BYTES,
    sizeOf: textBytes,
    holdsMs: DAY,
  }),
  outputDigests: said<SeenDigest>({
    about: 'Verdicts on the digests of offloaded outputs, each of a few hundred tokens: about 500.',
    bytes: 1 * MIB,
    sizeOf: ({ text }) => (text === null ? 0 : textBytes(text)),
    confirm: 'digests',
  }),
  archived: said<string>({
    about:
      "Messages in the archive's index, by key, with the digest of one that was made from an answer: about " +
      '4,000. The index itself refuses what comes after a deletion.',
    bytes: 1 * MIB,
    sizeOf: textBytes,
  }),
  userlessSettings: said<Settings>({
    about: 'Settings of conversations without a user, to warn a request with a user: about 1,000.',
    bytes: 512 * KIB,
    sizeOf: (settings) => textBytes(JSON.stringify(settings)),
  }),
} satisfies { readonly [Kind in keyof RememberedKinds]: Believed<RememberedKinds[Kind]> };

/** What an upstream has shown: by default for an hour. */
const shown = <Value>(row: Seen<Value>): Believed<Value> => ({ owner: 'tenant', holdsMs: HOUR, ...row });

/** The upstream under a model's name can change over time, and differs between accounts. */
const ofUpstreams = {
  acceptedKeys: shown<true>({
    about: "Upstreams that have accepted the tenant's key: about 1,000 tenants. An answer of 401 ends it.",
    bytes: 512 * KIB,
    holdsMs: 600 * SECOND,
    outlivesOwner: true,
  }),
  keyVerdicts: shown<Answered>({
    about: 'Any other verdict on a key, by the other keys of the request. It limits how often retries ask.',
    bytes: 512 * KIB,
    holdsMs: 30 * SECOND,
    outlivesOwner: true,
  }),
  learnedLimits: shown<LearnedLimit>({
    about: 'Limits of tokens that refusals have shown, by model: about 700 models.',
    bytes: 256 * KIB,
    sizeOf: () => 64,
    longestKey: LONGEST_MODEL,
  }),
  learnedSizes: shown<number>({
    about:
      'Limits that refusals have shown: of bytes of a body by upstream, of tokens of an answer by model. About 300.',
    bytes: 64 * KIB,
    sizeOf: () => 64,
    longestKey: LONGEST_MODEL,
  }),
  lostReasoning: shown<boolean>({
    about: 'Whether the upstream of a model loses reasoning between requests: about 700 models.',
    bytes: 256 * KIB,
    longestKey: LONGEST_MODEL,
  }),
  modelRefusals: shown<true>({
    about:
      'What the upstream of a model refuses: marks, keys or diagnostics of its cache, usage of streams, signed summaries, tools over chat, an API, ids of reasoning, strict tools.',
    bytes: 512 * KIB,
    longestKey: LONGEST_MODEL + 16,
  }),
  refusals: shown<number>({
    about: 'Parts that were refused in a conversation, with the length of the array: about 1,000.',
    owner: 'conversation',
    bytes: 512 * KIB,
    holdsMs: DAY,
  }),
  sentRequests: shown<SentRequest>({
    about:
      "What of Precis was sent with an array, and what thinking was not, by the array's hash: about 3,000. " +
      'Facts of a named conversation are under its name.',
    bytes: 2 * MIB,
    sizeOf: sizeOfSent,
    holdsMs: DAY,
  }),
};

export const BELIEFS = { ...ofContents, ...ofRequests, ...ofStorage, ...ofConversations, ...ofUpstreams };

export type Isolate = IsolateMemory<typeof BELIEFS>;

export function isolateMemory(now?: () => number): Isolate {
  return new IsolateMemory(BELIEFS, now);
}

/** Forgets what a conversation's object has said. Call this before and after it is restored. */
export function forgetMemory(name: string, memory: Isolate): void {
  for (const kind of Object.keys(ofConversations) as (keyof typeof ofConversations)[])
    memory.of(kind).forget(name);
}

/** What this isolate remembers of one conversation. @param name see `conversationName` */
export function rememberedOf(memory: Isolate, name: string): RememberedConversation {
  return {
    of: <Kind extends keyof RememberedKinds>(kind: Kind) =>
      // The rows of `ofConversations` have these values.
      (memory.of(kind) as unknown as Beliefs<RememberedKinds[Kind]>).of(name),
    forget: (kind) => memory.of(kind).forget(name),
  };
}
