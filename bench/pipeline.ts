/**
 * The pipeline of `src/view/make-view.ts` without HTTP and storage. Every ref counts as written.
 */

import { lruOf } from '../src/lib/lru.ts';
import type { ContentFacts } from '../src/memory/edits/compact.ts';
import type { WrittenPreviews } from '../src/memory/edits/preview.ts';
import { edits, parseStrategy, retrieves } from '../src/memory/modes/strategy.ts';
import type { MemoryStrategy, MemoryStrategyRequest } from '../src/memory/modes/table.ts';
import { mayAct, outlineOf, planView } from '../src/memory/plan/plan.ts';
import { render } from '../src/memory/plan/view.ts';
import { createTokenCounter, type TokenCounter, type Tokenize } from '../src/memory/tokens/tokens.ts';
import { readChatRequest } from '../src/protocol/chat/request.ts';
import { BELIEFS } from '../src/request/beliefs.ts';
import { sha256Hex, type Tenant, Tenants } from '../src/tenant/identity.ts';

/** The caches of an isolate. */
export interface Isolate {
  readonly counter: TokenCounter;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
  readonly tenant: Tenant;
}

/** A new isolate with empty caches. */
export function createIsolate(tokenize: Tokenize): Isolate {
  return {
    counter: createTokenCounter(tokenize),
    facts: lruOf(BELIEFS.facts),
    previews: lruOf(BELIEFS.previews),
    tenant: new Tenants('the secret of the benchmarks').ofToken('sk-the-key-of-a-benchmark-0001'),
  };
}

export function strategyOf(input: MemoryStrategyRequest): MemoryStrategy {
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw new Error(strategy.reason.message);
  return strategy.value;
}

/** From the caller's body to the one that goes upstream. */
export function viewBytes(
  body: Uint8Array,
  strategy: MemoryStrategy,
  isolate: Isolate | undefined,
): Uint8Array {
  const read = readChatRequest(body);
  if (!read.ok) throw new Error(read.reason.message);
  const request = read.value;
  if (!edits(strategy)) return request.write(undefined);
  if (!isolate) throw new Error(`mode ${strategy.mode} counts tokens`);

  const { refs } = isolate.tenant;
  const retrieval = retrieves(strategy, request.hasTools);
  const outline = outlineOf(strategy, request, refs, { retrieval });
  if (!mayAct(strategy, outline, request.tools?.bytes ?? 0)) return request.write(undefined);
  const planned = planView(strategy, outline, request.tools, { ...isolate, refs, digest: sha256Hex });
  return request.write(render(planned, { isWritten: () => true }, isolate.counter));
}
