/**
 * The laws of views, as functions that return violations. Used on generated and recorded
 * conversations.
 */

import { isDeepStrictEqual } from 'node:util';
import { heldMessages } from '../../../src/memory/conversation/bonds.ts';
import { type History, messagesOf as unitMessages } from '../../../src/memory/conversation/history.ts';
import { MARKER_START } from '../../../src/memory/conversation/refs.ts';
import { rehydratedAt } from '../../../src/memory/conversation/rehydrated-outputs.ts';
import { CONTINUE_LINE } from '../../../src/memory/conversation/session-summary.ts';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import { contentOf } from '../../../src/memory/edits/removed-content.ts';
import { summarizes } from '../../../src/memory/modes/strategy.ts';
import { rehydrationOf } from '../../../src/memory/strategy/fields.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { levels } from '../../../src/protocol/json/outline.ts';
import { textOf, within } from '../../../src/protocol/json/spans.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { bodyOf, counter, messagesOf, type Viewed } from './view-of.ts';

/** All laws of a single view. Empty if it keeps every law. */
export function brokenLaws(viewed: Viewed): string[] {
  return [
    ...newViolations(viewed),
    ...changedBytes(viewed),
    ...lostContents(viewed),
    ...longerReplacements(viewed),
    ...editedWhatIsProtected(viewed),
    ...shortenedWhatIsFresh(viewed),
    ...(viewed.report.tokens && viewed.report.tokens.after > viewed.report.tokens.before
      ? ['the view has more tokens']
      : []),
    // A summary is measured in tokens; in another writing system it may have more bytes per token.
    ...(!viewed.view.summary && viewed.bytes.length > viewed.request.bytes.length
      ? ['the view has more bytes']
      : []),
    ...brokenLeavingOut(viewed),
    ...brokenPairs(viewed),
    ...brokenSummary(viewed),
    ...brokenRehydration(viewed),
    ...brokenFirstRequest(viewed),
    ...brokenReasoning(viewed),
  ];
}

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'];

/**
 * Reasoning leaves a message as a whole, and only where the strategy clears it, in turns that are
 * older than those which keep it. All other fields stay.
 */
function brokenReasoning(viewed: Viewed): string[] {
  const { request, plan, view } = viewed;
  const { history, strategy } = plan;
  const sent = messagesOf(viewed);
  const kept = keptIndices(viewed);
  const turns = strategy.mode === 'auto' ? strategy.keep_reasoning_turns : 0;
  const newest = history.units[history.turns.at(-turns) ?? -1]?.first ?? -1;
  return [...view.removals].flatMap(([index, removals]) => {
    const cleared = removals.filter(({ kind }) => kind === 'reasoning');
    const came = JSON.parse(new TextDecoder().decode(request.messages[index]?.json));
    const goes = sent[kept.indexOf(index)] ?? {};
    const fields = Object.keys(came).filter((field) => REASONING.includes(field));
    const left = fields.filter((field) => field in goes);
    if (came.role === 'assistant' && left.length !== (cleared.length > 0 ? 0 : fields.length))
      return [`message ${index}: a part of its reasoning is missing`];
    if (cleared.length === 0) return [];
    const lost = Object.keys(came).filter((field) => !(field in goes) && !fields.includes(field));
    return [
      ...(strategy.mode === 'auto' && strategy.clear_reasoning === true
        ? []
        : [`message ${index}: its reasoning is cleared, and nobody has asked for that`]),
      ...(index < newest && history.turns.length >= turns
        ? []
        : [`message ${index}: its reasoning is not old`]),
      ...(plan.replay.moves.some(({ trigger }) => trigger !== 'token_soft_budget' && trigger !== 'steps')
        ? []
        : [`message ${index}: its reasoning is cleared without a hard budget`]),
      ...(lost.length > 0 ? [`message ${index}: ${lost} left with its reasoning`] : []),
      ...(cleared.length > 1 ? [`message ${index}: its reasoning is cleared twice`] : []),
    ];
  });
}

