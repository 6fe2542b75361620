/**
 * Several streams of a model as the one that its caller sees
 * (https://platform.openai.com/docs/api-reference/responses-streaming).
 *
 * Events are passed on as they came, in their own bytes, until something is left out or added; from
 * then on their numbers are those of the whole. Held back are calls of ours, reasoning until it is
 * known what it leads to, and the events that open a response until the first item is shown: an
 * answer of nothing but our calls leaves no trace. A response has one id, that of its first event,
 * since clients refuse a second one. A caller for whom nothing comes is sent the opening, and later
 * `response.in_progress` again: clients count events, and no comments, as signs of life.
 */

import { asObject, asString, parseJson } from '../../lib/json.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import type { JoinedStreams } from '../answer-format.ts';
import { eventFrame } from '../sse.ts';
import type { ToolTurn } from '../tool-turn.ts';
import { RESPONSES_USAGE, UsageTally } from '../usage.ts';
import { type Fate, ItemSorter, turnOf } from './calls.ts';
import { isEncrypted, withoutEncrypted } from './reasoning.ts';
import { type Changes, changedEvent } from './splices.ts';

type Json = Record<string, unknown>;

interface StreamEvent {
  readonly type: string;
  readonly fields: Json;
  readonly data: string;
  readonly frame: Uint8Array;
}

/** An item of the answer that is coming. */
interface Place {
  /** Unknown where the upstream has not said how the item begins, until it says how it ends. */
  fate: Fate | 'unknown';
  /** As it began. */
  begun: Json;
  /** The index that the caller sees. */
  shown: number | undefined;
  /** As it ended; undefined as long as it has not. */
  item: Json | undefined;
  /** What is held back of it. */
  readonly held: StreamEvent[];
}

const IN_PROGRESS = 'response.in_progress';
/** Events that open a response. */
export const OPENS: ReadonlySet<string> = new Set(['response.created', 'response.queued', IN_PROGRESS]);
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Events of a call, whose name they may not tell. */
const OF_CALL = /^response\.(?:function_call_arguments|custom_tool_call_input)\./;
const ARGUMENTS_DONE = 'response.function_call_arguments.done';

/** Events of a text. Upstreams that name no item send them too, and a text is never a call. */
const OF_TEXT = /^response\.(?:output_text|content_part|refusal)\./;

export class ResponsesStreams implements JoinedStreams {
  isThrough = false;
  isUnstored: boolean | undefined;
  private readonly hidesReasoning: boolean;
  private readonly names: ReadonlySet<string>;
  private readonly mayAnswer: () => boolean;
  private sorter: ItemSorter;
  /** What opens the response, until something of it is shown. */
  private opening: StreamEvent[] = [];
  /** The last event that has opened the response for its caller. */
  private opened: StreamEvent | undefined;
  private isOpen = false;
  private isLater = false;
  /**
   * The items of the answer that is coming, as they have begun, and the last one under each index
   * that the upstream gives.
   */
  private places: Place[] = [];
  private placed = new Map<number, Place>();
  /** The id of the last answer, where the upstream has stored it. */
  private storedId: string | undefined;
  /** The items of all answers so far that the caller has seen whole. */
  private readonly shown: Json[] = [];
  private shownCount = 0;
  /** The number of the next event; the upstream's first one says where they begin. */
  private sequence: number | undefined;
  private readonly tally = new UsageTally(RESPONSES_USAGE);

  /** See `Joining`. */
  constructor(names: ReadonlySet<string>, mayAnswer: () => boolean, hidesReasoning = false) {
    this.hidesReasoning = hidesReasoning;
    this.names = names;
    this.mayAnswer = mayAnswer;
    this.sorter = new ItemSorter(names, mayAnswer);
  }

  get usage(): TokenUsage | undefined {
    return this.tally.total;
  }

  get turn(): ToolTurn | undefined {
    return this.isThrough ? turnOf(this.items(), this.sorter, this.isUnstored) : undefined;
  }

  get lastId(): string | undefined {
    return this.storedId === this.idOpened ? undefined : this.storedId;
  }

  private get idOpened(): unknown {
    return asObject(this.opened?.fields.response).id;
  }

  /** Only an event ends an answer. */
  end(): void {}

  keepalive(): Uint8Array[] {
    if (!this.isOpen) return this.opening.some(({ fields }) => fields.response) ? this.open() : [];
    const { opened, places } = this;
    // Clients take the response in the event for all that there is so far, and half an item can't
    // be told.
    const isWhole = places.every(({ fate, item }) => fate !== 'shown' || item);
    if (!opened || !isWhole || !Array.isArray(asObject(opened.fields.response).output)) return [];
    const changes = {
      type: IN_PROGRESS,
      sequence_number: this.nextNumber(opened.fields.sequence_number),
    };
    const output = [...this.shown, ...this.shownItems()];
    const data = changedEvent(opened.data, this.names, changes, { output });
    return data === undefined ? [] : [eventFrame(IN_PROGRESS, data)];
  }

