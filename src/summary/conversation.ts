/**
 * The conversation that a summary belongs to: its owner, where its memory lies, and where its
 * summaries are published.
 */

import type { TokenUsage } from '../memory/plan/report.ts';
import type { EncodingName } from '../memory/strategy/models.ts';
import type { ConversationMemoryStub, UserMemoryStub } from '../storage/conversation/key.ts';
import type { Transcript } from '../storage/conversation/memories.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { SummarizerTarget } from './summarizer.ts';
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
  /** Opens the Durable Object; a new stub each time, since one that has thrown may be broken. */
  memory(): ConversationMemoryStub<RollMaterial>;
  /** Present when both conversation and user are named. */
  readonly publishTo: Publication | undefined;
}

/**
 * Tells a user's memory what a conversation has come to. The ledger is of use only within the
 * conversation.
 */
export async function publish(
  openUser: (name: string) => UserMemoryStub,
  { user, conversation }: Publication,
  text: string,
): Promise<void> {
  await openUser(user).put({ conversation, text: splitLedger(text).body, at: Date.now() });
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
