/** Types for callers: what a request may say to Precis, and what the report says. */
export type { MemoryStrategyRequest } from './memory/modes/table.ts';
export type { Report as MemoryReport, Warning as MemoryWarning } from './memory/plan/report.ts';
export type { MemoryInjectionRequest } from './memory/strategy/injection.ts';
export type { MemoryBlocksRequest } from './memory/strategy/memory-blocks.ts';