/** The first request stays unchanged, and what replaces the messages that left follows it. */
function brokenFirstRequest(viewed: Viewed): string[] {
  const { request, view, plan } = viewed;
  const first = stayingFirst(viewed);
  if (first === undefined) return [];
  if (view.dropped.has(first)) return ['the first request is left out'];
  const { summary, trim, recap } = view;
  const isPassed = ((trim && plan.trimmed?.ends.at(-1)) ?? (summary && plan.prefix?.end) ?? 0) > first;
  const at = keptIndices(viewed).indexOf(first);
  const sent = readChatRequest(viewed.bytes);
  const [came, goes] = [request.messages[first], sent.ok ? sent.value.messages[at] : undefined];
  if (!came || !goes) return ['the first request has changed'];
  // A line for messages before it has no other place than its head.
  const head = !isPassed && trim?.request?.message === first ? trim.line : undefined;
  const isOpened = head !== undefined && opensWith(head, came.json, goes.json);
  if (!isOpened && Buffer.compare(came.json, goes.json) !== 0) return ['the first request has changed'];
  // The request of the tail opens with an earlier summary, and so with the one after it.
  if (summary?.request?.message === plan.history.echo?.message && summary?.request) return [];
  const [answer, line] = messagesOf(viewed).slice(at + 1);
  // The caller's next message may have these words itself, from a view that is not trusted.
  const next = keptIndices(viewed)[at + (recap?.goesOn ? 3 : 2)] ?? -1;
  const saysSo = request.messages[next]?.content().text === CONTINUE_LINE;
  const texts = [summary?.block, trim?.line].filter((text) => text !== undefined);
  if (!isPassed) return recap ? ['a recap of what is there'] : [];
  return [
    ...(answer?.role === 'assistant' && answer.content === texts.join('\n\n') ? [] : ['there is no recap']),
    ...((line?.content === CONTINUE_LINE) === (recap?.goesOn === true || saysSo)
      ? []
      : ['a line is missing behind the recap']),
  ];
}

/** The first request, if the strategy keeps it and the budget allows that. */
export function stayingFirst({ plan }: Pick<Viewed, 'plan'>): number | undefined {
  const { strategy, history, budgets } = plan;
  if (!('keep_first_user' in strategy) || !strategy.keep_first_user) return undefined;
  const { echo, messages, units, turns } = history;
  const requests = turns.map((turn) => units[turn]?.first ?? -1).filter((index) => index !== echo?.message);
  const first = echo?.request ?? requests[0];
  const message = messages[first ?? -1];
  if (first === undefined || !message) return undefined;
  const budget = Math.min(hardBudget(budgets), budgets.window);
  return counter.message(message) > budget / 2 ? undefined : first;
}

/** The request of the run that a unit is in, where words after results have begun turns in it. */
function runningAt(viewed: Viewed, unit: number): number | undefined {
  const { history, strategy, budgets } = viewed.plan;
  if (!('keep_first_user' in strategy) || !strategy.keep_first_user) return undefined;
  const { units, runs, messages } = history;
  const run = runs.find(({ from, last }) => from <= unit && unit <= last);
  const message = units[run?.request ?? -1]?.first ?? -1;
  const said = messages[message];
  if (!said || message === history.echo?.message) return undefined;
  return counter.message(said) > Math.min(hardBudget(budgets), budgets.window) / 2 ? undefined : message;
}

/** Whether a message differs in nothing but a text by Precis at its head. */
function opensWith(head: string, came: Uint8Array, goes: Uint8Array): boolean {
  const [before, after] = [came, goes].map((json) => JSON.parse(new TextDecoder().decode(json)));
  const { content } = before;
  const isSame = Array.isArray(content)
    ? isDeepStrictEqual(after.content, [{ type: 'text', text: head }, ...content])
    : after.content.startsWith(head) && after.content.endsWith(content ?? '');
  return isSame && isDeepStrictEqual({ ...after, content }, before);
}

/** Tokens of the first request, if it stays and precedes a message. */
function firstTokensBefore(viewed: Viewed, end: number): number {
  const first = stayingFirst(viewed);
  const message = first !== undefined && first < end ? viewed.request.messages[first] : undefined;
  return message ? counter.message(message) : 0;
}

/** Violations of the wire format that the caller's own body does not have. */
function newViolations({ request, bytes }: Viewed): string[] {
  const options = { lenientFields: true };
  if (violations(bodyOf(request.bytes), options).length > 0) return [];
  return violations(bodyOf(bytes), options);
}

