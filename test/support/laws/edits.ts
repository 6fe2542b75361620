/** Parts to test the edits of `auto` one by one. */

import { lruOf } from '../../../src/lib/lru.ts';
import type { History } from '../../../src/memory/conversation/history.ts';
import type { CompactContext } from '../../../src/memory/edits/compact.ts';
import { createPreviewWriter } from '../../../src/memory/edits/preview.ts';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import type { AutoStrategy } from '../../../src/memory/modes/auto-settings.ts';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { BELIEFS } from '../../../src/request/beliefs.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { counter, tenant } from './view-of.ts';

/** A removal that frees this many tokens. */
export function removalOf(message: number, freed: number): Removal {
  return {
    kind: 'output',
    reason: 'context_compaction',
    message,
    call: -1,
    tool: 'search',
    callId: 'call_1',
    tokens: freed + 10,
    bytes: 4 * freed,
    replacement: '…',
    freed,
  };
}

/** What edits of an array need: the defaults of `auto`, a tenant's refs, and new caches. */
export function contextOf(history: History): CompactContext {
  const previews = lruOf(BELIEFS.previews);
  return {
    history,
    strategy: autoStrategyOf(),
    counter,
    refs: tenant.refs,
    keep: true,
    digest: sha256Hex,
    facts: lruOf(BELIEFS.facts),
    settings: { strategy: '', tokenizer: counter.tokenizer, refs: tenant.refs },
    writer: createPreviewWriter(history.messages, { counter, digest: sha256Hex, previews }),
  };
}

export function autoStrategyOf(
  input: Partial<Extract<MemoryStrategyRequest, { mode: 'auto' }>> = {},
): AutoStrategy {
  const parsed = parseStrategy({ ...input, mode: 'auto' });
  if (!parsed.ok) throw new Error(parsed.reason.message);
  if (parsed.value.mode !== 'auto') throw new Error('another mode was asked for');
  return parsed.value;
}
