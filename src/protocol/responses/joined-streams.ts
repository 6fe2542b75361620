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
 *
 * Where the upstream stores nothing, clients send reasoning back as whole items. There reasoning
 * flows at once, and only the event that ends it waits: where it has led to nothing but a call of
 * ours, the item ends with a mark (`REASONING_MARK`), by which it is known when it comes back.
 */

import { asObject, asString, type JsonObject } from '../../lib/json.ts';
import type { JoinedStreams, Joining } from '../answer-format.ts';
import { CountedAnswers } from '../joined-answers.ts';
import { Frame } from '../sse.ts';
import type { ToolTurn } from '../tool-turn.ts';
import { RESPONSES_USAGE } from '../usage.ts';
import { ItemSorter, turnOf } from './calls.ts';
import { withMark, withoutEncrypted } from './reasoning.ts';
import { type Changes, changedEvent } from './splices.ts';
import {
  IN_PROGRESS,
  indexOf,
  OF_CALL,
  OPENS,
  type Place,
  type StreamEvent,
  StreamItems,
} from './stream-items.ts';

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);
const ARGUMENTS_DONE = 'response.function_call_arguments.done';

/** Events of a text. Upstreams that name no item send them too, and a text is never a call. */
const OF_TEXT = /^response\.(?:output_text|content_part|refusal)\./;

export class ResponsesStreams extends CountedAnswers implements JoinedStreams {
  isThrough = false;
  isUnstored: boolean | undefined;
  /** The upstream's `store` of the current answer. */
  private store: unknown;
  private sorter: ItemSorter;
  /** Events that open the response, held until an item is shown. */
  private opening: StreamEvent[] = [];
  /** The last event that has opened the response for the caller. */
  private opened: StreamEvent | undefined;
  private isOpen = false;
  /** Of the current answer. */
  private items = new StreamItems();
  /** The id of the last answer, if the upstream has stored it. */
  private storedId: string | undefined;
  /** The items of all earlier answers that the caller has seen completely. */
  private readonly shown: JsonObject[] = [];
  private shownCount = 0;
  /** The number of the next event. The upstream's first event says where they begin. */
  private sequence: number | undefined;

  constructor(...joining: Parameters<Joining<ResponsesStreams>>) {
    super(RESPONSES_USAGE, ...joining);
    this.sorter = new ItemSorter(this.names, this.mayAnswer);
  }

  get turn(): ToolTurn | undefined {
    return this.isThrough ? turnOf(this.items.ended, this.sorter, this.isUnstored) : undefined;
  }

  get lastId(): string | undefined {
    return this.storedId === this.idOpened ? undefined : this.storedId;
  }

  private get idOpened(): unknown {
    return asObject(this.opened?.fields.response).id;
  }

  /** Only an event ends an answer. */
  end(): void {}

  keepalive(): Frame[] {
    if (!this.isOpen) return this.opening.some(({ fields }) => fields.response) ? this.open() : [];
    const { opened } = this;
    // Clients take the response in the event for all that there is so far, and half an item can't
    // be told.
    const items = this.items.places.filter(({ fate }) => fate === 'shown').map((place) => this.told(place));
    const isWhole = items.every((item) => item !== undefined);
    if (!opened || !isWhole || !Array.isArray(asObject(opened.fields.response).output)) return [];
    const changes = {
      type: IN_PROGRESS,
      sequence_number: this.nextNumber(opened.fields.sequence_number),
    };
    const output = [...this.shown, ...items];
    const data = changedEvent(opened.data, this.names, changes, { output });
    return data === undefined ? [] : [Frame.of(data, IN_PROGRESS)];
  }

  begin(): void {
    this.goOn();
    this.shown.push(...this.shownItems());
    this.isThrough = false;
    this.opening = [];
    this.items = new StreamItems();
    this.sorter = new ItemSorter(this.names, this.mayAnswer);
  }

