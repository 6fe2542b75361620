/**
 * What Precis does with a body before it goes upstream, without HTTP and storage: the steps of `src/view/make-view.ts`, with
 * every ref taken as written.
 */

import { readHistory } from '../src/memory/conversation/history.ts';
import { type ContentFacts, createContentFacts } from '../src/memory/edits/compact.ts';
import { createWrittenPreviews, type WrittenPreviews } from '../src/memory/edits/preview.ts';
import { mayAct, type PlanRequest, plan } from '../src/memory/plan/plan.ts';
import { render } from '../src/memory/plan/view.ts';
import {
  edits,
  type MemoryStrategy,
  type MemoryStrategyRequest,
  parseStrategy,
} from '../src/memory/strategy/strategy.ts';
import {
  createTokenCounter,
  type TokenCounter,
  type Tokenize,
  toolTokens,
} from '../src/memory/tokens/tokens.ts';
import { readChatRequest, writeChatRequest } from '../src/protocol/chat/request.ts';
import { labelDigest, type Tenant, Tenants } from '../src/tenant/identity.ts';

/** What an isolate remembers between requests. */
export interface Isolate {
  readonly counter: TokenCounter;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
  readonly tenant: Tenant;
}

/** An isolate that has seen nothing yet. */
export function createIsolate(tokenize: Tokenize): Isolate {
  return {
    counter: createTokenCounter(tokenize),
    facts: createContentFacts(),
    previews: createWrittenPreviews(),
    tenant: new Tenants('the secret of the benchmarks').ofToken('sk-the-key-of-a-benchmark-0001'),
  };
}

export function strategyOf(input: MemoryStrategyRequest): MemoryStrategy {
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw new Error(strategy.reason.message);
  return strategy.value;
}

/** From the caller's bytes to those that go upstream. */
export function viewBytes(
  body: Uint8Array,
  strategy: MemoryStrategy,
  isolate: Isolate | undefined,
): Uint8Array {
  const read = readChatRequest(body);
  if (!read.ok) throw new Error(read.reason.message);
  const request = read.value;
  if (!edits(strategy)) return writeChatRequest(request, undefined);
  if (!isolate) throw new Error(`mode ${strategy.mode} counts tokens`);
  if (strategy.mode === 'rolling_summary') throw new Error('rolling memory needs a conversation');

  const outline: PlanRequest = {
    history: readHistory(request.messages, strategy.text_observation_prefixes),
    model: request.model,
    toolTokens: 0,
    answerTokens: request.answerTokens,
    force: false,
  };
  if (!mayAct(strategy, outline, request.tools?.bytes ?? 0)) return writeChatRequest(request, undefined);
  const planned = plan(
    strategy,
    { ...outline, toolTokens: toolTokens(request.tools, isolate.counter) },
    { ...isolate, refs: isolate.tenant.refs, digest: labelDigest },
  );
  return writeChatRequest(
    request,
    render(planned, () => true),
  );
}
