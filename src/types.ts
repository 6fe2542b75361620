/** Types for callers: what a request may say to Precis, and what the answers of its routes say. */
import type { z } from 'zod';
import type { healthSchema, versionSchema } from './storage/conversation/memory-schema.ts';

export type { MemoryStrategyRequest } from './memory/modes/table.ts';
export type { Report as MemoryReport, Warning as MemoryWarning } from './memory/plan/report.ts';
/** The turns of `format: "conversation_memory"`, each with its digest. */
export type {
  Artifact as TurnArtifact,
  ConversationTurns as ConversationMemory,
  PlainTurn as ConversationTurn,
  TurnDigest,
} from './memory/plan/turns-schema.ts';
export type { MemoryInjectionRequest } from './memory/strategy/injection.ts';
export type { MemoryBlocksRequest } from './memory/strategy/memory-blocks.ts';

/** How summarizing has gone lately: `health` of a conversation's memory. */
export type MemoryHealth = z.output<typeof healthSchema>;
/** One of `memories` of a conversation's memory. */
export type MemoryVersion = z.output<typeof versionSchema>;
