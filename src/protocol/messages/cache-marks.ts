/**
 * Marks of the prompt cache (https://platform.claude.com/docs/en/build-with-claude/prompt-caching):
 * four at most, one with a longer lifetime never after one with a shorter.
 *
 * The caller's stay where their blocks stay. One whose block leaves moves to what replaces the
 * block: Precis's text there, or else the last message before it that can bear a mark. Precis's are
 * added while fewer than four are set: after the last message and the places of the view, and,
 * where the caller sets none, after tools and a `system` that are long enough for the model's
 * cache.
 */
import { asObject, isObject } from '../../lib/json.ts';
import { leastCachedPrompt } from '../../memory/models/prompt-caches.ts';
import { marksIn } from '../edits.ts';
import { type JsonSpan, levels } from '../json/outline.ts';
import { bytesOf, fieldOf, jsonOf, textOf, within } from '../json/spans.ts';
import { isTooShort, movingPlaces } from '../moving-marks.ts';
import { isBlankString, MARK_FIELD, MESSAGES_MARKS } from './block.ts';
import { markedBlock } from './compaction.ts';
import type { Layout, OurEntry } from './layout.ts';
import { ElementMessage } from './message.ts';

/** The most bytes that a token of tools and instructions has on the average. */
const BYTES_PER_TOKEN = 4;

/** The marks to write, each as its JSON. */
export interface WrittenMarks {
  /** By the message that they follow. */
  readonly messages: ReadonlyMap<number, string>;
  /** By Precis's entry that gets one. */
  readonly ours: ReadonlyMap<OurEntry, string>;
  /** After the last tool, and the last entry of `system`. */
  readonly tools?: string | undefined;
  readonly system?: string | undefined;
}

const NO_MARKS: WrittenMarks = { messages: new Map(), ours: new Map() };

interface MarkedBody {
  readonly bytes: Uint8Array;
  readonly root: JsonSpan;
  readonly messages: readonly { readonly role: string; readonly parts: number }[];
  readonly model: string | undefined;
  /** See `ModelRequest`. */
  readonly marks: number;
}

/** The marks to add to a view. */
interface MarkOrder {
  /** The messages after which Precis's marks may be, ascending. */
  readonly places: readonly number[];
  /** See `Additions`. */
  readonly movesMark: boolean;
  readonly losesMarks: boolean;
}

/** The marks of a view beside those that stay where they are. */
export function marksFor(
  body: MarkedBody,
  layout: Layout,
  { places, movesMark, losesMarks }: MarkOrder,
): WrittenMarks {
  const moves = movesMark && !isTooShort(body.bytes.length, leastCachedPrompt(body.model));
  const hasLeft = layout.left.size > 0 && !losesMarks;
  const adds = moves || places.length > 0;
  if (!adds && !(hasLeft && body.marks > 0)) return NO_MARKS;
  const callers = body.marks > 0 ? callersMarks(body) : new Map<number, string[]>();
  const moved = hasLeft ? movedMarks(body, layout, callers) : NO_MARKS;
  if (!adds) return moved;
  const kept = [...callers].filter(([index]) => !layout.left.has(index));
  const standing = [
    ...(body.marks > 0 ? marksAround(body) : []),
    ...kept.flatMap(([at, marks]) => marks.map((json) => ({ at, json }))),
    ...[...moved.messages].map(([at, json]) => ({ at, json })),
    ...[...moved.ours].map(([{ at }, json]) => ({ at, json })),
  ];
  const moving = moves ? movingMarks(body, layout) : [];
  return withOurs(body, layout, { places, moving }, moved, standing);
}

/** A mark after a message, or around all of them. */
interface SetMark {
  readonly at: number;
  readonly json: string;
}