  take(frame: Frame): Frame[] {
    const event = eventOf(frame);
    if (!event) return [frame];
    const { response } = event.fields;
    if (response) {
      this.store = asObject(response).store;
      this.isUnstored = this.store === false;
    }
    if (OPENS.has(event.type) && this.isLater && this.isOpen) return [];
    if (ENDS.has(event.type)) return this.last(event);
    if (this.items.isAbout(event)) return this.ofItem(event);
    // An error ends the stream: what opened it comes first. All else that belongs to no item waits
    // with what opens it.
    if (event.type === 'error') return [...this.open(), this.shownEvent(event)];
    if (OF_TEXT.test(event.type)) return [...this.open(), this.shownEvent(event)];
    if (this.isOpen) return [this.shownEvent(event)];
    this.opening.push(event);
    return [];
  }

  private ofItem(event: StreamEvent): Frame[] {
    const item = asObject(event.fields.item);
    const begins = event.type === 'response.output_item.added';
    const ends = event.type === 'response.output_item.done';
    const known = begins ? undefined : this.items.find(event, item);
    const place = known ?? (item.type === undefined ? this.unknown(event) : this.begun(item));
    if (ends) place.item = item;
    if (event.type === ARGUMENTS_DONE && !place.item)
      place.begun = { ...place.begun, arguments: event.fields.arguments };
    const before = known ? this.decide(place, item) : this.place(indexOf(event), place);
    if (this.mayFlow(place)) before.push(...this.flow(place));
    if (place.fate === 'hidden') return before;
    if (place.fate !== 'shown' || (place.pending && ends)) {
      place.held.push(event);
      return before;
    }
    if (place.pending && !begins) place.pending = 'inside';
    return [...before, this.shownEvent(event, place)];
  }

  private begun(item: JsonObject): Place {
    const fate = this.sorter.next(item);
    return {
      fate,
      begun: item,
      shown: undefined,
      item: undefined,
      held: [],
      pending: undefined,
      isMarked: false,
    };
  }

  /** Only whole items come back from the caller then, and none by its id. */
  private mayFlow(place: Place): boolean {
    const isUnstored = typeof this.store === 'boolean' ? !this.store : this.reasoning.isUnstored;
    if (!isUnstored || place.fate !== 'held' || place.item) return false;
    // What began before it has its index before it.
    return this.items.places.every(
      (other) => other === place || other.fate === 'shown' || other.fate === 'hidden',
    );
  }

  private flow(place: Place): Frame[] {
    place.fate = 'shown';
    place.shown = this.shownCount++;
    place.pending = place.held.length === 0 ? 'begun' : 'inside';
    return [...this.open(), ...this.flush(place)];
  }

  /** Of an item whose beginning the upstream has not told. */
  private unknown({ type, fields }: StreamEvent): Place {
    const begun: JsonObject = { id: fields.item_id };
    if (type.startsWith('response.reasoning')) return this.begun({ ...begun, type: 'reasoning' });
    if (!OF_CALL.test(type)) return this.begun(begun);
    const of = type.includes('custom_tool') ? 'custom_tool_call' : 'function_call';
    return { ...this.begun(begun), fate: 'unknown', begun: { ...begun, type: of } };
  }

  /** The fate of an item of which it is not known yet, once the item is. */
  private decide(place: Place, item: JsonObject): Frame[] {
    if (place.fate !== 'unknown' || item.type === undefined) return [];
    place.begun = item;
    place.fate = this.sorter.next(item);
    const held = place.fate === 'held' ? [] : place.held.splice(0);
    const frames = this.settle(place);
    if (place.fate === 'shown') frames.push(...held.map((event) => this.shownEvent(event, place)));
    return frames;
  }

  /** An item begins: what was held before it is seen with it, or not at all. */
  private place(index: number | undefined, place: Place): Frame[] {
    this.items.add(place, index);
    return this.settle(place);
  }

  /** What the fate of an item means for what was held before it. */
  private settle(place: Place): Frame[] {
    const frames = place.fate === 'shown' ? this.release() : [];
    if (place.fate === 'hidden') frames.push(...this.drop());
    if (place.fate === 'shown') place.shown = this.shownCount++;
    return frames;
  }

  /** All that is held is shown. */
  private release(): Frame[] {
    const frames = this.open();
    for (const place of this.items.places) {
      if (place.fate === 'held') {
        place.fate = 'shown';
        place.shown = this.shownCount++;
      } else if (!place.pending) continue;
      place.pending = undefined;
      frames.push(...this.flush(place));
    }
    return frames;
  }

