/**
 * The conversation that a summary belongs to: its owner, where its memory lies, and where its
 * summaries are published.
 */

import type { Cache } from '../lib/lru.ts';
import type { Log } from '../log.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { EncodingName } from '../memory/strategy/models.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { ConversationMemoryStub, ObjectCaller, UserMemoryStub } from '../storage/conversation/key.ts';
import { DIGEST_MODEL, type Memory, type Transcript } from '../storage/conversation/memories.ts';
import type { RefWriter, WaitUntil } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import { NO_USAGE, type SummarizerTarget } from './summarizer.ts';
import { splitLedger } from './text/headings.ts';
import type { SummaryTask } from './writer.ts';

/**
 * What the Durable Object needs to write a summary by itself, for a rolling memory or in place of a
 * request. In memory only: it holds the caller's key.
 */
export interface RollMaterial {
  readonly task: SummaryTask;
  readonly target: SummarizerTarget;
  readonly encoding: EncodingName;
  readonly transcript: Transcript;
  /** Where the summary is published for the user's other conversations. */
  readonly publishTo?: Publication;
}

/** A user's memory, and the conversation's key in it (see `sessionIn`). */
interface Publication {
  /** See `userName`. */
  readonly user: string;
  readonly conversation: string;
}

/** A conversation whose memory is stored. */
export interface StoredConversation {
  readonly tenant: Tenant;
  /** See `conversationName`. */
  readonly name: string;
  /** The caller's id, or a hash; for logs and metadata. */
  readonly label: string;
  readonly memory: ObjectCaller<ConversationMemoryStub<RollMaterial>>;
  /** Present when both conversation and user are named. */
  readonly publishTo: Publication | undefined;
}

/** What one request has for its summaries. */
export interface SummaryPorts {
  /** Absent without a tenant. */
  readonly tenant: Tenant | undefined;
  /** Absent when there is no place to keep anything. */
  readonly conversation: StoredConversation | undefined;
  /** Absent without a tenant. */
  readonly refs: RefWriter | undefined;
  readonly target: SummarizerTarget;
  readonly encoding: EncodingName;
  readonly waitUntil: WaitUntil;
  /** Digests that were written before. */
  readonly digests: Cache<string>;
  /**
   * When a summary was last handed over to be made ahead, by what it is, in milliseconds since the
   * epoch.
   */
  readonly prepared: Cache<number>;
  /** Loads the tokenizer, which a summary that is only looked up does not need. */
  counting(): Promise<{ readonly counter: TokenCounter }>;
  openUser(name: string): ObjectCaller<UserMemoryStub>;
  readonly log: Log;
}

/**
 * Tells a user's memory what a conversation has come to. The ledger is of use only within the
 * conversation.
 */
export async function publish(
  openUser: (name: string) => ObjectCaller<UserMemoryStub>,
  { user, conversation }: Publication,
  text: string,
): Promise<void> {
  const entry = { conversation, text: splitLedger(text).body, at: Date.now() };
  await openUser(user)((stub) => stub.put(entry));
}

/** A summary as it is shown and reported. */
export interface ServedSummary {
  readonly text: string;
  /** The transcript's ref, when it is known to be written. */
  readonly ref: string | undefined;
  readonly status: 'completed' | 'degraded' | 'pending';
  readonly memoryId?: number;
  readonly baseMemoryId?: number | null;
  readonly usage: TokenUsage;
}

/** A stored version as it is served. @param ref of its transcript, when that can be fetched */
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
