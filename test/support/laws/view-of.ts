/** The pipeline of `src/view/make-view.ts` in memory, without HTTP and storage. */

import { lruOf } from '../../../src/lib/lru.ts';
import type { KeptReasonings } from '../../../src/memory/conversation/kept-reasoning.ts';
import { prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { REF_START } from '../../../src/memory/conversation/refs.ts';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import { type InputPrices, type RelativePrices, USUAL_PRICES } from '../../../src/memory/models/schedules.ts';
import { termsOf } from '../../../src/memory/models/terms.ts';
import type { UsedMemory } from '../../../src/memory/modes/planned.ts';
import { edits, parseStrategy } from '../../../src/memory/modes/strategy.ts';
import type { EditingStrategy, MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { outlineOf, type Plan, planView } from '../../../src/memory/plan/plan.ts';
import { type Report, reportOf } from '../../../src/memory/plan/report.ts';
import { render, type ShownTrim, type View, type ViewWords } from '../../../src/memory/plan/view.ts';
import type { KeptRounds } from '../../../src/memory/replay/kept-rounds.ts';
import { createTokenCounter, loadTokenize, type Tokenize } from '../../../src/memory/tokens/tokens.ts';
import { type ChatRequest, readChatRequest } from '../../../src/protocol/chat/request.ts';
import type { Additions, ModelRequest } from '../../../src/protocol/model-request.ts';
import type { KnownStart } from '../../../src/protocol/written-bodies.ts';
import { BELIEFS } from '../../../src/request/beliefs.ts';
import { trimmedTranscript } from '../../../src/summary/text/trimmed-transcript.ts';
import { sha256Hex, Tenants } from '../../../src/tenant/identity.ts';

/** Bytes of blocks of text whose tokens are remembered. */
const COUNTED_BYTES = 16 * 1024 * 1024;

let countsOnce = true;

/** Remembers no block of text, for work in a small heap. */
export function rememberNoText(): void {
  countsOnce = false;
}

/**
 * Counts each block of text once. Generated conversations repeat their texts in other messages, and
 * the laws count what the plan has counted.
 */
function countOnce(tokenize: Tokenize): Tokenize {
  const counted = lruOf<number>({ bytes: COUNTED_BYTES });
  return (text) => (countsOnce ? counted.remember(text, () => tokenize(text)) : tokenize(text));
}

const tokenize = await loadTokenize('o200k_base');

const counting = {
  counter: createTokenCounter(countOnce(tokenize)),
  facts: lruOf(BELIEFS.facts),
  previews: lruOf(BELIEFS.previews),
};

export const { counter } = counting;

const tenants = new Tenants('a secret for tests only');

/** The tenant of planning tests. */
export const tenant = tenants.ofToken('sk-a-key-of-a-test-0123456789');

/** A tenant other than `tenant`. */
export const stranger = tenants.ofToken('sk-another-key-of-a-test-012345');

export interface Viewed<Request extends ModelRequest = ChatRequest> {
  readonly request: Request;
  readonly options: ViewOptions;
  readonly plan: Plan;
  readonly view: View;
  readonly report: Report;
  /** The body as it goes upstream. */
  readonly bytes: Uint8Array;
}

/**
 * A report without the tokens of the line for trimmed messages: that is a part of its own, or
 * within a text, where tokens may reach over the break. What edits clear is a sum, since one of
 * them has the line.
 */
export function reportBesideLine({ view, report }: Pick<Viewed, 'view' | 'report'>) {
  const { tokens, applied_edits } = report;
  const line = view.trim?.tokens ?? 0;
  return {
    ...report,
    tokens: tokens && { ...tokens, after: tokens.after - line },
    applied_edits: applied_edits.map(({ cleared_tokens: _, ...edit }) => edit),
    cleared: applied_edits.reduce((sum, edit) => sum + edit.cleared_tokens, line),
  };
}

export interface ViewOptions {
  readonly force?: boolean;
  /** See `PlanRequest`. */
  readonly whole?: boolean;
  /** Which refs count as written; all by default. */
  readonly isStored?: (ref: string) => boolean;
  /** Without a tenant there are no refs. */
  readonly tenant?: typeof tenant | undefined;
  /** The words of summaries; by default a stand-in as long as the limit allows. */
  readonly words?: SummaryWriter;
  /** The digest of an offloaded output; by default one of `DIGESTS`, by its ref. */
  readonly digestOf?: ViewWords['digestOf'];
  /** Whether the model can fetch removed content; false by default. */
  readonly retrieval?: boolean;
  /** See `PlanRequest`. */
  readonly closed?: readonly number[] | undefined;
  /** See `PlanRequest`. */
  readonly cold?: readonly number[] | undefined;
  /** Prices relative to fresh input; by default an unknown model's. */
  readonly prices?: InputPrices & Partial<RelativePrices>;
  /** Whether the view has marks for a cache that is read at boundaries. */
  readonly marks?: boolean;
  /** The limit that the upstream stated, in tokens. */
  readonly limit?: number | undefined;
  /** The limit of the body in bytes. */
  readonly byteLimit?: number | undefined;
  /** The rolling memory in use. */
  readonly memory?: UsedMemory | undefined;
  /** Rounds that are kept of answers in the array, oldest first, or that they can't be read. */
  readonly rounds?: readonly RoundsOfTest[] | 'absent';
  /** The reasoning that is kept of answers in the array. */
  readonly reasoning?: KeptReasonings | undefined;
  /** What is added to the view. */
  readonly additions?: Additions;
  /** See `spliceBody`. */
  readonly kept?: KnownStart;
}

/** Rounds before an answer, and their messages as JSON, separated by commas. */
export interface RoundsOfTest extends KeptRounds {
  readonly json: string;
}

/**
 * Writes a summary; undefined if there is none.
 *
 * @param name identifies the covered messages
 * @param limit maximum of tokens
 */
export type SummaryWriter = (name: string, limit: number) => string | undefined;

/** Words that name what they cover, as many as there is room for. */
export const asLongAsAllowed: SummaryWriter = (name, limit) => standIn(name, limit);

/** A few words. */
export const short: SummaryWriter = (name, limit) => standIn(name, Math.min(limit, 30));

function standIn(name: string, tokens: number): string {
  const head = `Summary of ${name.slice(0, 8)}:`;
  return `${head}${' word'.repeat(Math.max(0, tokens - counter.marker(head)))}`;
}

export function strategyOf(input: MemoryStrategyRequest): EditingStrategy {
  const parsed = parseStrategy(input);
  if (!parsed.ok) throw new Error(parsed.reason.message);
  const strategy = parsed.value;
  if (!edits(strategy)) throw new Error(`mode ${strategy.mode} edits no view`);
  return strategy;
}

/** Plans and renders a body. */
export function viewOf(
  body: Uint8Array | object,
  input: MemoryStrategyRequest,
  options: ViewOptions = {},
): Viewed {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
  const read = readChatRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  return viewOfRequest(read.value, input, options);
}

/** Plans and renders a request of either protocol. */
export function viewOfRequest<Request extends ModelRequest>(
  request: Request,
  input: MemoryStrategyRequest,
  options: ViewOptions = {},
): Viewed<Request> {
  const strategy = strategyOf(input);
  const owner = ownerOf(options);
  const outline = outlineOf(strategy, request, owner?.refs, {
    force: options.force ?? false,
    whole: options.whole ?? false,
    limit: options.limit,
    byteLimit: options.byteLimit,
    retrieval: options.retrieval ?? false,
    closed: options.closed,
    cold: options.cold,
    terms: {
      ...termsOf(request.model),
      prices: { ...USUAL_PRICES, ...options.prices },
      marks: options.marks ?? false,
    },
    memory: options.memory,
    rounds: options.rounds,
    reasoning: options.reasoning,
  });
  const isolate = { ...counting, refs: owner?.refs, digest: sha256Hex };
  const planned = planView(strategy, outline, request.tools, isolate);
  const { digestOf = digestByRef } = options;
  const words = { isWritten: isWrittenIn(options), summary: summaryOf(planned, options), digestOf };
  const { rounds = [] } = options;
  const kept = new Map((rounds === 'absent' ? [] : rounds).map(({ key, json }) => [key, json]));
  const line = trimOf(planned, options);
  const view = render(planned, { ...words, line, rounds: kept }, counter);
  return {
    request,
    options,
    plan: planned,
    view,
    report: reportOf(planned, view, 'request', []),
    bytes: request.write(view, options.additions, options.kept),
  };
}

function isWrittenIn({ isStored = () => true }: ViewOptions): (ref: string) => boolean {
  return isStored;
}

/** None, a short one, one as long as it may be, and one that is longer. */
const DIGESTS = [undefined, 'A few words.', ' words'.repeat(299).trim(), ' words'.repeat(400).trim()];

function digestByRef({ ref = '' }: Removal): string | undefined {
  return DIGESTS[ref.charCodeAt(REF_START.length) % DIGESTS.length];
}

/** The summary of a plan's prefix, as far as words and stored refs allow. */
function summaryOf({ history, prefix }: Plan, options: ViewOptions): ViewWords['summary'] {
  if (!prefix) return undefined;
  const name = prefixHashes(history.messages, sha256Hex)[prefix.end] ?? '';
  const text = (options.words ?? asLongAsAllowed)(name, prefix.limit);
  return text === undefined ? undefined : { text, ref: keptRef(`transcript:${name}`, options) };
}

/** The line for trimmed messages; undefined if they may not be stored. */
function trimOf({ history, trimmed }: Plan, options: ViewOptions): ShownTrim | undefined {
  if (!trimmed) return undefined;
  const { segments, shown } = trimmedTranscript(history, trimmed, ownerOf(options), undefined, counter);
  return segments.map(({ ref }) => ref).every(isWrittenIn(options)) ? shown : undefined;
}

function ownerOf(options: ViewOptions): typeof tenant | undefined {
  return 'tenant' in options ? options.tenant : tenant;
}

/** The ref of a text, if it counts as written. */
function keptRef(text: string, options: ViewOptions): string | undefined {
  const ref = ownerOf(options)?.refs.name(text, () => text);
  return ref !== undefined && isWrittenIn(options)(ref) ? ref : undefined;
}

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly unknown[];
}

const bodies = new WeakMap<Uint8Array, Record<string, unknown>>();

/** A body as JSON. Read once, since many laws read the same one: they may not change it. */
export function bodyOf(bytes: Uint8Array): Record<string, unknown> {
  const known = bodies.get(bytes);
  if (known) return known;
  const body = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  bodies.set(bytes, body);
  return body;
}

/** The messages that go upstream. */
export function messagesOf({ bytes }: Pick<Viewed, 'bytes'>): Record<string, unknown>[] {
  return bodyOf(bytes).messages as Record<string, unknown>[];
}

/** The views of a conversation, one per request. */
export function viewsOf(
  conversation: ChatBody,
  input: MemoryStrategyRequest,
  options: ViewOptions = {},
): Viewed[] {
  const { history } = viewOf(conversation, { mode: 'compact' }).plan;
  return history.requestPoints.map(({ messages }) =>
    viewOf({ ...conversation, messages: conversation.messages.slice(0, messages) }, input, options),
  );
}
