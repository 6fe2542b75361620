/** The edits of a view in the caller's items. */
import type { Removal } from '../../memory/edits/removal.ts';
import { recapSplice, replacedBySummary, summaryMessages } from '../chat/summary.ts';
import {
  type EditedView,
  markSplices,
  OPENAI_MARKS,
  openingOf,
  openingSplice,
  outputSplice,
  partSplices,
  roundsSplice,
} from '../edits.ts';
import { cutMembers, jsonOf, type Splice } from '../json/spans.ts';
import type { WireMessage } from '../model-request.ts';
import { roundsWithoutThinking } from '../thinking.ts';
import { type Item, PARTS } from './item.ts';
import { ItemGroup } from './message.ts';
import { withoutThinking } from './past-reasoning.ts';
import { repeatedItems } from './repeated-items.ts';

const TEXT = 'input_text';

/**
 * The splices that make the view of a body's items.
 *
 * @param marks the messages that get a mark of the prompt cache
 */
export function viewSplices(
  bytes: Uint8Array,
  messages: readonly WireMessage[],
  view: EditedView,
  marks: readonly number[],
  from = 0,
): Splice[] {
  const thinkingFrom = Math.max(from, view.thinkingFrom ?? 0);
  const { dropped, summary, recap } = view;
  const replaced = replacedBySummary(view);
  const items = messages.flatMap((message, index) =>
    message instanceof ItemGroup ? message.items.map((item, at) => ({ item, index, at })) : [],
  );
  const recapped = recap && items.findLast(({ index }) => index === recap.after)?.item.span;
  const repeated = repeatedOf(bytes, messages, view);
  const isLeft = (item: Item, index: number): boolean =>
    repeated.has(item) ||
    (item.type === 'reasoning' && isCleared(view, messages[index], index, thinkingFrom));
  const cuts = cutMembers(
    items.map(({ item }) => item.span),
    (place) => {
      const { item, index = -1, at } = items[place] ?? {};
      // What replaces a message, or is before it, replaces its first item.
      if (at === 0 && (index === replaced || (view.rounds?.has(index) && !dropped.has(index)))) return false;
      return dropped.has(index) || (item !== undefined && isLeft(item, index));
    },
  );
  const unbound = withoutTheirIds(messages, view, thinkingFrom);
  // A cut at the end of the array may begin where the recap is put.
  const splices = recap && recapped ? [recapSplice(recap, recapped.end, {}), ...cuts] : cuts;
  for (const [index, message] of messages.entries()) {
    if (!(message instanceof ItemGroup)) continue;
    const [first] = message.items;
    if (summary && index === replaced && first)
      splices.push({ start: first.span.start, end: first.span.end, with: summaryMessages(summary, {}) });
    if (dropped.has(index)) continue;
    const rounds = view.rounds?.get(index);
    if (rounds && first) {
      const json =
        index < thinkingFrom
          ? roundsWithoutThinking(rounds.json, 'input', message.dropsThinking)
          : rounds.json;
      const { start, end } = first.span;
      splices.push(isLeft(first, index) ? { start, end, with: json } : roundsSplice(first.span, json));
    }
    const edits = editSplices(bytes, view, message, index, marks.includes(index));
    if (unbound.has(index)) edits.push(...message.items.flatMap((item) => withoutThinking(bytes, item)));
    const lost = message.items.filter((item) => repeated.has(item)).map(({ span }) => span);
    splices.push(
      ...edits.filter((edit) => !lost.some(({ start, end }) => edit.start >= start && edit.end <= end)),
    );
  }
  return splices;
}

/** The items that rounds before their answer have, too. */
function repeatedOf(
  bytes: Uint8Array,
  messages: readonly WireMessage[],
  { rounds = new Map(), dropped }: EditedView,
): ReadonlySet<Item> {
  const found = new Set<Item>();
  for (const [index, { json }] of rounds) {
    if (dropped.has(index)) continue;
    const end = messages.findIndex(({ role }, at) => at > index && (role !== 'assistant' || dropped.has(at)));
    const answer = messages.slice(index, end < 0 ? messages.length : end);
    const items = answer.flatMap((message) => (message instanceof ItemGroup ? message.items : []));
    const decoded = items.map(({ span }) => jsonOf(bytes, span));
    const repeated = repeatedItems(decoded, json);
    for (const [at, item] of items.entries()) if (repeated.has(at)) found.add(item);
  }
  return found;
}

/**
 * The messages whose items lose what ties them to reasoning that is cleared: those that it led to,
 * and those that continue them without reasoning of their own.
 */
function withoutTheirIds(
  messages: readonly WireMessage[],
  view: EditedView,
  thinkingFrom: number,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (const [index, message] of messages.entries()) {
    const goesOn = message.continues && found.has(index - 1);
    if (message.role === 'assistant' && (isCleared(view, message, index, thinkingFrom) || goesOn))
      found.add(index);
  }
  return new Set([...found].filter((index) => !view.dropped.has(index)));
}

function isCleared(
  view: EditedView,
  message: WireMessage | undefined,
  index: number,
  thinkingFrom: number,
): boolean {
  if (message instanceof ItemGroup && message.keepsThinking) return false;
  if (index < thinkingFrom) return true;
  return view.removals.get(index)?.some(({ kind }) => kind === 'reasoning') ?? false;
}

function editSplices(
  bytes: Uint8Array,
  view: EditedView,
  message: ItemGroup,
  index: number,
  isMarked: boolean,
): Splice[] {
  const opened = openingOf(view, index);
  const { spoken } = message;
  const removals = view.removals.get(index) ?? [];
  const parts = removals.filter(({ kind }) => kind === 'part');
  const [hosted, asked] = removals.length === 0 ? [] : [message.hostedItems, message.askedItems];
  return [
    ...(opened && spoken ? [openingSplice(bytes, spoken, opened.text, opened.taken, TEXT)] : []),
    ...removals.flatMap((removal) => {
      if (removal.kind === 'hosted') return hostedSplices(hosted?.[removal.call], removal);
      if (removal.kind === 'output')
        return spoken?.hosted
          ? hostedSplices(spoken, removal)
          : [outputSplice(bytes, spoken?.contentSpan(), removal, PARTS, isMarked ? OPENAI_MARKS : undefined)];
      return removal.kind === 'input' ? [clearedInput(asked?.[removal.call], removal)] : [];
    }),
    ...partSplices(bytes, spoken?.contentSpan(), parts, TEXT),
    ...(isMarked && removals.length === 0 ? markSplices(bytes, spoken?.contentSpan(), TEXT) : []),
  ];
}

function hostedSplices(item: Item | undefined, { message, replacement }: Removal): Splice[] {
  if (!item?.hosted) throw new Error(`message ${message} has no such output to remove`);
  return item.hosted.splices(replacement);
}

function clearedInput(item: Item | undefined, removal: Removal): Splice {
  const splice = item?.askedSplice(removal);
  if (!splice)
    throw new Error(`call ${removal.call} of message ${removal.message} has no arguments to clear`);
  return splice;
}