/** Messages that are neither dropped nor edited must keep their bytes. */
function changedBytes(viewed: Viewed): string[] {
  const { request, view, bytes } = viewed;
  const text = new TextDecoder().decode(bytes);
  const kept = request.messages.filter(
    (_, index) =>
      !view.dropped.has(index) &&
      !view.removals.has(index) &&
      view.summary?.request?.message !== index &&
      view.trim?.request?.message !== index,
  );
  let position = 0;
  for (const message of kept) {
    const raw = textOf(request.bytes, message.span);
    position = text.indexOf(raw, position);
    if (position < 0) return [`an untouched message has changed: ${raw.slice(0, 80)}`];
    position += raw.length;
  }
  return [];
}

/** A placeholder's ref must return what the caller sent. */
function lostContents(viewed: Viewed): string[] {
  const { view } = viewed;
  const sent = messagesOf(viewed);
  const kept = keptIndices(viewed);
  if (kept.length !== sent.length) return [`${kept.length} messages are kept, ${sent.length} are sent`];
  return [...view.removals].flatMap(([index, removals]) => {
    if (view.dropped.has(index)) return [`message ${index} is edited, and left out`];
    const shown = JSON.stringify(sent[kept.indexOf(index)]);
    const stated = new Set(removals.map(({ kind, call }) => `${kind} ${call}`));
    if (stated.size < removals.length) return [`message ${index}: something is removed twice`];
    return removals.flatMap((removal) => {
      // Nothing replaces reasoning, and it has no ref.
      if (removal.kind === 'reasoning')
        return removal.ref === undefined && removal.replacement === ''
          ? []
          : [`message ${index}: something stands for its reasoning`];
      if (contentOf(removal, viewed.request.messages).text !== originalOf(viewed, removal))
        return [`message ${index}: the kept content is not what was sent`];
      const neither = saidBy(viewed, removal).filter((text) => !shown.includes(quoted(text)));
      if (neither.length > 0) return [`message ${index}: ${neither} is neither shown nor kept`];
      if (!removal.replacement.includes(MARKER_START)) return [`message ${index}: no marker`];
      if (removal.isDigested && !removal.replacement.startsWith(`${removal.digest?.line}\ndigest: `))
        return [`message ${index}: its digest does not stand below its marker`];
      if (removal.reason === 'offloaded' && !removal.isDigested && !showsBothEnds(viewed, removal))
        return [`message ${index}: head or tail of what is offloaded is not shown`];
      return removal.ref === undefined || shown.includes(removal.ref)
        ? []
        : [`message ${index}: its ref is not shown`];
    });
  });
}

/** The texts in the content of a removed output that are not in what is kept of it. */
function saidBy({ request }: Viewed, removal: Removal): string[] {
  const { message, kind } = removal;
  const sent = kind === 'output' && request.messages[message];
  if (!sent) return [];
  const kept = contentOf(removal, request.messages).text;
  const { content } = JSON.parse(new TextDecoder().decode(sent.json));
  return textsIn(content).filter((text) => !kept.includes(text) && !kept.includes(quoted(text)));
}

/** All texts in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** A text as JSON has it, without its quotes. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The caller's original of a removal. */
function originalOf({ request }: Viewed, { kind, message, call }: Removal): string | undefined {
  const sent = request.messages[message];
  if (kind === 'output') return sent?.content().text;
  if (kind === 'input') return sent?.calls[call]?.input;
  const content = sent?.role === 'user' ? sent.contentSpan() : undefined;
  const part = content && within(request.bytes, content, levels(1)).items?.[call];
  const json = part && textOf(request.bytes, part);
  return json?.includes('data:') ? json : undefined;
}

/**
 * An offloaded output keeps its beginning and end around the marker; white space at the cuts may be
 * missing.
 */
function showsBothEnds({ request }: Viewed, { message, replacement, ref }: Removal): boolean {
  const text = request.messages[message]?.content().weight.texts.join('\n') ?? '';
  const shown = replacement.split('\n');
  const marker = shown.findIndex((line) => line.startsWith(MARKER_START) && line.includes(`ref=${ref};`));
  const head = shown.slice(0, marker).join('\n');
  const rest = shown.slice(marker + 1).join('\n');
  return (
    marker >= 0 && text.startsWith(head) && endsAlike(rest, text) > 0 && (head !== '' || /^\s/.test(text))
  );
}

