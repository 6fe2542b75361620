/** The answers of the routes that the inspector reads, as docs/conversations.md describes them. */

export type { CallerLimits } from '../../src/memory/money/caller-limits.ts';
export type { Explanation, KeptBecause } from '../../src/memory/plan/explanation-schema.ts';
export type { ListedRun, RunEvent } from '../../src/memory/run/event.ts';
export type { DeploymentHealth, PartHealth } from '../../src/reference/schemas/admin.ts';
export type { CallerChange, CallerDeletion, ShownCaller } from '../../src/reference/schemas/callers.ts';
export type { StatsComparison } from '../../src/reference/schemas/comparison.ts';
export type {
  ArchivedMessage,
  ConversationMemory,
  ListedConversation as Conversation,
  StatsByDay,
} from '../../src/reference/schemas/conversations.ts';
export type { DeploymentFacts } from '../../src/reference/schemas/deployment.ts';
export type { ShownOverview } from '../../src/reference/schemas/overview.ts';
export type { Explained } from '../../src/reference/schemas/plan.ts';
export type { RequestPage, ShownEdits } from '../../src/reference/schemas/requests.ts';

import type { ConversationMemory } from '../../src/reference/schemas/conversations.ts';

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** The parameters of a list. Empty ones are left out. */
export type ListQuery = Readonly<Record<string, string>>;

/** A version of a conversation's summary. */
export type Version = ConversationMemory['memories'][number];
