/** The answers of the routes that the inspector reads, as docs/conversations.md describes them. */

export type { CallerLimits } from '../../src/memory/money/caller-limits.ts';
export type { Explanation, KeptBecause } from '../../src/memory/plan/explanation-schema.ts';
export type { ListedRun, RunEvent } from '../../src/memory/run/event.ts';
export type {
  CallerChange,
  CallerDeletion,
  DeploymentHealth,
  PartHealth,
  ShownCaller,
  ShownOverview,
} from '../../src/reference/schemas/admin.ts';
export type {
  ArchivedMessage,
  ConversationMemory,
  ListedConversation as Conversation,
  StatsByDay,
  StatsComparison,
} from '../../src/reference/schemas/conversations.ts';
export type { Explained } from '../../src/reference/schemas/plan.ts';
export type { RequestPage, ShownEdits } from '../../src/reference/schemas/requests.ts';
export type { DeploymentFacts } from '../../src/reference/schemas/stored.ts';

import type { ConversationMemory } from '../../src/reference/schemas/conversations.ts';

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** The parameters of a list. Empty ones are left out. */
export type ListQuery = Readonly<Record<string, string>>;

export type Version = ConversationMemory['memories'][number];