/** The number of equal characters at the end of two texts. */
function endsAlike(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}

/** Nothing is replaced by something longer, by any measure. */
function longerReplacements({ view, request }: Viewed): string[] {
  return [...view.removals.values()].flat().flatMap((removal) => {
    const { message, replacement, tokens, freed } = removal;
    const shown = counter.text(replacement);
    if (freed < 1 || shown >= tokens) return [`message ${message}: what stands there has ${shown} tokens`];
    if (freed !== tokens - shown) return [`message ${message}: ${freed} tokens are said to be freed`];
    return removal.kind === 'reasoning' ||
      replacement.length < contentOf(removal, request.messages).text.length
      ? []
      : [`message ${message}: what stands there has more characters`];
  });
}

/**
 * For each message of the view, its index in the caller's array; undefined for the messages of a
 * summary.
 */
function keptIndices({ request, view }: Viewed): (number | undefined)[] {
  const { summary, recap, dropped } = view;
  const own = { pair: 2, alone: 1, request: 0, recap: 0, signed: 1 }[summary?.form ?? 'request'];
  const place = Math.min(...dropped);
  const ours = (length: number): undefined[] => Array.from({ length }, () => undefined);
  return request.messages.flatMap((_, index) => [
    ...(index === place ? ours(own) : []),
    ...(dropped.has(index) ? [] : [index]),
    ...(recap && index === recap.after ? ours(recap.goesOn ? 2 : 1) : []),
  ]);
}

/**
 * Whole units leave the view from the beginning, except the first request and the request of the
 * current turn.
 */
function brokenLeavingOut(viewed: Viewed): string[] {
  const { plan, view } = viewed;
  const { history, strategy, prefix, trimmed } = plan;
  const { summary, trim, dropped } = view;
  if (strategy.mode === 'compact' && dropped.size > 0) return ['a mode that leaves nothing out did'];
  if (strategy.mode === 'trim') return [];
  if (!summary && !trim)
    return dropped.size > 0 ? ['messages are left out, and nothing stands for them'] : [];
  if (trim && !trimmed) return ['a line for what is not trimmed'];
  const end = trim ? (trimmed?.ends.at(-1) ?? 0) : (prefix?.end ?? 0);
  const next = history.units.findIndex(({ first }) => first >= end);
  const unit = next < 0 ? history.units.length : next;
  const covered = unitsBefore(history, unit);
  const held = heldMessages(history, unit);
  const last = covered.at(-1) ?? -1;
  const request = covered.find((index) => !dropped.has(index) && index === turnOf(history, next));
  const first = stayingFirst(viewed);
  const running = runningAt(viewed, unit);
  const staying = new Set([request, first, running, ...held]);
  const expected = covered.filter((index) => !staying.has(index));
  const left = [...dropped].toSorted((a, b) => a - b);
  return [
    ...(JSON.stringify(left) === JSON.stringify(expected)
      ? []
      : [`messages ${left} are left out, not ${expected}`]),
    ...(last < end ? [] : [`the unit that holds message ${last} is split at ${end}`]),
  ];
}

function unitsBefore(history: History, unit: number): number[] {
  const covered = history.units.slice(0, unit).flatMap((each) => unitMessages(history, each));
  return covered.toSorted((a, b) => a - b);
}

/**
 * For each message with results, the message with the call. Pairs by position; a further result
 * belongs to the same turn.
 */
