/**
 * Marks of the prompt cache (https://platform.claude.com/docs/en/build-with-claude/prompt-caching):
 * four at most, one with a longer lifetime never behind one with a shorter.
 *
 * The caller's stay where their blocks stay. One whose block leaves moves to what stands in its
 * place: the text of ours there, or else the block before it. Ours are added while fewer than four
 * stand: behind the places of the view, and behind tools and `system` where the caller sets none.
 */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject, isObject } from '../../lib/json.ts';
import { type JsonSpan, levels } from '../json/outline.ts';
import { fieldOf, jsonOf, textOf, within } from '../json/spans.ts';
import { MARK_FIELD } from './block.ts';
import type { Layout, OurEntry } from './layout.ts';
import { ElementMessage } from './message.ts';

const MOST_MARKS = 4;

/**
 * Bytes of tools and instructions that are worth a mark: about the 1 024 tokens below which most
 * models write no cache.
 */
const LEAST_BYTES = 4_096;

/** The marks to write, each as its JSON. */
export interface WrittenMarks {
  /** By the message behind which they stand. */
  readonly messages: ReadonlyMap<number, string>;
  /** By the entry of ours that gets one. */
  readonly ours: ReadonlyMap<OurEntry, string>;
  /** Behind the last tool, and the last entry of `system`. */
  readonly tools?: string | undefined;
  readonly system?: string | undefined;
}

export const NO_MARKS: WrittenMarks = { messages: new Map(), ours: new Map() };

interface MarkedBody {
  readonly bytes: Uint8Array;
  readonly root: JsonSpan;
  readonly messages: readonly object[];
}

/** Whether a body has any, or a text that looks like one. */
export function mayHaveMarks(bytes: Uint8Array): boolean {
  return bufferOf(bytes).includes(`"${MARK_FIELD}"`);
}

/**
 * The marks of a view beside those that stay where they are.
 *
 * @param places the messages behind which ours may stand, ascending
 */
export function marksFor(body: MarkedBody, layout: Layout, places: readonly number[]): WrittenMarks {
  const standing = mayHaveMarks(body.bytes) ? callersMarks(body) : NONE;
  const moved = standing.messages.size > 0 ? movedMarks(body, layout, standing.messages) : NO_MARKS;
  if (places.length === 0) return moved;
  const kept = [...standing.messages].filter(([index]) => !layout.leaves(index));
  const behind = [...kept.map(([index, marks]) => [index, marks] as const), ...moved.messages].flatMap(
    ([index, marks]) => (Array.isArray(marks) ? marks : [marks as string]).map((mark) => ({ index, mark })),
  );
  const count =
    behind.length + moved.ours.size + standing.before.length + (standing.automatic === undefined ? 0 : 1);
  const isFree = count === 0;
  let room = MOST_MARKS - count;
  const isLong = (from: number): boolean =>
    [
      ...behind.filter(({ index }) => index > from).map(({ mark }) => mark),
      ...[...moved.ours].filter(([{ at }]) => at > from).map(([, mark]) => mark),
      ...(standing.automatic === undefined ? [] : [standing.automatic]),
    ].some(isLongLived);
  const system = fieldOf(body.root, 'system')?.value;
  const tools = fieldOf(body.root, 'tools')?.value;
  const isWorth = (...spans: (JsonSpan | undefined)[]): boolean =>
    spans.reduce((sum, span) => sum + (span ? span.end - span.start : 0), 0) >= LEAST_BYTES;
  const first = isFree && system && system.kind !== 'literal' && isWorth(tools, system);
  if (first) room--;
  const added = new Map<number, string>();
  const taken = new Set(behind.map(({ index }) => index));
  const isLastTool = isFree && tools?.kind === 'array' && isWorth(tools);
  const most = isLastTool ? Math.max(1, room - 1) : room;
  for (const index of places.toReversed()) {
    const message = body.messages[index];
    if (added.size >= most || !(message instanceof ElementMessage)) break;
    if (!layout.leaves(index) && !taken.has(index)) added.set(index, markOf(isLong(index)));
  }
  const hasRoom = room - added.size > 0;
  return {
    ...moved,
    messages: new Map([...moved.messages, ...added]),
    ...(first ? { system: markOf(false) } : {}),
    ...(isLastTool && hasRoom ? { tools: markOf(false) } : {}),
  };
}

