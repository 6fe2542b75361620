/**
 * Which messages of the caller's are in a view, in which order, and where Precis's messages are
 * among them.
 *
 * A note of the system with an end (`clear_at`) is not shown to the model once a user message
 * follows it. So one that is over stays where it is, with a user message after it, or leaves: in
 * any other place it would speak again.
 *
 * A user message of which only parts stay keeps these. Where one of Precis's messages is between
 * two of them, it becomes two. A message of the system must follow a user message, and an answer
 * must follow it, so one that has lost its place follows the next user message.
 *
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
import { asObject, type JsonObject } from '../../lib/json.ts';
import { CONTINUE_LINE } from '../../memory/conversation/session-summary.ts';
import { leaving } from '../chat/shown-answers.ts';
import { recapMessages, replacedBySummary, summaryMessages } from '../chat/summary.ts';
import type { EditedView } from '../edits.ts';
import { levels } from '../json/outline.ts';
import { cutMembers, fieldOf, jsonOf, splice, within } from '../json/spans.ts';
import { roundsWithoutThinking } from '../thinking.ts';
import { type Block, MARK_FIELD } from './block.ts';
import { messageJson } from './calls.ts';
import type { Element } from './element.ts';
import { ElementMessage } from './message.ts';

/** Messages that stay, of one element of the caller's. */
export interface OwnEntry {
  readonly kind: 'own';
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly place: number;
  /** Their indices. */
  readonly messages: readonly number[];
  /** Whether other messages of the element are apart from these. */
  readonly isPiece: boolean;
}

/** Precis's messages. */
export interface OurEntry {
  readonly kind: 'ours';
  /** Roles of the first and the last of them. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  /** JSON, separated by commas. */
  readonly json: string;
  /** Whether they replace messages that left. */
  readonly replaces: boolean;
  /** Whether they are the API's own summary. */
  readonly isSigned?: boolean;
  /** Whether they are rounds that led to an answer. */
  readonly isRound?: boolean;
  /** The message before or after which they are. */
  readonly at: number;
}

export type Entry = OwnEntry | OurEntry;

export interface Layout {
  readonly entries: readonly Entry[];
  /** The message that opens with a summary of those before it. */
  readonly opened: number | undefined;
  /** The messages that are not in the view. */
  readonly left: ReadonlySet<number>;
  /** Whether a message has lost its thinking. */
  isCleared(index: number): boolean;
}

/**
 * @param injected Precis's messages of the role `user`, as JSON; empty without any
 * @param threshold see `lastThreshold`
 */