export function callersOf({ messages, units }: Pick<History, 'messages' | 'units'>): {
  readonly callers: ReadonlyMap<number, number>;
  /** Messages with an unanswered call. */
  readonly open: ReadonlySet<number>;
} {
  const observed = new Set(units.flatMap(({ outputs }) => outputs.map(({ message }) => message)));
  const questions = messages.flatMap(({ role }, at) => (role === 'user' && !observed.has(at) ? [at] : []));
  const callers = new Map<number, number>();
  const calls: { id: string; message: number; result?: number }[] = [];
  for (const [index, { role, calls: made, answers = '' }] of messages.entries()) {
    if (role === 'assistant') calls.push(...made.toReversed().map(({ id }) => ({ id, message: index })));
    if (role !== 'tool') continue;
    const turn = questions.findLast((question) => question < index) ?? -1;
    const call =
      calls.findLast(({ id, result }) => id === answers && result === undefined) ??
      calls
        .filter(({ id, result }) => id === answers && result !== undefined && result > turn)
        .toSorted((a, b) => (a.result ?? 0) - (b.result ?? 0))
        .at(-1);
    if (!call) continue;
    call.result ??= index;
    callers.set(index, call.message);
  }
  return {
    callers,
    open: new Set(calls.filter(({ result }) => result === undefined).map(({ message }) => message)),
  };
}

/**
 * No result is in a view without its call, and no call without all of its results; an open call
 * never leaves.
 */
function brokenPairs({ plan, view }: Viewed): string[] {
  const { callers, open } = callersOf(plan.history);
  return [
    ...[...callers].flatMap(([result, call]) =>
      view.dropped.has(result) === view.dropped.has(call)
        ? []
        : [`result ${result} is parted from its call in message ${call}`],
    ),
    ...[...open].flatMap((call) =>
      view.dropped.has(call) ? [`message ${call} waits for a result, and is left out`] : [],
    ),
  ];
}

/** A summary names the messages it covers, occurs once, and has fewer tokens than they have. */
function brokenSummary(viewed: Viewed): string[] {
  const { plan, view } = viewed;
  const { history, strategy } = plan;
  const { summary, trim } = view;
  if (!summary) return [];
  if (!summarizes(strategy)) return ['a mode that does not summarise did'];
  const { prefix } = plan;
  if (!prefix) return ['a summary without a prefix'];
  const request = summary.request?.message;
  // If more has left the view than the summary covers, the first remaining unit determines its
  // form.
  const stays = trim ? plan.trimmed?.prefix?.unit : prefix.unit;
  const covered = unitsBefore(history, prefix.unit);
  const shown = messagesOf(viewed).filter((message) =>
    JSON.stringify(message).includes(JSON.stringify(summary.block).slice(1, -1)),
  );
  return [
    ...(shown.length === 1 ? [] : [`the summary stands in ${shown.length} messages`]),
    ...(summary.tokens < prefix.covered - firstTokensBefore(viewed, prefix.end)
      ? []
      : ['the summary is not shorter than what it stands for']),
    ...(request === undefined || turnOf(history, stays ?? -1) === request
      ? []
      : [`message ${request} stays, and is not of the turn that goes on`]),
    ...(summary.covers[1] === prefix.end - 1 && summary.covers[0] === Math.min(...covered)
      ? []
      : [`the summary says that it covers ${summary.covers}`]),
  ];
}

/**
 * The outputs after a summary are the ones that the strategy asks for, of messages that have left
 * the view, verbatim and each in its fence.
 */
function brokenRehydration({ plan, view, options }: Viewed): string[] {
  const { block, rehydrated = [] } = view.summary ?? {};
  if (!block || rehydrated.length === 0) return [];
  const settings = 'rehydrate' in plan.strategy ? rehydrationOf(plan.strategy) : undefined;
  if (!settings) return ['outputs stand behind a summary, and nobody has asked for them'];
  const behind = block.slice(block.indexOf('</session_summary>') + '</session_summary>\n\n'.length);
  const texts = rehydrated.map(({ message }) =>
    plan.history.messages[message]?.content().weight.texts.join('\n'),
  );
  const tags = (tag: string): number => block.split(tag).length - 1;
  const { isStored = () => true } = options;
  return [
    ...(rehydrated.length > settings.items ? [`${rehydrated.length} outputs stand behind the summary`] : []),
    ...(counter.text(behind) > settings.max_tokens ? [`they have ${counter.text(behind)} tokens`] : []),
    ...(rehydratedAt(behind) === behind ? [] : ['their block does not end where it is written']),
    ...(tags('<rehydrated_output ') === texts.length && tags('</rehydrated_output>') === texts.length
      ? []
      : ['there are other fences than theirs']),
    ...rehydrated.flatMap(({ message, removal }, index) => [
      ...(view.dropped.has(message) ? [] : [`message ${message} stands in the view twice`]),
      ...(behind.includes(`>\n${texts[index]}\n</rehydrated_output>`)
        ? []
        : [`message ${message} is not shown as it was`]),
      ...(removal?.ref === undefined || isStored(removal.ref) ? [] : [`message ${message} has a lost ref`]),
    ]),
  ];
}

