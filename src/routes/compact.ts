/** `POST /v1/compact`: returns the view and the report, without a completion. */
import type { ModelApi } from '../answer/model-api.ts';
import { readRequest, readWholeCall } from '../answer/read-call.ts';
import { concat } from '../lib/bytes.ts';
import { CallLife } from '../listeners/life.ts';
import { questionTimes } from '../listeners/question-times.ts';
import { readHistory } from '../memory/conversation/history.ts';
import { edits } from '../memory/modes/strategy.ts';
import { modeOf } from '../memory/modes/table.ts';
import { conversationTurns } from '../memory/plan/conversation-turns.ts';
import type { KeptBecause } from '../memory/plan/explanation-schema.ts';
import type { Report, Warning } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import { type ChatRequest, compactedParts, writeCompactedMessages } from '../protocol/chat/request.ts';
import {
  type MessagesRequest,
  compactedParts as messagesParts,
  writeCompactedMessages as writeMessages,
} from '../protocol/messages/request.ts';
import type { ModelRequest, ViewParts } from '../protocol/model-request.ts';
import { compactedItems, type ResponsesRequest, writeCompactedItems } from '../protocol/responses/request.ts';
import { sealedItem, sealedMessage } from '../protocol/sealed.ts';
import { checkSize } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { sealingTenant } from '../request/callers/caller.ts';
import { invalid } from '../request/errors.ts';
import { checkPlanned } from '../request/known-key.ts';
import { noteNamed } from '../request/named-refs.ts';
import { actingOn } from '../request/native-compaction.ts';
import { sealCompaction } from '../tenant/sealed-item.ts';
import { makeCurrentView } from '../view/current-view.ts';
import { workLimited } from '../view/limited-summary.ts';
import type { MadeView, MakeViewOptions } from '../view/made-view.ts';
import { anyBody, flag, holdsItems } from './any-protocol.ts';
import { type RouteContext, scopeOf } from './context.ts';
import { CHAT, MESSAGES, RESPONSES } from './models.ts';

const encoder = new TextEncoder();

/** How a protocol's views are returned. */
interface CompactForm<Read extends ModelRequest> extends ModelApi<Read> {
  /** The view as the JSON of the conversation's field. */
  array(request: Read, view: View | undefined): Uint8Array;
  parts(request: Read, view: View | undefined): ViewParts;
  /** The message or item that holds the rest of a view in sealed form. */
  sealed(text: string): object;
}

const CHAT_FORM: CompactForm<ChatRequest> = {
  ...CHAT,
  array: writeCompactedMessages,
  parts: compactedParts,
  sealed: sealedMessage,
};

const MESSAGES_FORM: CompactForm<MessagesRequest> = {
  ...MESSAGES,
  array: writeMessages,
  parts: messagesParts,
  sealed: sealedMessage,
};

const ITEMS: CompactForm<ResponsesRequest> = {
  ...RESPONSES,
  array: writeCompactedItems,
  parts: compactedItems,
  sealed: (text) => sealedItem(`cmp_${crypto.randomUUID().replaceAll('-', '')}`, text),
};

export async function compact(c: RouteContext): Promise<Response> {
  const { bytes, isMessages } = await anyBody(c);
  if (isMessages) return compactWith(c, MESSAGES_FORM, bytes);
  return holdsItems(bytes) ? compactWith(c, ITEMS, bytes) : compactWith(c, CHAT_FORM, bytes);
}

async function compactWith<Read extends ModelRequest>(
  c: RouteContext,
  form: CompactForm<Read>,
  bytes: Uint8Array,
): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(bytes, form, scope);
  const force = flag(request, 'force');
  const dryRun = flag(request, 'dry_run');
  const format = formatOf(request);
  const call = await readWholeCall(request, scope);
  const life = new CallLife(scope, form.answers.name);
  if (!dryRun) life.reads(call, 'compaction');
  return life.through(() => compacted(call, form, { force, dryRun, format }, life));
}

interface Compacting extends Pick<MakeViewOptions, 'force' | 'dryRun'> {
  readonly format: Format;
}

async function compacted<Read extends ModelRequest>(
  call: Call<Read>,
  form: CompactForm<Read>,
  { force, dryRun, format }: Compacting,
  life: CallLife,
): Promise<Response> {
  const { request, scope } = call;
  const made = await viewAlone(call, { force, dryRun });
  const array = form.array(request, made.view);
  const whole = force ? withWhyIdle(made, call) : made.report;
  const report = format === 'opaque' ? whole : withStrategyNamed(whole);
  const body = concat([
    encoder.encode('{"object":"memory.compaction",'),
    await partOf(format, array, made, call, form),
    encoder.encode(`,"memory":${JSON.stringify(report)}}`),
  ]);
  if (!dryRun) scope.waitUntil(noteNamed(array, call));
  return viewAnswer(body, { ...made, report }, life);
}

