/** The laws of a view, as checks that return what breaks them. Used on generated conversations and on recorded ones. */
import { type History, messagesOf as unitMessages } from '../../src/memory/history.ts';
import { MARKER_START } from '../../src/memory/placeholder.ts';
import { textOf } from '../../src/protocol/spans.ts';
import { violations } from './strict-chat.ts';
import { messagesOf, type Viewed } from './view-of.ts';

/** All that one view can be asked. Empty when it keeps every law. */
export function brokenLaws(viewed: Viewed): string[] {
  return [
    ...newViolations(viewed),
    ...changedBytes(viewed),
    ...lostContents(viewed),
    ...editedWhatIsProtected(viewed),
    ...(viewed.report.tokens && viewed.report.tokens.after > viewed.report.tokens.before
      ? ['the view has more tokens']
      : []),
    // A summary is measured in tokens: a block of another script may have more bytes to the token.
    ...(!viewed.view.summary && viewed.bytes.length > viewed.request.bytes.length
      ? ['the view has more bytes']
      : []),
    ...brokenSummary(viewed),
  ];
}

/** Violations of the wire format that the caller's own body does not have. */
function newViolations({ request, bytes }: Viewed): string[] {
  const options = { lenientFields: true };
  const decode = (body: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(body));
  if (violations(decode(request.bytes), options).length > 0) return [];
  return violations(decode(bytes), options);
}

/** Messages that are neither dropped nor edited must go up in the bytes that they came in. */
function changedBytes(viewed: Viewed): string[] {
  const { request, view, bytes } = viewed;
  const text = new TextDecoder().decode(bytes);
  const kept = request.messages.filter(
    (_, index) =>
      !view.dropped.has(index) && !view.removals.has(index) && view.summary?.request?.message !== index,
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

/** What a placeholder stands for must be what the caller sent, under the ref that the placeholder names. */
function lostContents(viewed: Viewed): string[] {
  const { request, view } = viewed;
  const sent = messagesOf(viewed);
  const kept = keptIndices(viewed);
  if (kept.length !== sent.length) return [`${kept.length} messages are kept, ${sent.length} are sent`];
  return [...view.removals].flatMap(([index, removals]) => {
    const shown = JSON.stringify(sent[kept.indexOf(index)]);
    return removals.flatMap((removal) => {
      const message = request.messages[index];
      const original =
        removal.kind === 'output' ? message?.content().text : message?.calls[removal.call]?.input;
      if (removal.content().text !== original)
        return [`message ${index}: the kept content is not what was sent`];
      if (!removal.replacement.includes(MARKER_START)) return [`message ${index}: no marker`];
      return removal.ref === undefined || shown.includes(removal.ref)
        ? []
        : [`message ${index}: its ref is not shown`];
    });
  });
}

/** By message that goes up: its index in the caller's array; undefined for what a summary has put in. */
function keptIndices({ request, view }: Viewed): (number | undefined)[] {
  const own = { pair: 2, alone: 1, request: 0 }[view.summary?.form ?? 'request'];
  const place = Math.min(...view.dropped);
  return request.messages.flatMap((_, index) => [
    ...(index === place ? Array.from({ length: own }, () => undefined) : []),
    ...(view.dropped.has(index) ? [] : [index]),
  ]);
}

/** A summary stands for whole units from the beginning on, all of them but the request that is being worked on. */
function brokenSummary(viewed: Viewed): string[] {
  const { plan, view } = viewed;
  const { history, prefix } = plan;
  const { summary } = view;
  if (plan.strategy.mode !== 'summarize') return summary ? ['a mode that does not summarise did'] : [];
  if (!summary) return view.dropped.size > 0 ? ['messages are left out, and nothing stands for them'] : [];
  if (!prefix) return ['a summary without a prefix'];
  const request = summary.request?.message;
  const covered = history.units.slice(0, prefix.unit).flatMap((unit) => unitMessages(history, unit));
  const expected = covered.filter((index) => index !== request).toSorted((a, b) => a - b);
  const dropped = [...view.dropped].toSorted((a, b) => a - b);
  const sent = messagesOf(viewed);
  const shown = sent.filter((message) =>
    JSON.stringify(message).includes(JSON.stringify(summary.block).slice(1, -1)),
  );
  return [
    ...(JSON.stringify(dropped) === JSON.stringify(expected)
      ? []
      : [`messages ${dropped} are left out, not ${expected}`]),
    ...(shown.length === 1 ? [] : [`the summary stands in ${shown.length} messages`]),
    ...(summary.tokens < prefix.covered ? [] : ['the summary is not shorter than what it stands for']),
    ...(request === undefined || turnOf(history, prefix.unit) === request
      ? []
      : [`message ${request} stays, and is not of the turn that goes on`]),
    ...(summary.covers[1] === prefix.end - 1 && summary.covers[0] === Math.min(...covered)
      ? []
      : [`the summary says that it covers ${summary.covers}`]),
  ];
}

/** The user message of the turn in which a unit stands. */
function turnOf(history: History, unit: number): number | undefined {
  const turn = history.turns.findLast((at) => at < unit);
  return turn === undefined ? undefined : history.units[turn]?.first;
}

/** Preamble, open unit and fresh results are never edited. */
function editedWhatIsProtected({ plan, view, request }: Viewed): string[] {
  const { history } = plan;
  const edited = new Set([...view.removals.keys(), ...view.dropped]);
  if (view.summary?.request && request.messages[view.summary.request.message]?.role !== 'user')
    return ['a summary opens a message that is no user message'];
  const lastAssistant = request.messages.findLastIndex((message) => message.role === 'assistant');
  const last = history.units.at(-1);
  const lastUser = history.units[history.turns.at(-1) ?? -1]?.first;
  // A result without a call is nobody's news: it goes when its turn goes.
  const orphans = new Set(history.units.flatMap((unit) => (unit.kind === 'orphan' ? [unit.first] : [])));
  return [...edited].flatMap((index) => {
    if (request.messages[index]?.role === 'preamble') return [`message ${index}: the preamble was edited`];
    if (last && last.unanswered > 0 && index >= last.first)
      return [`message ${index}: the open unit was edited`];
    if (index > lastAssistant && request.messages[index]?.role === 'tool' && !orphans.has(index))
      return [`message ${index}: a fresh result was edited`];
    if (index === lastUser) return [`message ${index}: the request that is being worked on is left out`];
    return [];
  });
}

/** The stability law: the earlier view is a prefix of the later one, unless the later one says that the frontier moved. */
export function brokenPrefix(earlier: Viewed, later: Viewed): string[] {
  if (later.report.frontier.moved) return [];
  const before = messagesOf(earlier);
  const after = messagesOf(later);
  for (const [index, message] of before.entries())
    if (JSON.stringify(message) !== JSON.stringify(after[index]))
      return [`message ${index} of the view changed while the frontier was kept`];
  return [];
}