  /** All that is held is hidden; of what has flowed the end is shown. */
  private drop(): Frame[] {
    return this.items.places.flatMap((place) => {
      if (place.fate === 'held') place.fate = 'hidden';
      if (!place.pending) return [];
      place.pending = undefined;
      place.isMarked = true;
      return this.flush(place);
    });
  }

  private flush(place: Place): Frame[] {
    return place.held.splice(0).map((event) => this.shownEvent(event, place));
  }

  private open(): Frame[] {
    if (this.isOpen) return [];
    this.isOpen = true;
    this.opened = this.opening.findLast(({ fields }) => fields.response);
    return this.opening.splice(0).map((event) => this.shownEvent(event));
  }

  /** The event that ends an answer: the caller's stream, or a turn. */
  private last(event: StreamEvent): Frame[] {
    const response = asObject(event.fields.response);
    if (response.usage) this.tally.count(asObject(response.usage));
    const output = Array.isArray(response.output) ? response.output.map(asObject) : [];
    const held: Frame[] = [];
    for (const [index, item] of output.entries()) {
      const known = this.items.findInOutput(index, item);
      const place = known ?? this.begun(item);
      place.item ??= item;
      // No event has told of it: it is seen here for the first time.
      held.push(...(known ? this.decide(place, item) : this.place(undefined, place)));
    }
    for (const place of this.items.places) {
      if (place.fate === 'unknown') place.fate = 'held';
      // Nothing has said that it has ended, but the answer has.
      if (!place.item && this.sorter.calls(place.begun)) place.item = place.begun;
    }
    if (this.sorter.isOurs && event.type === 'response.completed') {
      this.isThrough = true;
      return [...held, ...this.drop()];
    }
    held.push(...this.release());
    const isSame =
      !this.isLater &&
      this.items.places.every(
        (place) => place.fate === 'shown' && this.itemFor(place, place.item) === place.item,
      );
    const { id, created_at } = asObject(this.opened?.fields.response);
    this.storedId = response.store === true ? asString(response.id) : undefined;
    const changes = {
      ...(this.isLater ? { id, created_at, usage: this.tally.told } : {}),
      output: isSame ? undefined : [...this.shown, ...this.shownItems()],
    };
    return [...held, this.shownEvent(event, undefined, changes)];
  }

  private shownItems(): JsonObject[] {
    return this.items.places.flatMap((place) =>
      place.fate === 'shown' && place.item ? [this.itemFor(place, place.item)] : [],
    );
  }

  /** What the caller knows of an item; undefined in the middle of it. */
  private told(place: Place): JsonObject | undefined {
    const { pending, begun, item } = place;
    const known = pending === 'begun' ? begun : pending ? undefined : item;
    return known && this.itemFor(place, known);
  }

  /** An item as its caller sees it. */
  private itemFor<Told>(place: Place | undefined, item: Told): Told | JsonObject {
    if (place?.isMarked && item) return withMark(item);
    return this.reasoning.isHidden ? withoutEncrypted(item) : item;
  }

  /** An event under the numbers of the whole. */
  private shownEvent(event: StreamEvent, place?: Place, response?: Changes): Frame {
    const { type, fields, data, frame } = event;
    const changes = {
      sequence_number: changed(fields.sequence_number, this.nextNumber(fields.sequence_number)),
      output_index:
        typeof fields.output_index === 'number' && place
          ? changed(fields.output_index, place.shown)
          : undefined,
      item: changed(fields.item, this.itemFor(place, fields.item)),
    };
    const isSame = Object.values(changes).every((value) => value === undefined);
    if (isSame && fields.response === undefined) return frame;
    const shown = changedEvent(data, this.names, changes, response);
    return shown === undefined ? frame : Frame.of(shown, type);
  }

  /** @param told by the upstream */
  private nextNumber(told: unknown): number | undefined {
    if (typeof told !== 'number') return undefined;
    const number = this.sequence ?? told;
    this.sequence = number + 1;
    return number;
  }
}

function changed<Value>(before: unknown, now: Value): Value | undefined {
  return before === now ? undefined : now;
}

function eventOf(frame: Frame): StreamEvent | undefined {
  const fields = asObject(frame.json);
  const { type } = fields;
  return typeof type === 'string' ? { type, fields, data: frame.data ?? '', frame } : undefined;
}