/** The answer with a view. @param body its JSON */
export function viewAnswer(
  body: string | Uint8Array<ArrayBuffer>,
  { report, view, refused = [] }: MadeView,
  life: CallLife,
): Response {
  const response = new Response(body, { headers: { 'content-type': 'application/json' } });
  life.settled({ plan: { report, view, refused } });
  life.answered(response, report);
  return response;
}

/** The view of a request that no model is asked for. @throws ApiError if it may not be planned */
export async function viewAlone(
  call: Call,
  { force, dryRun }: Pick<MakeViewOptions, 'force' | 'dryRun'>,
): Promise<MadeView> {
  const options = { force, dryRun, count: true, viewOnly: true, bare: true, explain: force };
  const make = () => makeCurrentView(call, options);
  const made = await (dryRun ? make() : workLimited(make, call.chosen.strategy, call));
  checkPlanned(made.report, call.scope);
  return made;
}

/** A warning if nobody has chosen a strategy: a caller who forgot it would see nothing happen. */
function withStrategyNamed(report: Report): Report {
  if (report.source !== 'default' || report.mode !== 'none') return report;
  return { ...report, warnings: [...report.warnings, 'no_strategy'] };
}

/** Why a message stays that no edit could reach. */
const STAYING: ReadonlySet<KeptBecause | undefined> = new Set([
  'preamble',
  'fresh',
  'tail',
  'request',
  'first_request',
  'held',
]);

/** Warnings that already say why a view is no shorter. */
const REASONS: readonly Warning[] = ['store_failed', 'no_tenant', 'summary_pending'];

/** A warning that says why `force` has changed nothing. */
function withWhyIdle({ report, explanation }: MadeView, call: Call): Report {
  if (report.applied_edits.length > 0 || report.warnings.some((each) => REASONS.includes(each)))
    return report;
  const asked = edits(actingOn(call));
  if (asked ? !explanation : report.source === 'default') return report;
  const isRecent = asked && explanation?.messages.every(({ because }) => STAYING.has(because));
  const why = isRecent ? 'all_recent' : 'nothing_to_remove';
  return { ...report, warnings: [...report.warnings, why] };
}

/** The answer's fields that hold the view, without braces. */
async function partOf<Read extends ModelRequest>(
  format: Format,
  compacted: Uint8Array,
  made: MadeView,
  call: Call<Read>,
  form: CompactForm<Read>,
): Promise<Uint8Array> {
  if (format === 'conversation_memory') return conversationPart(call, made);
  const array = format === 'messages' ? compacted : await sealedArray(made.view, call, form);
  return concat([encoder.encode(`"${form.field}":`), array]);
}

/**
 * The preamble, and one message or item that holds everything else in sealed form, to be sent back
 * unchanged.
 *
 * @throws ApiError without a tenant, or if the body is too large
 */
async function sealedArray<Read extends ModelRequest>(
  view: View | undefined,
  { request, owner, scope }: Call<Read>,
  form: CompactForm<Read>,
): Promise<Uint8Array> {
  const tenant = sealingTenant(scope.caller);
  checkSize(request);
  const { preamble, others } = form.parts(request, view);
  const sealed =
    others.length > 0 ? [form.sealed(await sealCompaction(tenant, owner, others.join(',')))] : [];
  return encoder.encode(`[${[...preamble, ...sealed.map((one) => JSON.stringify(one))].join(',')}]`);
}

/** The fields of `conversation_memory`, without braces. */
async function conversationPart(call: Call, made: MadeView): Promise<Uint8Array> {
  const { request, chosen } = call;
  const { strategy } = chosen;
  const { view, history = readHistory(request.messages) } = made;
  const recent = modeOf(strategy).verbatimTurns?.(strategy) ?? Number.POSITIVE_INFINITY;
  const turns = conversationTurns(history, view, recent, await questionTimes(call, history));
  return encoder.encode(JSON.stringify(turns).slice(1, -1));
}

type Format = 'messages' | 'conversation_memory' | 'opaque';

function formatOf(request: ModelRequest): Format {
  const format = request.field('format') ?? 'messages';
  if (format === 'messages' || format === 'conversation_memory' || format === 'opaque') return format;
  throw invalid('format', "format must be 'messages', 'conversation_memory' or 'opaque'.");
}