function markOf(isLong: boolean): string {
  return JSON.stringify({ type: 'ephemeral', ...(isLong ? { ttl: '1h' } : {}) });
}

function isLongLived(mark: string): boolean {
  return asObject(JSON.parse(mark)).ttl === '1h';
}

interface CallersMarks {
  /** In tools and `system`. */
  readonly before: readonly string[];
  readonly messages: ReadonlyMap<number, readonly string[]>;
  readonly automatic: string | undefined;
}

const NONE: CallersMarks = { before: [], messages: new Map(), automatic: undefined };

function callersMarks({ bytes, root, messages }: MarkedBody): CallersMarks {
  const lists = ['tools', 'system'].map((key) => fieldOf(root, key)?.value);
  const automatic = fieldOf(root, MARK_FIELD)?.value;
  const isOn = automatic?.kind === 'object';
  return {
    before: lists.flatMap((list) => (list?.kind === 'array' ? listedMarks(jsonOf(bytes, list)) : [])),
    messages: new Map(
      messages.flatMap((message, index) => {
        const found = message instanceof ElementMessage ? marksIn(message) : [];
        return found.length > 0 ? [[index, found] as const] : [];
      }),
    ),
    automatic: isOn ? textOf(bytes, automatic) : undefined,
  };
}

function marksIn({ blocks = [], range, element: { body } }: ElementMessage): string[] {
  if (!mayHaveMarks(body.subarray(range.start, range.end))) return [];
  return listedMarks(blocks.map((block) => block.value()));
}

/** Those of blocks, and of the blocks inside them. */
function listedMarks(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((block) => {
    if (!isObject(block)) return [];
    const { content, source, [MARK_FIELD]: mark } = block;
    const inside = [...listedMarks(content), ...listedMarks(asObject(source).content)];
    return isObject(mark) ? [...inside, JSON.stringify(mark)] : inside;
  });
}

/** A message of the caller's or of ours behind which a mark may stand. */
interface MarkPlace {
  readonly at: number;
  readonly entry?: OurEntry;
}

/** Where the marks of messages that leave move to. */
function movedMarks(
  { messages }: MarkedBody,
  { entries, leaves }: Layout,
  marks: ReadonlyMap<number, readonly string[]>,
): WrittenMarks {
  const onMessages = new Map<number, string>();
  const onOurs = new Map<OurEntry, string>();
  // Entries stand in the order of the messages that they are or stand for.
  const places = entries.flatMap((entry): MarkPlace[] => {
    if (entry.kind === 'own') return entry.messages.map((at) => ({ at }));
    return entry.stands ? [{ at: entry.at, entry }] : [];
  });
  for (const [index, found] of marks) {
    if (!leaves(index)) continue;
    const place = places.findLast(({ at }) => at <= index);
    if (!place) continue;
    const mark = found.findLast(isLongLived) ?? found.at(-1) ?? '';
    const { entry, at } = place;
    const known = entry ? onOurs.get(entry) : onMessages.get(at);
    const longer = known !== undefined && isLongLived(known) ? known : mark;
    if (entry) onOurs.set(entry, longer);
    else {
      const message = messages[at];
      if (message instanceof ElementMessage && bearsMark(message)) onMessages.set(at, longer);
    }
  }
  return { messages: onMessages, ours: onOurs };
}

function bearsMark(message: ElementMessage): boolean {
  if (message.role === 'preamble') return false;
  return message.blocks ? (message.blocks.at(-1)?.bearsMark ?? false) : message.bearsMark(false);
}

/** Messages of ours with a mark behind the last one. */
export function withMark(json: string, mark: string): string {
  const messages = JSON.parse(`[${json}]`) as { role: string; content: unknown }[];
  return messages
    .map(({ role, content }, index) => {
      if (index < messages.length - 1 || typeof content !== 'string')
        return JSON.stringify({ role, content });
      const block = { type: 'text', text: content, [MARK_FIELD]: JSON.parse(mark) as unknown };
      return JSON.stringify({ role, content: [block] });
    })
    .join(',');
}

/** The mark behind an object at its end: the last tool, or the last entry of `system`. */
export function takesMark(bytes: Uint8Array, last: JsonSpan | undefined): last is JsonSpan {
  if (last?.kind !== 'object') return false;
  const { fields = [] } = within(bytes, last, levels(1));
  return !fields.some(
    ({ key, value }) => key === MARK_FIELD || (key === 'defer_loading' && textOf(bytes, value) === 'true'),
  );
}