  begin(): void {
    this.tally.begin();
    this.shown.push(...this.shownItems());
    this.isThrough = false;
    this.isLater = true;
    this.opening = [];
    this.places = [];
    this.placed = new Map();
    this.sorter = new ItemSorter(this.names, this.mayAnswer);
  }

  take(data: string, frame: Uint8Array): Uint8Array[] {
    const event = eventOf(data, frame);
    if (!event) return [frame];
    const { response } = event.fields;
    if (response) this.isUnstored = asObject(response).store === false;
    if (OPENS.has(event.type) && this.isLater && this.isOpen) return [];
    if (ENDS.has(event.type)) return this.last(event);
    if (this.isOfItem(event)) return this.ofItem(event, indexOf(event));
    // An error ends the stream: what opened it comes first. All else that belongs to no item waits
    // with what opens it.
    if (event.type === 'error') return [...this.open(), this.shownEvent(event)];
    if (OF_TEXT.test(event.type)) return [...this.open(), this.shownEvent(event)];
    if (this.isOpen) return [this.shownEvent(event)];
    this.opening.push(event);
    return [];
  }

  /**
   * Some upstreams, such as llama.cpp, number no items, and some name none: then the events of one
   * follow each other.
   */
  private isOfItem(event: StreamEvent): boolean {
    const { output_index, item, item_id } = event.fields;
    if (typeof output_index === 'number' || typeof item_id === 'string') return true;
    if ((typeof item === 'object' && item !== null) || OF_CALL.test(event.type)) return true;
    return event.type.startsWith('response.') && !OPENS.has(event.type) && this.places.length > 0;
  }

  private ofItem(event: StreamEvent, index: number | undefined): Uint8Array[] {
    const item = asObject(event.fields.item);
    const begins = event.type === 'response.output_item.added';
    const ends = event.type === 'response.output_item.done';
    const found = begins ? undefined : this.known(index, event.fields.item_id, item);
    const known = found && isNoCallFor(event, found) ? undefined : found;
    const place = known ?? (item.type === undefined ? this.unknown(event) : this.begun(item));
    if (ends) place.item = item;
    if (event.type === ARGUMENTS_DONE && !place.item)
      place.begun = { ...place.begun, arguments: event.fields.arguments };
    const before = known ? this.decide(place, item) : this.place(index, place);
    if (place.fate === 'hidden') return before;
    if (place.fate === 'shown') return [...before, this.shownEvent(event, place)];
    place.held.push(event);
    return before;
  }

  private begun(item: Json): Place {
    return { fate: this.sorter.next(item), begun: item, shown: undefined, item: undefined, held: [] };
  }

  /** Of an item whose beginning the upstream has not told. */
  private unknown({ type, fields }: StreamEvent): Place {
    const begun: Json = { id: fields.item_id };
    if (type.startsWith('response.reasoning')) return this.begun({ ...begun, type: 'reasoning' });
    if (!OF_CALL.test(type)) return this.begun(begun);
    const of = type.includes('custom_tool') ? 'custom_tool_call' : 'function_call';
    return { ...this.begun(begun), fate: 'unknown', begun: { ...begun, type: of } };
  }

  /** The fate of an item of which it is not known yet, once the item is. */
  private decide(place: Place, item: Json): Uint8Array[] {
    if (place.fate !== 'unknown' || item.type === undefined) return [];
    place.begun = item;
    place.fate = this.sorter.next(item);
    const held = place.fate === 'held' ? [] : place.held.splice(0);
    const frames = this.settle(place);
    if (place.fate === 'shown') frames.push(...held.map((event) => this.shownEvent(event, place)));
    return frames;
  }

  /**
   * Some upstreams give several items one index, others give one item several ids, and some give
   * neither: then the order tells.
   *
   * @param id in an event without an item
   * @param item in an event with one, else empty
   */
  private known(index: number | undefined, id: unknown, item: Json): Place | undefined {
    const itemId = id ?? item.id;
    const last = index === undefined ? undefined : this.placed.get(index);
    if (index !== undefined && (itemId === undefined || last?.begun.id === itemId)) return last;
    const named = this.named(itemId, item);
    if (named || index !== undefined) return named ?? last;
    if (item.type === undefined) return this.places.at(-1);
    return this.places.find(({ begun, item: ended }) => !ended && begun.type === item.type);
  }

  private named(id: unknown, item: Json): Place | undefined {
    const isItem = ({ id: known, call_id, type }: Json): boolean =>
      (id !== undefined && known === id) ||
      (item.call_id !== undefined && call_id === item.call_id && type === item.type);
    const named = this.places.find(({ begun, item: ended }) => isItem(begun) || (ended && isItem(ended)));
    // llama.cpp names calls that have no id of their own by their call's.
    return named ?? this.places.find(({ begun }) => id !== undefined && begun.call_id === id);
  }

  /**
   * The same for an item in the event that ends an answer.
   *
   * @param index of the item in the response
   */
  private knownInOutput(index: number, item: Json): Place | undefined {
    if (this.placed.size > 0) return this.known(index, undefined, item);
    const at = this.places[index];
    return this.named(item.id, item) ?? (at?.begun.type === item.type ? at : undefined);
  }

