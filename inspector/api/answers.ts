/** The answers of the routes that the inspector reads, as docs/conversations.md describes them. */

export type { CallerLimits } from '../../src/memory/money/caller-limits.ts';
export type { Explanation, KeptBecause } from '../../src/memory/plan/explanation-schema.ts';
export type { ListedRun, RunEvent } from '../../src/memory/run/event.ts';
export type { DeploymentHealth, PartHealth } from '../../src/reference/schemas/admin.ts';
export type { ShownCaller } from '../../src/reference/schemas/callers.ts';
export type { StatsComparison } from '../../src/reference/schemas/comparison.ts';
export type { StatsByDay } from '../../src/reference/schemas/conversations.ts';
export type { DeploymentFacts } from '../../src/reference/schemas/deployment.ts';
export type { ShownOverview } from '../../src/reference/schemas/overview.ts';

import type { CallerLimits } from '../../src/memory/money/caller-limits.ts';
import type { Explanation } from '../../src/memory/plan/explanation-schema.ts';
import type { ListedRun } from '../../src/memory/run/event.ts';

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** Of `GET /v1/conversations/{id}/requests`, newest first. */
export interface RequestPage extends Page<ListedRun> {
  /**
   * The sums of all bills of the conversation, with the summaries that no request waited for.
   * Absent where nothing is billed.
   */
  readonly bill?: unknown;
}

/** Of `GET /v1/conversations`. */
export interface Conversation {
  readonly id: string | null;
  /** The hash of the first messages, of a conversation that its caller has not named. */
  readonly opening: string | null;
  readonly user: string | null;
  readonly status: 'healthy' | 'degraded' | 'stuck';
  readonly health: string;
  /** In seconds. */
  readonly last_used_at: number | null;
  /** Of the newest summary. */
  readonly tokens: number | null;
  readonly versions: number;
  /** How many requests it had; the time in seconds, the model and the agent of the newest one. */
  readonly requests: number;
  readonly last_request_at: number | null;
  readonly model: string | null;
  readonly agent: string | null;
  /** HTTP. */
  readonly last_request_status: number | null;
  /** The sums of its requests' bills; absent where nothing is billed. */
  readonly bill?: unknown;
}

/** The parameters of a list. Empty ones are left out. */
export type ListQuery = Readonly<Record<string, string>>;

/** A version of a conversation's summary. */
export interface Version {
  readonly memory_id: number;
  readonly base_memory_id: number | null;
  readonly covers_end: number;
  readonly status: 'processing' | 'completed' | 'failed';
  readonly memory_text: string | null;
  /** Of the transcript. */
  readonly ref: string | null;
  readonly tokens: number | null;
  readonly model: string | null;
  readonly error: string | null;
  /** In seconds. */
  readonly created_at: number;
  readonly generation_time_ms: number | null;
}

/** Of `GET /v1/conversations/{id}/memory`. */
export interface ConversationMemory {
  readonly memory_strategy: Readonly<Record<string, unknown>> | null;
  readonly health: string;
  readonly memories: readonly Version[];
}

/** Of `GET /v1/conversations/{id}/messages`. */
export interface ArchivedMessage {
  /** The index in the array that the message came in. */
  readonly position: number;
  readonly message: unknown;
}

/** Of `POST /v1/conversations/{id}/requests/{n}/view`: the edits of the event, in its order. */
export interface ShownEdits {
  readonly data: readonly { readonly text: string | null }[];
}

/** The parts of a report that the inspector reads. */
interface Reported {
  readonly mode: string;
  readonly trigger: string;
  readonly tokens?: { readonly before: number; readonly after: number; readonly budget?: number | null };
  readonly warnings: readonly string[];
}

/** Of `POST /v1/explain`. */
export type Explained = Explanation & { readonly memory: Reported };

/** What `PATCH /v1/admin/callers/{name}` changes. */
export interface CallerChange {
  readonly state?: 'active' | 'disabled';
  /** Null: the configuration's own. */
  readonly limits?: CallerLimits | null;
}

/** Of `DELETE /v1/admin/callers/{name}`. */
export interface CallerDeletion {
  /** False while the rest is deleted in the background. */
  readonly deleted: boolean;
}
