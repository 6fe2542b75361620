/**
 * The features of calls, in the order in which they are called. `verdict` learns whether the key is
 * accepted before any other feature stores something.
 */
import { archive } from './archive.ts';
import { cacheDiagnostics } from './cache-diagnostics.ts';
import { headers } from './headers.ts';
import { instructions } from './instructions.ts';
import type { CallFeature, ScopeFeature } from './listener.ts';
import { logLine } from './log-line.ts';
import { memory } from './memory.ts';
import { metrics, viewMetrics } from './metrics.ts';
import { movedSince } from './moved-since.ts';
import { receipt } from './receipt.ts';
import { runEvent } from './run-event.ts';
import { trace } from './trace.ts';
import { upkeep } from './upkeep.ts';
import { verdict } from './verdict.ts';
import { webhooks } from './webhooks.ts';
import { window } from './window.ts';

export interface Features {
  /** Of every call, also of one that is not read. */
  readonly everyCall: readonly ScopeFeature[];
  /** Of all that were read, requests for a compaction among them. */
  readonly conversations: readonly CallFeature[];
  /** Of requests to a model that were read. */
  readonly answers: readonly CallFeature[];
}

export const FEATURES: Features = {
  everyCall: [headers, trace, metrics, logLine],
  conversations: [runEvent],
  answers: [
    verdict,
    movedSince,
    receipt,
    viewMetrics,
    webhooks,
    upkeep,
    memory,
    instructions,
    window,
    cacheDiagnostics,
    archive,
  ],
};