export function layoutOf(
  messages: readonly (ElementMessage | { readonly role: 'preamble' })[],
  elements: readonly Element[],
  view: EditedView,
  thinkingFrom: number,
  injected: string,
  threshold?: number,
): Layout {
  const { removals, summary, recap, rounds } = view;
  const replaced = replacedBySummary(view);
  const own = (index: number): ElementMessage | undefined => {
    const message = messages[index];
    return message instanceof ElementMessage ? message : undefined;
  };
  const left = leaving(messages, view, thinkingFrom);
  const isCleared = (index: number): boolean =>
    (index < thinkingFrom && messages[index]?.role === 'assistant') ||
    (removals.get(index)?.some(({ kind }) => kind === 'reasoning') ?? false);
  const first = messages.findIndex(({ role }) => role !== 'preamble');

  const entries: Entry[] = [];
  /** The last entry, and its messages so far: thousands of results may be in one element. */
  let open: { readonly entry: OwnEntry; readonly indices: number[] } | undefined;
  let isPieced = false;
  for (const [index] of messages.entries()) {
    const message = own(index);
    if (!message) continue;
    const { place } = message;
    if (index === first && injected !== '') entries.push(ours(index, injected, ['user', 'user'], BESIDE));
    if (summary && index === replaced)
      entries.push(
        ours(index, summaryMessages(summary, {}), ['user', summary.form === 'pair' ? 'assistant' : 'user']),
      );
    const shown = left.has(index) ? undefined : rounds?.get(index);
    if (shown) {
      const json = index < thinkingFrom ? roundsWithoutThinking(shown.json, 'messages') : shown.json;
      entries.push(ours(index, json, ['assistant', 'user'], { ...BESIDE, isRound: true }));
    }
    if (!left.has(index)) {
      const { role } = message.element;
      if (open && open.entry === entries.at(-1) && open.entry.place === place) open.indices.push(index);
      else {
        isPieced ||= open?.entry.place === place;
        const indices = [index];
        const entry = {
          kind: 'own',
          first: role,
          last: role,
          place,
          messages: indices,
          isPiece: false,
        } as const;
        open = { entry, indices };
        entries.push(entry);
      }
    }
    if (recap?.after === index)
      entries.push(ours(index, recapMessages(recap, {}), ['assistant', recap.goesOn ? 'user' : 'assistant']));
  }
  // The API's own summary may be all that there is.
  if (first < 0 && injected !== '') entries.push(ours(messages.length, injected, ['user', 'user'], BESIDE));
  const signed = openingFirst(entries, elements, summary?.signed, Math.max(first, 0));
  const placed = entriesAfter(signed, threshold, summary?.covers[1]);
  const pieced = isPieced || placed !== signed ? withPieces(placed) : placed;
  const isSame = pieced.length === elements.length && pieced.every(({ kind }) => kind === 'own');
  return {
    entries: isSame ? pieced : withSystemInPlace(pieced, elements),
    opened: summary?.request?.message,
    left,
    isCleared,
  };
}

/** Of Precis's messages that replace none. */
const BESIDE = { replaces: false };

/** Precis's messages. @param roles of the first and the last of them */
function ours(
  at: number,
  json: string,
  [first, last]: readonly [string, string],
  more: Partial<OurEntry> = {},
): OurEntry {
  return { kind: 'ours', at, json, first, last, replaces: true, ...more };
}

/**
 * A user must speak first, and an answer may stay without its request: one that a later result
 * belongs to, or that has loaded a tool.
 */
function askedFirst(entries: readonly Entry[], elements: readonly Element[]): readonly Entry[] {
  const first = entries.find((entry) => entry.first !== 'system');
  if (first?.kind !== 'own' || first.first !== 'assistant' || first.place === 0) return entries;
  if (elements[first.place]?.blocks?.[0]?.type === 'compaction') return entries;
  const json = JSON.stringify({ role: 'user', content: CONTINUE_LINE });
  const at = first.messages[0] ?? 0;
  return [ours(at, json, ['user', 'user'], BESIDE), ...entries];
}

/** A summary that the API has signed is before all other messages, or it is refused. */
function openingFirst(
  entries: readonly Entry[],
  elements: readonly Element[],
  signed: string | undefined,
  at: number,
): readonly Entry[] {
  if (signed === undefined) return askedFirst(entries, elements);
  return [ours(at, messageJson([signed]), ['assistant', 'assistant'], { isSigned: true }), ...entries];
}

/**
 * Precis's messages after a summary of the API that leaves out all before it, and before the calls
 * of its answer. Rounds stay, and so does a summary by Precis that has nothing to add.
 *
 * @param covered the last message that Precis's summary covers
 */
function entriesAfter(
  entries: readonly Entry[],
  at: number | undefined,
  covered = Number.POSITIVE_INFINITY,
): readonly Entry[] {
  if (at === undefined) return entries;
  const moves = ({ replaces, isRound = false }: OurEntry): boolean =>
    !isRound && (!replaces || covered >= at);
  const own = entries.findIndex((entry) => entry.kind === 'own' && entry.messages.includes(at));
  const isEarly = (entry: Entry, index: number): boolean =>
    index < own && entry.kind === 'ours' && moves(entry);
  const early = entries.filter(isEarly);
  if (early.length === 0) return entries;
  return entries.flatMap((entry, index) => {
    if (index !== own || entry.kind !== 'own') return isEarly(entry, index) ? [] : [entry];
    // The calls of the answer stay before their results.
    const [upTo, later] = [
      entry.messages.filter((one) => one <= at),
      entry.messages.filter((one) => one > at),
    ];
    const rest = later.length > 0 ? [{ ...entry, messages: later }] : [];
    return [{ ...entry, messages: upTo }, ...early, ...rest];
  });
}

