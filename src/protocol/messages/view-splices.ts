/** The edits of a view in the caller's messages. */
import { asObject, asObjects, asString } from '../../lib/json.ts';
import { type EditedView, openingOf } from '../edits.ts';
import { cutMembers, type Splice, splice } from '../json/spans.ts';
import { firstOwn, type Piece, readRounds } from '../repeated.ts';
import { isBlank, waitsForCaller } from './answer-blocks.ts';
import type { Block } from './block.ts';
import { type WrittenMarks, withMark } from './cache-marks.ts';
import type { Element } from './element.ts';
import type { Entry, Layout, OwnEntry } from './layout.ts';
import { ElementMessage } from './message.ts';
import { editSplices } from './splices.ts';

interface WrittenView {
  readonly messages: readonly object[];
  readonly elements: readonly Element[];
  readonly view: EditedView;
  readonly layout: Layout;
  readonly marks: WrittenMarks;
}

export function viewSplices(written: WrittenView): Splice[] {
  const splices = gapSplices(written);
  for (const entry of written.layout.entries) {
    if (entry.kind !== 'own' || entry.isPiece) continue;
    splices.push(...blockCuts(entry, written));
    for (const index of entry.messages) splices.push(...editsOf(index, written));
  }
  return splices;
}

/** What is cut and put between the elements that stay. */
function gapSplices(written: WrittenView): Splice[] {
  const { elements, layout } = written;
  const splices: Splice[] = [];
  const start = elements[0]?.span.start ?? 0;
  const end = elements.at(-1)?.span.end ?? 0;
  let before: number | undefined;
  let ours: string[] = [];
  const close = (next: number | undefined): void => {
    const from = before === undefined ? start : (elements[before]?.span.end ?? start);
    const to = next === undefined ? end : (elements[next]?.span.start ?? end);
    const isNext = before !== undefined && next === before + 1;
    const json = ours.join(',');
    ours = [];
    if (isNext && json === '') return;
    const head = before !== undefined && (json !== '' || next !== undefined) ? ',' : '';
    const tail = json !== '' && next !== undefined ? ',' : '';
    if (from < to || json !== '') splices.push({ start: from, end: to, with: `${head}${json}${tail}` });
  };
  for (const entry of layout.entries) {
    if (entry.kind === 'own' && !entry.isPiece) {
      close(entry.place);
      before = entry.place;
    } else ours.push(jsonOf(entry, written));
  }
  close(undefined);
  return splices;
}

function jsonOf(entry: Entry, written: WrittenView): string {
  if (entry.kind === 'own') return pieceJson(entry, written);
  const mark = written.marks.ours.get(entry);
  return mark === undefined ? entry.json : withMark(entry, mark);
}

/** Some messages of an element as a message of their own. */
function pieceJson(entry: OwnEntry, written: WrittenView): string {
  const element = written.elements[entry.place];
  const blocks = entry.messages.flatMap((index) => keptBlocks(index, written));
  const [first, last] = [blocks[0], blocks.at(-1)];
  const kept = new Set(blocks);
  if (!element || !first || !last) throw new Error('a message without blocks was divided');
  const range = { start: first.span.start, end: last.span.end };
  const inside = (element.blocks ?? []).filter(
    ({ span }) => span.start >= range.start && span.end <= range.end,
  );
  const cuts = cutMembers(
    inside.map(({ span }) => span),
    (at) => !kept.has(inside[at] as Block),
  );
  const edits = entry.messages.flatMap((index) => editsOf(index, written));
  const json = new TextDecoder().decode(splice(element.body, range, [...cuts, ...edits]));
  return `{"role":${JSON.stringify(element.role)},"content":[${json}]}`;
}

/** Cuts the blocks of an element that do not stay. Most elements of a view keep all of them. */
function blockCuts({ place, messages }: OwnEntry, written: WrittenView): Splice[] {
  const element = written.elements[place];
  const isWhole = messages.length === element?.messages;
  if (!element || (isWhole && !messages.some((index) => mayLoseBlocks(index, written)))) return [];
  const { blocks = [] } = element;
  const kept = new Set(messages.flatMap((index) => keptBlocks(index, written)));
  if (kept.size === 0 || kept.size === blocks.length) return [];
  return cutMembers(
    blocks.map(({ span }) => span),
    (at) => !kept.has(blocks[at] as Block),
  );
}

function mayLoseBlocks(index: number, { view, layout }: WrittenView): boolean {
  return view.rounds?.has(index) === true || layout.isCleared(index);
}

/**
 * The blocks of a message that stay: neither the blocks of its rounds, nor thinking that is
 * cleared. Where none would be left, what it says is added again.
 */
function keptBlocks(index: number, { view, layout, ...written }: WrittenView): readonly Block[] {
  const message = messageAt(written, index);
  const { blocks = [] } = message;
  const rounds = view.rounds?.get(index)?.json;
  const own = rounds === undefined ? blocks : ownBlocks(blocks, rounds);
  const clears = message.thinkingBlocks.length > 0 && layout.isCleared(index);
  if (!clears) return own;
  const [last, all] = [own, blocks].map((some) => some.filter(({ isThinking }) => !isThinking));
  return (last?.length ? last : all) ?? [];
}

function editsOf(index: number, written: WrittenView): Splice[] {
  const { view, marks } = written;
  const opened = openingOf(view, index);
  const removals = view.removals.get(index) ?? [];
  const mark = marks.messages.get(index);
  // Most messages of a view are the caller's own.
  if (!opened && removals.length === 0 && mark === undefined) return [];
  return editSplices(messageAt(written, index), { removals, opened, mark });
}

function messageAt({ messages }: Pick<WrittenView, 'messages'>, index: number): ElementMessage {
  const message = messages[index];
  if (!(message instanceof ElementMessage)) throw new Error('an entry of system was to be edited');
  return message;
}

/** What nothing else has, by the first of these members that a block has. */
const IDS = ['signature', 'data', 'id', 'tool_use_id'] as const;

/**
 * The blocks that the last answer had. All of them, if it had none: a message is never empty.
 *
 * @param rounds see `ShownRounds`
 */
function ownBlocks(blocks: readonly Block[], rounds: string): readonly Block[] {
  const pieces = blocks.map((block) => pieceOf(block.type, (key) => block.string(key)));
  const first = firstOwn(pieces, piecesIn(rounds));
  return first === blocks.length ? blocks : blocks.slice(first);
}

/** All blocks of rounds that callers have seen, and some that they have not. */
function piecesIn(rounds: string): readonly Piece[] {
  return readRounds(rounds)
    .map(asObject)
    .flatMap(({ role, content }) => (role === 'assistant' ? asObjects(content) : []))
    .filter((block) => !waitsForCaller(block))
    .map((block) => pieceOf(asString(block.type), (key) => block[key]));
}

function pieceOf(type: string, member: (key: string) => unknown): Piece {
  const filled = (key: string): string | undefined => asString(member(key)) || undefined;
  const id = IDS.map(filled).find((value) => value !== undefined);
  const text = filled('text');
  // Upstreams refuse blank texts, so no round has one.
  const words = isBlank({ type, text }) ? undefined : text;
  return { id: id && `${type} ${id}`, words: words && `${type} ${words}` };
}
