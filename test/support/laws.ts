/** The laws of a view, as checks that return what breaks them. Used on generated conversations and on recorded ones. */
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
    ...(viewed.bytes.length > viewed.request.bytes.length ? ['the view has more bytes'] : []),
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
  const kept = request.messages.filter((_, index) => !view.dropped.has(index) && !view.removals.has(index));
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
  const kept = request.messages.map((_, index) => index).filter((index) => !view.dropped.has(index));
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

/** Preamble, open unit and fresh results are never edited. */
function editedWhatIsProtected({ plan, view, request }: Viewed): string[] {
  const { history } = plan;
  const edited = new Set([...view.removals.keys(), ...view.dropped]);
  const lastAssistant = request.messages.findLastIndex((message) => message.role === 'assistant');
  const last = history.units.at(-1);
  // A result without a call is nobody's news: it goes when its turn goes.
  const orphans = new Set(history.units.flatMap((unit) => (unit.kind === 'orphan' ? [unit.first] : [])));
  return [...edited].flatMap((index) => {
    if (request.messages[index]?.role === 'preamble') return [`message ${index}: the preamble was edited`];
    if (last && last.unanswered > 0 && index >= last.first)
      return [`message ${index}: the open unit was edited`];
    if (index > lastAssistant && request.messages[index]?.role === 'tool' && !orphans.has(index))
      return [`message ${index}: a fresh result was edited`];
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