function withOurs(
  { bytes, root, messages, model }: MarkedBody,
  { left }: Layout,
  { places, moving }: { readonly places: readonly number[]; readonly moving: readonly number[] },
  moved: WrittenMarks,
  standing: readonly SetMark[],
): WrittenMarks {
  const [tools, system] = ['tools', 'system'].map((key) => fieldOf(root, key));
  const isFree = standing.length === 0;
  const ofHead = marksOfHead(model, bytesOf(tools ? [tools] : []), bytesOf(system ? [system] : []));
  const marksSystem = isFree && ofHead.system && systemTakesMark(bytes, system);
  const marksTools = isFree && ofHead.tools;
  const room = MESSAGES_MARKS.most - standing.length - Number(marksSystem) - Number(marksTools);
  const settled = places.filter(
    (at) => messages[at] instanceof ElementMessage && !left.has(at) && !moving.includes(at),
  );
  // Those that move along come first, since each request reads what they have left.
  const added = [...settled, ...moving]
    .filter((at) => !standing.some((mark) => mark.at === at))
    .slice(-Math.max(room, 0))
    .map((at) => [at, markOf(standing.some((mark) => mark.at > at && isLongLived(mark.json)))] as const);
  return {
    ...moved,
    messages: new Map([...moved.messages, ...(room > 0 ? added : [])]),
    ...(marksSystem ? { system: markOf(false) } : {}),
    ...(marksTools ? { tools: markOf(false) } : {}),
  };
}

/**
 * Whether tools and instructions are long enough to get marks of Precis's, where their caller sets
 * none.
 *
 * @param tools and `system` in bytes
 */
export function marksOfHead(
  model: string | undefined,
  tools: number,
  system: number,
): { readonly tools: boolean; readonly system: boolean } {
  const least = leastCachedPrompt(model) * BYTES_PER_TOKEN;
  return { tools: tools >= least, system: tools + system >= least };
}

/** The messages after which Precis's marks move along. */
function movingMarks({ messages }: MarkedBody, { left }: Layout): readonly number[] {
  const bears = (message: object, index: number): boolean =>
    message instanceof ElementMessage && !left.has(index) && message.role !== 'assistant' && canBear(message);
  return movingPlaces({ messages, bears, endsUnmarked: false });
}

function systemTakesMark(bytes: Uint8Array, system: JsonSpan | undefined): boolean {
  return system?.kind === 'array' || (system?.kind === 'string' && !isBlankString(bytes, system));
}

function markOf(isLong: boolean): string {
  return JSON.stringify({ type: 'ephemeral', ...(isLong ? { ttl: '1h' } : {}) });
}

function isLongLived(mark: string): boolean {
  return asObject(JSON.parse(mark)).ttl === '1h';
}

/** See `ModelRequest`. */
export function markedUntil(body: MarkedBody): number | undefined {
  if (body.marks === 0) return undefined;
  const last = Math.max(-1, ...callersMarks(body).keys());
  const around = marksAround(body);
  if (around.some(({ at }) => at === Infinity)) return body.messages.length - 1;
  if (last >= 0 || around.length === 0) return last >= 0 ? last : undefined;
  // Its entries are the first messages.
  const system = fieldOf(body.root, 'system')?.items ?? [];
  return system.findLastIndex((entry) => hasMarks(body.bytes, entry));
}

/** The caller's marks after messages. */
function callersMarks({ messages }: MarkedBody): ReadonlyMap<number, string[]> {
  return new Map(
    messages.flatMap((message, index) => {
      const found = message instanceof ElementMessage ? marksAfter(message) : [];
      return found.length > 0 ? [[index, found] as const] : [];
    }),
  );
}

/** Those in tools and `system`, and the automatic one after the last block. */
function marksAround({ bytes, root }: MarkedBody): SetMark[] {
  const lists = ['tools', 'system'].map((key) => fieldOf(root, key));
  const entries = lists.flatMap((list) => (list?.kind === 'array' ? (list.items ?? []) : []));
  const before = entries.flatMap((entry) =>
    hasMarks(bytes, entry) ? listedMarks([jsonOf(bytes, entry)]) : [],
  );
  const automatic = fieldOf(root, MARK_FIELD);
  return [
    ...before.map((json) => ({ at: -1, json })),
    ...(automatic?.kind === 'object' ? [{ at: Infinity, json: textOf(bytes, automatic) }] : []),
  ];
}