/**
 * What no answer has followed is whole, unless it is over the limit for a single output, or the
 * array is over a budget of which the output has more than half, or over the window. The report
 * says how many such outputs are not.
 */
function shortenedWhatIsFresh({ plan, view, report, options }: Viewed): string[] {
  const { strategy, history, budgets, replay } = plan;
  if (strategy.mode !== 'auto') return [];
  const answered = history.requestPoints.at(-2)?.messages ?? 0;
  const short = [...view.removals].flatMap(([index, removals]) =>
    index >= answered ? removals.filter(({ reason }) => reason === 'offloaded') : [],
  );
  const edit = report.applied_edits.find(({ type }) => type === 'offload');
  const said = edit?.type === 'offload' ? (edit.fresh ?? 0) : 0;
  const budget = Math.min(hardBudget(budgets), budgets.window);
  const { offload_fresh_tokens: limit, offload_min_tokens: least } = strategy;
  const half = Math.floor(budgets.window / 2);
  const most = Math.min(limit ?? Math.max(least, Math.min(25_000, half)), limit ? half : Infinity);
  return [
    ...(said === short.length ? [] : [`${short.length} fresh outputs are short, and ${said} are said to be`]),
    ...short.flatMap(({ message, tokens }) => {
      if (!options.retrieval) return [`message ${message}: a fresh output is short, and can't be fetched`];
      const isOver = replay.before > budget && 2 * tokens > budget;
      return tokens > most || isOver || replay.before > budgets.window
        ? []
        : [`message ${message}: a fresh output is short within the budget`];
    }),
  ];
}

/** The hard budget, or what the longest answer of the generated conversations' model leaves. */
function hardBudget({ window, hard }: Viewed['plan']['budgets']): number {
  return hard ?? window - Math.min(20_000, Math.floor(window / 5));
}

/** The user message of a unit's turn; -1 means the array's end. */
function turnOf(history: History, unit: number): number | undefined {
  const turn = history.turns.findLast((at) => unit < 0 || at < unit);
  return turn === undefined ? undefined : history.units[turn]?.first;
}

/**
 * Preamble, open units and fresh results are never edited; with retrieval, large outputs may be
 * offloaded even there.
 */
function editedWhatIsProtected({ plan, view, request, options }: Viewed): string[] {
  const { history } = plan;
  const madeAtSight = ({ reason }: Removal): boolean => options.retrieval === true && reason === 'offloaded';
  const edited = new Set(view.dropped);
  for (const [index, removals] of view.removals) if (!removals.every(madeAtSight)) edited.add(index);
  for (const opened of [view.summary?.request?.message, view.trim?.request?.message])
    if (opened !== undefined && request.messages[opened]?.role !== 'user')
      return ['a summary opens a message that is no user message'];
  const lastAssistant = request.messages.findLastIndex((message) => message.role === 'assistant');
  const last = history.units.at(-1);
  const lastUser = history.units[history.turns.at(-1) ?? -1]?.first;
  return [...edited].flatMap((index) => {
    if (request.messages[index]?.role === 'preamble') return [`message ${index}: the preamble was edited`];
    if (last && last.unanswered > 0 && index >= last.first)
      return [`message ${index}: the open unit was edited`];
    if (index > lastAssistant && request.messages[index]?.role === 'tool')
      return [`message ${index}: a fresh result was edited`];
    if (index === lastUser) return [`message ${index}: the request that is being worked on is left out`];
    return [];
  });
}

/**
 * The stability law: the earlier view is a prefix of the later one, unless the later one reports
 * that the frontier moved.
 */
export function brokenPrefix(earlier: Viewed, later: Viewed): string[] {
  if (later.report.frontier.moved) return [];
  const before = messagesOf(earlier);
  const after = messagesOf(later);
  for (const [index, message] of before.entries())
    if (JSON.stringify(message) !== JSON.stringify(after[index]))
      return [`message ${index} of the view changed while the frontier was kept`];
  return [];
}
