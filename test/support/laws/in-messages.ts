/** Laws of views in the Messages API, as functions that return violations. */
import { isDeepStrictEqual } from 'node:util';
import { CONTINUE_LINE } from '../../../src/memory/conversation/session-summary.ts';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { type MessagesRequest, readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import { chatOf, messagesBody } from '../../../tools/upstream/blocks.ts';
import { violations } from '../../../tools/upstream/strict-messages.ts';
import { bodyOf, reportBesideLine, type Viewed, type ViewOptions, viewOfRequest } from './view-of.ts';

type Json = Record<string, unknown>;

/** All that Precis adds to a body. */
export const ADDITIONS = {
  marks: 3,
  injected: [
    { role: 'system', content: 'Of us.' },
    { role: 'user', content: 'Of us, too.' },
  ],
  tools: ['{"name":"retrieve_ref","description":"Fetches.","input_schema":{"type":"object"}}'],
} as const;

/** Plans and renders a body of Messages. */
export function viewInMessages(
  body: object,
  input: MemoryStrategyRequest,
  options: ViewOptions,
): Viewed<MessagesRequest> {
  const read = readMessagesRequest(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return viewOfRequest(read.value, input, options);
}

export function parsed(bytes: Uint8Array, reviver?: Parameters<typeof JSON.parse>[1]): Json {
  return JSON.parse(new TextDecoder().decode(bytes), reviver) as Json;
}

/** The laws of a single view. */
export function brokenInMessages(viewed: Viewed<MessagesRequest>): string[] {
  const { request, bytes, view, report } = viewed;
  const isValid = violations(bodyOf(request.bytes)).length === 0;
  const { before = 0, after = 0 } = report.tokens ?? {};
  return [
    ...(isValid ? violations(bodyOf(bytes)) : []),
    ...changedBlocks(viewed),
    ...(after > before ? ['the view has more tokens'] : []),
    ...(!view.summary && bytes.length > request.bytes.length + LONGEST_MARK
      ? ['the view has more bytes']
      : []),
  ];
}

/** A mark that moves may make a text a block. */
const LONGEST_MARK = 100;

/** Messages that are neither dropped nor edited keep their bytes, but for marks that move there. */
export function changedBlocks({ request, view, bytes }: Viewed<MessagesRequest>): string[] {
  const text = new TextDecoder().decode(bytes);
  let position = 0;
  for (const [index, message] of request.messages.entries()) {
    const isEdited =
      view.dropped.has(index) ||
      view.removals.has(index) ||
      view.summary?.request?.message === index ||
      view.trim?.request?.message === index;
    // A message of the system may come after a later one.
    if (isEdited || !('range' in message) || message.wireRole === 'system') continue;
    // A mark comes before the end of a block. A text with one becomes a block.
    const { start, end } = message.blocks ? message.range : (message.element.content ?? message.range);
    const raw = new TextDecoder().decode(request.bytes.subarray(start, end - 1));
    position = text.indexOf(raw, position);
    if (position < 0) return [`an untouched message has changed: ${raw.slice(0, 80)}`];
    position += raw.length;
  }
  return [];
}

/** Marks move to summaries here, and stay where they are in chat. */
const withoutMarks = (key: string, value: unknown): unknown => (key === 'cache_control' ? undefined : value);

const inChat = new WeakMap<Uint8Array, Json>();

/** A body as chat has it, without marks. Translated once, since each view is compared twice. */
function unmarkedInChat(bytes: Uint8Array): Json {
  const known = inChat.get(bytes) ?? chatOf(parsed(bytes, withoutMarks));
  inChat.set(bytes, known);
  return known;
}

/** How a view differs from the same conversation's in chat. */
export function otherThanInChat(
  viewed: Viewed<MessagesRequest>,
  chat: Viewed,
  form: Parameters<typeof messagesBody>[1],
): string[] {
  const same = chatOf(messagesBody(parsed(chat.bytes, withoutMarks), form));
  const sent = askedFirst(unmarkedInChat(viewed.bytes), same);
  return [
    ...(isDeepStrictEqual(reportBesideLine(viewed), reportBesideLine(chat))
      ? []
      : ['the report is not that of chat']),
    ...(isDeepStrictEqual(saidIn(sent), saidIn(same)) ? [] : ['the view is not that of chat']),
    ...(isDeepStrictEqual(ofSystem(sent), ofSystem(same))
      ? []
      : ['the system says something else than in chat']),
  ];
}

/**
 * A view whose first answer has no request begins with a line by Precis, which chat doesn't need.
 */
function askedFirst(sent: Json, same: Json): Json {
  const isSaid = ({ role }: Json): boolean => role !== 'system';
  if (messagesIn(same).find(isSaid)?.role !== 'assistant') return sent;
  const first = messagesIn(sent).find(isSaid);
  const messages = messagesIn(sent).filter((one) => one !== first || one.content !== CONTINUE_LINE);
  return { ...sent, messages };
}

const messagesIn = ({ messages }: Json): Json[] => messages as Json[];

/** Messages of the system, which may come after a later user message here. */
const ofSystem = (body: Json): Json[] => messagesIn(body).filter(({ role }) => role === 'system');

/** All others. Texts by Precis are blocks of their own before other blocks. */
function saidIn(body: Json): Json[] {
  return messagesIn(body).flatMap((message) => {
    if (message.role === 'system') return [];
    return [{ ...message, content: joinedTexts(message.content) }];
  });
}

function joinedTexts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts: Json[] = [];
  for (const part of content as Json[]) {
    const last = parts.at(-1);
    if (last?.type !== 'text' || part.type !== 'text') parts.push(part);
    else parts[parts.length - 1] = { ...last, text: `${last.text}\n\n${part.text}` };
  }
  return parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : parts;
}

/** The earlier view is a prefix of the later one, unless that says that the frontier moved. */
export function brokenPrefixInMessages(
  earlier: Viewed<MessagesRequest>,
  later: Viewed<MessagesRequest>,
): string[] {
  if (later.report.frontier.moved) return [];
  const before = messagesIn(unmarkedInChat(earlier.bytes));
  const after = messagesIn(unmarkedInChat(later.bytes));
  const changed = before.findIndex((message, index) => !isDeepStrictEqual(message, after[index]));
  return changed < 0 ? [] : [`message ${changed} of the view changed while the frontier was kept`];
}
