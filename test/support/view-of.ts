/** The way of a request through the core, without HTTP and storage: what `src/http/make-view.ts` does, in memory. */
import { shownIn } from '../../src/http/summarized-view.ts';
import { createContentFacts } from '../../src/memory/edits/compact.ts';
import { type History, readHistory } from '../../src/memory/history.ts';
import { type Plan, plan } from '../../src/memory/plan.ts';
import { prefixHashes } from '../../src/memory/prefix-hash.ts';
import { createWrittenPreviews } from '../../src/memory/preview.ts';
import { type Report, reportOf } from '../../src/memory/report.ts';
import { findEcho } from '../../src/memory/session-summary.ts';
import {
  type MemoryStrategyRequest,
  parseStrategy,
  type ReplayedStrategy,
} from '../../src/memory/strategy.ts';
import { createTokenCounter, loadTokenize, toolTokens } from '../../src/memory/tokens.ts';
import { render, type ShownSummary, type View } from '../../src/memory/view.ts';
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
  /** The words of summaries; by default a stand-in as long as the limit allows. */
  readonly words?: SummaryWriter;
}

/**
 * Writes a summary; undefined when there is none to be had.
 *
 * @param name names exactly the messages that are covered
 * @param limit tokens that it may have
 */
export type SummaryWriter = (name: string, limit: number) => string | undefined;

/** Words that name what they stand for, as many as there is room for. */
export const asLongAsAllowed: SummaryWriter = (name, limit) => standIn(name, limit);

/** A few words. */
export const short: SummaryWriter = (name, limit) => standIn(name, Math.min(limit, 30));

function standIn(name: string, tokens: number): string {
  const head = `Summary of ${name.slice(0, 8)}:`;
  return `${head}${' word'.repeat(Math.max(0, tokens - counter.marker(head)))}`;
}

export function strategyOf(input: MemoryStrategyRequest): ReplayedStrategy {
  const parsed = parseStrategy(input);
  if (!parsed.ok) throw new Error(parsed.reason.message);
  const { mode } = parsed.value;
  if (mode === 'none' || mode === 'rolling_summary') throw new Error(`mode ${mode} is not planned by replay`);
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
  const owner = 'tenant' in options ? options.tenant : tenant;
  const echo = strategy.mode === 'summarize' ? findEcho(request.messages, owner?.refs) : undefined;
  const history = readHistory(request.messages, strategy.text_observation_prefixes, echo);
  const planned = plan(
    strategy,
    {
      history,
      model: request.model,
      toolTokens: toolTokens(request.tools, counter),
      answerTokens: request.answerTokens,
      force: options.force ?? false,
    },
    { ...counting, refs: owner?.refs, digest: labelDigest },
  );
  const view = render(planned, options.isStored ?? (() => true), summaryOf(planned, history, options));
  return {
    request,
    plan: planned,
    view,
    report: reportOf(planned, view, 'request', []),
    bytes: writeChatRequest(request, view),
  };
}

/** The summary of a plan's prefix, as the words and the stored refs allow. */
function summaryOf(planned: Plan, history: History, options: ViewOptions): ShownSummary | undefined {
  const { prefix } = planned;
  if (!prefix) return undefined;
  const name = prefixHashes(history.messages, labelDigest)[prefix.end] ?? '';
  const text = (options.words ?? asLongAsAllowed)(name, prefix.limit);
  if (text === undefined) return undefined;
  const owner = 'tenant' in options ? options.tenant : tenant;
  const ref = owner?.refs.name(`transcript:${name}`, () => name);
  const isStored = ref !== undefined && (options.isStored?.(ref) ?? true);
  return shownIn(planned, { text, ref: isStored ? ref : undefined }, counter);
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