  /** An item begins: what was held before it is seen with it, or not at all. */
  private place(index: number | undefined, place: Place): Uint8Array[] {
    this.places.push(place);
    if (index !== undefined) this.placed.set(index, place);
    return this.settle(place);
  }

  /** What the fate of an item means for what was held before it. */
  private settle(place: Place): Uint8Array[] {
    const frames = place.fate === 'shown' ? this.release() : [];
    if (place.fate === 'hidden') this.drop();
    if (place.fate === 'shown') place.shown = this.shownCount++;
    return frames;
  }

  /** All that is held is shown. */
  private release(): Uint8Array[] {
    const frames = this.open();
    for (const place of this.places) {
      if (place.fate !== 'held') continue;
      place.fate = 'shown';
      place.shown = this.shownCount++;
      for (const event of place.held.splice(0)) frames.push(this.shownEvent(event, place));
    }
    return frames;
  }

  private drop(): void {
    for (const place of this.places) if (place.fate === 'held') place.fate = 'hidden';
  }

  private open(): Uint8Array[] {
    if (this.isOpen) return [];
    this.isOpen = true;
    this.opened = this.opening.findLast(({ fields }) => fields.response);
    return this.opening.splice(0).map((event) => this.shownEvent(event));
  }

  /** The event that ends an answer: the caller's stream, or a turn. */
  private last(event: StreamEvent): Uint8Array[] {
    const response = asObject(event.fields.response);
    if (response.usage) this.tally.count(asObject(response.usage));
    const output = Array.isArray(response.output) ? response.output.map(asObject) : [];
    const held: Uint8Array[] = [];
    for (const [index, item] of output.entries()) {
      const known = this.knownInOutput(index, item);
      const place = known ?? this.begun(item);
      place.item ??= item;
      // No event has told of it: it is seen here for the first time.
      held.push(...(known ? this.decide(place, item) : this.place(undefined, place)));
    }
    for (const place of this.places) {
      if (place.fate === 'unknown') place.fate = 'held';
      // Nothing has said that it has ended, but the answer has.
      if (!place.item && this.sorter.calls(place.begun)) place.item = place.begun;
    }
    if (this.sorter.isOurs && event.type === 'response.completed') {
      this.isThrough = true;
      return held;
    }
    held.push(...this.release());
    const isSame =
      !this.isLater && this.places.every((place) => place.fate === 'shown' && !this.hides(place.item));
    const { id, created_at } = asObject(this.opened?.fields.response);
    this.storedId = response.store === true ? asString(response.id) : undefined;
    const changes = {
      ...(this.isLater ? { id, created_at, usage: this.tally.told } : {}),
      output: isSame ? undefined : [...this.shown, ...this.shownItems()],
    };
    return [...held, this.shownEvent(event, undefined, changes)];
  }

  /** Of the answer that is coming, in order, as far as they have ended. */
  private items(): Json[] {
    return this.places.flatMap(({ item }) => (item ? [item] : []));
  }

  private shownItems(): Json[] {
    const items = this.places.flatMap(({ fate, item }) => (fate === 'shown' && item ? [item] : []));
    return this.hidesReasoning ? items.map(withoutEncrypted) : items;
  }

  private hides(item: unknown): boolean {
    return this.hidesReasoning && isEncrypted(item);
  }

  /** An event under the numbers of the whole. */
  private shownEvent(event: StreamEvent, place?: Place, response?: Changes): Uint8Array {
    const { type, fields, data, frame } = event;
    const changes = {
      sequence_number: changed(fields.sequence_number, this.nextNumber(fields.sequence_number)),
      output_index:
        typeof fields.output_index === 'number' && place
          ? changed(fields.output_index, place.shown)
          : undefined,
      item: this.hides(fields.item) ? withoutEncrypted(fields.item) : undefined,
    };
    const isSame = Object.values(changes).every((value) => value === undefined);
    if (isSame && fields.response === undefined) return frame;
    const shown = changedEvent(data, this.names, changes, response);
    return shown === undefined ? frame : eventFrame(type, shown);
  }

  /** @param told by the upstream */
  private nextNumber(told: unknown): number | undefined {
    if (typeof told !== 'number') return undefined;
    const number = this.sequence ?? told;
    this.sequence = number + 1;
    return number;
  }
}

function indexOf({ fields }: StreamEvent): number | undefined {
  return typeof fields.output_index === 'number' ? fields.output_index : undefined;
}

/**
 * Whether an event is of a call, and what is known under its index, or before it, is none or is
 * over.
 */
function isNoCallFor({ type, fields }: StreamEvent, { begun, item }: Place): boolean {
  if (!OF_CALL.test(type)) return false;
  const isOver = item && fields.item_id !== undefined && ![item.id, item.call_id].includes(fields.item_id);
  return isOver === true || !asString(begun.type).endsWith('_call');
}

function changed<Value>(before: unknown, now: Value): Value | undefined {
  return before === now ? undefined : now;
}

function eventOf(data: string, frame: Uint8Array): StreamEvent | undefined {
  const fields = asObject(parseJson(data));
  return typeof fields.type === 'string' ? { type: fields.type, fields, data, frame } : undefined;
}
