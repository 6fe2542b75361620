/**
 * The conversation that a summary belongs to, and the ports with which it is made, stored and
 * published.
 */

import type { Cache } from '../lib/lru.ts';
import type { Log } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { TokenMeasure } from '../memory/models/facts.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { DIGEST_MODEL, type Memory, type Transcript } from '../storage/conversation/memories.ts';
import type { RememberedConversation } from '../storage/conversation/remembered.ts';
import type { ConversationMemoryStub, ObjectCaller, UserMemoryStub } from '../storage/objects.ts';
import type { RefWriter } from '../storage/refs/writer.ts';
import type { Payer } from '../storage/tenant/budget.ts';
import type { RequestUpkeep } from '../storage/upkeep.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { CompactionCall, OwnCompactions } from './own-compaction.ts';
import { NO_USAGE, type SummarizerTarget } from './summarizer.ts';
import { splitLedger } from './text/headings.ts';
import type { Prompt } from './text/prompt.ts';
import type { SummaryTask } from './writer.ts';

/**
 * The input that the Durable Object needs to make a text. It contains the caller's key, so it stays
 * in memory.
 */
interface AnyMaterial {
  readonly target: SummarizerTarget;
  /** Whose limits its calls count against. Absent for a caller without limits. */
  readonly payer?: Payer | undefined;
  readonly encoding: TokenMeasure;
}

/** Of a version of a summary. */
export interface VersionMaterial extends AnyMaterial {
  readonly of: 'version';
  readonly task: SummaryTask;
  readonly transcript: Transcript;
  /** Asks for the API's own summary, before the summarizer is asked. */
  readonly compaction?: CompactionCall | undefined;
  /** The place for the user's other conversations to read the summary. */
  readonly publishTo?: Publication | undefined;
}

/** Of the digest of an output. */
export interface DigestMaterial extends AnyMaterial {
  readonly of: 'digest';
  /** Absent if the summarizer's window is too small. */
  readonly prompt: Prompt | undefined;
  /** The place that it must fit into. */
  readonly removal: Removal;
}

export type TextMaterial = VersionMaterial | DigestMaterial;

/** A user's memory, and the conversation's key in it (see `sessionIn`). */
export interface UserEntry {
  /** See `userName`. */
  readonly user: string;
  readonly conversation: string;
}

interface Publication extends UserEntry {
  /** When the summary was ordered, in milliseconds. A later one replaces it. */
  readonly at: number;
}

/** A conversation whose memory is stored. */
export interface StoredConversation {
  readonly tenant: Tenant;
  /** See `conversationName`. */
  readonly name: string;
  /** The caller's id, or a hash; for logs and metadata. */
  readonly label: string;
  readonly memory: ObjectCaller<ConversationMemoryStub<TextMaterial>>;
  readonly remembered: RememberedConversation;
  /** Present if both conversation and user are named. */
  readonly publishTo: UserEntry | undefined;
}

/** The ports of one request's summaries. */
export interface SummaryPorts {
  /** Absent without a tenant. */
  readonly tenant: Tenant | undefined;
  /** Absent if nothing can be stored. */
  readonly conversation: StoredConversation | undefined;
  /** When the request came, in milliseconds. */
  readonly since: number;
  /** Absent without a tenant. */
  readonly refs: RefWriter | undefined;
  readonly target: SummarizerTarget;
  /**
   * Whose limits the calls of the conversation's object count against. Undefined for a caller
   * without limits.
   */
  payer(): Promise<Payer | undefined>;
  /** The summaries of the API that the request goes to. Absent if it is not asked for any. */
  readonly own?: OwnCompactions | undefined;
  readonly encoding: TokenMeasure;
  readonly digests: Cache<string>;
  /**
   * When each summary of a conversation was last ordered ahead of its use, in milliseconds since
   * the epoch.
   *
   * @param name see `conversationName`
   */
  prepared(name: string): Cache<number>;
  readonly upkeep: RequestUpkeep;
  /** Remembers how long the context of the target's model is, in tokens. */
  learnWindow(tokens: number): void;
  /** Loads the tokenizer. A lookup does not need it. */
  counting(): Promise<{ readonly counter: TokenCounter }>;
  openUser(name: string): ObjectCaller<UserMemoryStub>;
  /** Where a summary is published; undefined: nowhere. Never rejects. */
  publication(): Promise<Publication | undefined>;
  readonly log: Log;
}

/**
 * Puts a conversation's summary into its user's memory, without the ledger, which is useful only
 * within the conversation.
 */
export async function publish(
  openUser: (name: string) => ObjectCaller<UserMemoryStub>,
  { user, conversation, at }: Publication,
  text: string,
): Promise<void> {
  const entry = { conversation, text: splitLedger(text).body, at };
  await openUser(user)((stub) => stub.put(entry));
}

/** A summary for a view and its report. */
export interface ServedSummary {
  readonly text: string;
  /** The transcript's ref, if it is known to be written. */
  readonly ref: string | undefined;
  readonly status: 'completed' | 'degraded' | 'pending';
  /** The block that the API has signed for the text, if the view may show it. */
  readonly signed?: string | undefined;
  readonly memoryId?: number;
  readonly baseMemoryId?: number | null;
  readonly usage: TokenUsage;
}

/** A stored version, ready to be served. @param ref of its transcript, if that can be fetched */
export function servedOf(
  { memory_text, memory_id, base_memory_id }: Memory,
  ref: string | undefined,
  status: ServedSummary['status'],
): ServedSummary {
  const ids = { memoryId: memory_id, baseMemoryId: base_memory_id };
  return { text: memory_text ?? '', ref, status, ...ids, usage: NO_USAGE };
}

export function statusOf({ model }: Memory): ServedSummary['status'] {
  return model === DIGEST_MODEL ? 'degraded' : 'completed';
}
