/** The way of a request through the core, without HTTP and storage: what `src/http/make-view.ts` does, in memory. */
import { createContentFacts } from '../../src/memory/edits/compact.ts';
import { readHistory } from '../../src/memory/history.ts';
import { type Plan, plan } from '../../src/memory/plan.ts';
import { createWrittenPreviews } from '../../src/memory/preview.ts';
import { type Report, reportOf } from '../../src/memory/report.ts';
import {
  type EditingStrategy,
  type MemoryStrategyRequest,
  parseStrategy,
} from '../../src/memory/strategy.ts';
import { createTokenCounter, loadTokenize, toolTokens } from '../../src/memory/tokens.ts';
import { render, type View } from '../../src/memory/view.ts';
import { type ChatRequest, readChatRequest, writeChatRequest } from '../../src/protocol/chat.ts';
import { labelDigest, Tenants } from '../../src/storage/tenant.ts';

const counting = {
  counter: createTokenCounter(await loadTokenize('o200k_base')),
  facts: createContentFacts(),
  previews: createWrittenPreviews(),
};

export const { counter } = counting;

const tenants = new Tenants('a secret for tests only');

/** The tenant under which tests plan. */
export const tenant = tenants.ofToken('sk-a-key-of-a-test-0123456789');

/** A tenant that is not `tenant`. */
export const stranger = tenants.ofToken('sk-another-key-of-a-test-012345');

export interface Viewed {
  readonly request: ChatRequest;
  readonly plan: Plan;
  readonly view: View;
  readonly report: Report;
  /** The body as it goes upstream. */
  readonly bytes: Uint8Array;
}

export interface ViewOptions {
  readonly force?: boolean;
  /** Which refs count as written; all of them by default. */
  readonly isStored?: (ref: string) => boolean;
  /** Without a tenant there are no refs. */
  readonly tenant?: typeof tenant | undefined;
}

export function strategyOf(input: MemoryStrategyRequest): EditingStrategy {
  const parsed = parseStrategy(input);
  if (!parsed.ok) throw new Error(parsed.reason.message);
  if (parsed.value.mode === 'none') throw new Error('mode none makes no view');
  return parsed.value;
}

/** Plans and renders a body. */
export function viewOf(
  body: Uint8Array | object,
  input: MemoryStrategyRequest,
  options: ViewOptions = {},
): Viewed {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
  const strategy = strategyOf(input);
  const read = readChatRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  const request = read.value;
  const planned = plan(
    strategy,
    {
      history: readHistory(request.messages, strategy.text_observation_prefixes),
      model: request.model,
      toolTokens: toolTokens(request.tools, counter),
      answerTokens: request.answerTokens,
      force: options.force ?? false,
    },
    { ...counting, refs: 'tenant' in options ? options.tenant?.refs : tenant.refs, digest: labelDigest },
  );
  const view = render(planned, options.isStored ?? (() => true));
  return {
    request,
    plan: planned,
    view,
    report: reportOf(planned, view, 'request', []),
    bytes: writeChatRequest(request, view),
  };
}

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly unknown[];
}

/** The messages that go upstream. */
export function messagesOf(viewed: Viewed): Record<string, unknown>[] {
  const body = JSON.parse(new TextDecoder().decode(viewed.bytes)) as { messages: Record<string, unknown>[] };
  return body.messages;
}