/** Says which entries are pieces of an element. */
function withPieces(entries: readonly Entry[]): readonly Entry[] {
  const places = new Map<number, number>();
  for (const entry of entries)
    if (entry.kind === 'own') places.set(entry.place, (places.get(entry.place) ?? 0) + 1);
  return entries.map((entry) =>
    entry.kind === 'own' && (places.get(entry.place) ?? 0) > 1 ? { ...entry, isPiece: true } : entry,
  );
}

/** Puts messages of the system that have lost their place after the next user message. */
function withSystemInPlace(entries: readonly Entry[], elements: readonly Element[]): readonly Entry[] {
  if (!elements.some(isSystem)) return entries;
  const placed: Entry[] = [];
  let waiting: readonly OwnEntry[] = [];
  const isHeard = ({ place }: OwnEntry): boolean => {
    const element = elements[place];
    return element !== undefined && (saidIn(place, elements).length > 0 || setsAny(element));
  };
  for (let at = 0; at < entries.length; ) {
    const run = systemRun(entries, at, elements);
    const before = placed.at(-1);
    const next = entries[at + Math.max(run.length, 1)];
    const entry = entries[at];
    at += Math.max(run.length, 1);
    if (entry && run.length === 0) {
      placed.push(entry);
      if (!fitsBetween(entry, next)) continue;
      if (waiting.length > 0) placed.push(merged(waiting, elements));
      waiting = [];
    } else if (fitsBetween(before, next)) {
      const heard = [...waiting, ...run].filter(isHeard);
      const isKept = isUnchanged(waiting, run, elements) && staysOver(run, entries.slice(at), elements);
      if (isKept) placed.push(...run);
      else if (heard.length > 0) placed.push(merged(heard, elements));
      waiting = [];
    } else if (mayStay(run, before, elements)) placed.push(...run);
    else waiting = [...waiting, ...run.filter(isHeard)];
  }
  return waiting.length > 0 ? entries : placed;
}

/** Whether what is over among messages of the system stays so before these entries. */
function staysOver(run: readonly OwnEntry[], later: readonly Entry[], elements: readonly Element[]): boolean {
  const hasOver = run.some(({ place }) => isOver(place, elements));
  return !hasOver || later.some(({ first, last }) => first === 'user' || last === 'user');
}

/** Whether a message is a note whose time has ended. */
function isOver(place: number, elements: readonly Element[]): boolean {
  const element = elements[place];
  return (
    element !== undefined && clears(element) && elements.findLastIndex(({ role }) => role === 'user') > place
  );
}

/** Whether a message of the system is shown until the next user message only. */
function clears({ body, span, role }: Element): boolean {
  if (role !== 'system') return false;
  const end = fieldOf(within(body, span, levels(1)), CLEAR_AT);
  return end?.kind === 'string' && jsonOf(body, end) === NEXT_USER_MESSAGE;
}

const CLEAR_AT = 'clear_at';
const NEXT_USER_MESSAGE = 'next_user_message';

/** The consecutive messages of the system from an entry on. */
function systemRun(entries: readonly Entry[], from: number, elements: readonly Element[]): OwnEntry[] {
  const run: OwnEntry[] = [];
  for (let at = from; at < entries.length; at++) {
    const entry = entries[at];
    if (entry?.kind !== 'own' || !isSystem(elements[entry.place])) break;
    run.push(entry);
  }
  return run;
}