function hasMarks(bytes: Uint8Array, { start, end }: JsonSpan): boolean {
  return marksIn(bytes.subarray(start, end), 1, MARK_FIELD) > 0;
}

/** Blocks are read only where there is one, since most of a known array are not. */
function marksAfter(message: ElementMessage): string[] {
  return message.element.marks === 0 ? [] : listedMarks((message.blocks ?? []).map((block) => block.value()));
}

/** Marks of blocks, and of the blocks inside them. */
function listedMarks(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((block) => {
    if (!isObject(block)) return [];
    const { content, source, [MARK_FIELD]: mark } = block;
    const inside = [...listedMarks(content), ...listedMarks(asObject(source).content)];
    return isObject(mark) ? [...inside, JSON.stringify(mark)] : inside;
  });
}

/** A message of the caller's or of Precis's after which a mark may be. */
interface MarkPlace {
  readonly at: number;
  readonly entry?: OurEntry;
}

/** Where the marks of messages that leave move to. */
function movedMarks(
  { messages }: MarkedBody,
  { entries, left, opened }: Layout,
  marks: ReadonlyMap<number, readonly string[]>,
): WrittenMarks {
  const onMessages = new Map<number, string>();
  const onOurs = new Map<OurEntry, string>();
  // Entries are in the order of the messages that they are or replace.
  const places = entries.flatMap((entry): MarkPlace[] => {
    if (entry.kind === 'own') return entry.messages.map((at) => ({ at }));
    return entry.replaces ? [{ at: entry.at, entry }] : [];
  });
  const isFree = ({ at }: MarkPlace): boolean => {
    const message = messages[at];
    return message instanceof ElementMessage && canBear(message);
  };
  // A place with a mark of the caller's needs no other one.
  const mayTake = (place: MarkPlace): boolean =>
    place.entry !== undefined || marks.has(place.at) || isFree(place);
  /**
   * Where nothing is before a summary that opens a message: the first place after it, up to that
   * message. So marks keep their order.
   */
  const openedAfter = (index: number): MarkPlace | undefined => {
    if (opened === undefined || opened <= index) return undefined;
    const hasOther = [...marks.keys()].some((at) => at > index && at <= opened && !left.has(at));
    const isBetween = ({ at }: MarkPlace): boolean => at > index && at <= opened;
    return hasOther ? undefined : places.find((place) => isBetween(place) && mayTake(place));
  };
  for (const [index, found] of marks) {
    if (!left.has(index)) continue;
    const before = places.findLast((place) => place.at <= index && mayTake(place));
    const place = before ?? openedAfter(index);
    if (!place) continue;
    const mark = found.findLast(isLongLived) ?? found.at(-1) ?? '';
    const { entry, at } = place;
    const known = entry ? onOurs.get(entry) : onMessages.get(at);
    const longer = known !== undefined && isLongLived(known) ? known : mark;
    if (entry) onOurs.set(entry, longer);
    else if (isFree({ at })) onMessages.set(at, longer);
  }
  return { messages: onMessages, ours: onOurs };
}

function canBear(message: ElementMessage): boolean {
  return message.role !== 'preamble' && message.bearsMark(false);
}

/** Precis's messages with a mark after the last one. The API's own summary keeps its bytes. */
export function withMark({ json, isSigned = false }: OurEntry, mark: string): string {
  if (isSigned) return markedBlock(json, mark);
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

/** The mark after an object at its end: the last tool, or the last entry of `system`. */
export function takesMark(bytes: Uint8Array, last: JsonSpan | undefined): last is JsonSpan {
  if (last?.kind !== 'object') return false;
  const { fields = [] } = within(bytes, last, levels(1));
  return !fields.some(
    ({ key, value }) => key === MARK_FIELD || (key === 'defer_loading' && textOf(bytes, value) === 'true'),
  );
}