/**
 * Whether messages of the system stay although no answer may follow them here: those with settings
 * alone, which may be anywhere but first and beside words of the system
 * (https://platform.claude.com/docs/en/build-with-claude/effort-per-message), and those that had no
 * place before, which is for the upstream to refuse.
 */
function mayStay(run: readonly OwnEntry[], before: Entry | undefined, elements: readonly Element[]): boolean {
  if (!run.every(({ place }) => wasInPlace(place, elements))) return true;
  const isQuiet = run.every(({ place }) => !speaks(elements[place]));
  return isQuiet && before !== undefined && before.last !== 'system';
}

const isSystem = (element: Element | undefined): boolean => element?.role === 'system';

/** Whether an element is of the system and has words, not settings alone. */
function speaks(element: Element | undefined): boolean {
  return element !== undefined && isSystem(element) && (!element.content || blocksIn(element).length > 0);
}

/** Whether a message is where its kind may be. One that never did is not moved. */
function wasInPlace(place: number, elements: readonly Element[]): boolean {
  const [before, own, next] = [elements[place - 1], elements[place], elements[place + 1]];
  if (before?.role === 'user' && (!next || next.role === 'assistant')) return true;
  return before !== undefined && ![before, own, next].some(speaks);
}

function fitsBetween(before: Entry | undefined, next: Entry | undefined): boolean {
  return before?.last === 'user' && (!next || next.first === 'assistant');
}

/** Whether messages of the system that are in their place need no edit. */
function isUnchanged(
  waiting: readonly OwnEntry[],
  run: readonly OwnEntry[],
  elements: readonly Element[],
): boolean {
  if (waiting.length > 0) return false;
  return run.length === 1 || !run.some(({ place }) => speaks(elements[place]));
}

/**
 * Messages of the system as one, without marks: these would follow later ones. Of their settings
 * the last count.
 */
function merged(entries: readonly OwnEntry[], elements: readonly Element[]): OurEntry {
  const all = entries.flatMap(({ place }) => elements[place] ?? []);
  const blocks = entries.flatMap(({ place }) => saidIn(place, elements));
  const end = all.every(clears) ? `,"${CLEAR_AT}":"${NEXT_USER_MESSAGE}"` : '';
  const settings = Object.assign({}, ...all.map(settingsOf)) as JsonObject;
  const others = Object.keys(settings).length > 0 ? `,"output_config":${JSON.stringify(settings)}` : '';
  const json = `{"role":"system","content":[${blocks.join(',')}]${end}${others}}`;
  const at = entries.at(-1)?.messages[0] ?? 0;
  return ours(at, json, ['system', 'system'], BESIDE);
}

/** The blocks of a message of the system that the model is shown. Of one that is over, no texts. */
function saidIn(place: number, elements: readonly Element[]): string[] {
  const element = elements[place];
  if (!element) return [];
  if (!isOver(place, elements)) return blocksIn(element);
  const { body, blocks = [] } = element;
  return blocks.filter(({ type }) => type !== 'text').map((block) => withoutMark(body, block));
}

/** The blocks of a message of the system, without marks; empty if it has settings alone. */
function blocksIn({ body, blocks, content }: Element): string[] {
  if (blocks) return blocks.map((block) => withoutMark(body, block));
  const text = content && jsonOf(body, content);
  return text === undefined || text === '' ? [] : [JSON.stringify({ type: 'text', text })];
}

const setsAny = (element: Element): boolean => Object.keys(settingsOf(element)).length > 0;

function settingsOf({ body, span }: Element): JsonObject {
  const settings = fieldOf(within(body, span, levels(1)), 'output_config');
  return settings ? asObject(jsonOf(body, settings)) : {};
}

function withoutMark(body: Uint8Array, { span }: Block): string {
  const { fields = [] } = within(body, span, levels(1));
  const cuts = cutMembers(fields, (index) => fields[index]?.key === MARK_FIELD);
  return new TextDecoder().decode(splice(body, span, cuts));
}
