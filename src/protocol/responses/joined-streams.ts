/**
 * Joins several streamed responses of a model into the one that the caller sees
 * (https://platform.openai.com/docs/api-reference/responses-streaming).
 *
 * Events pass with their bytes unchanged until one is removed or added; from then on they are
 * renumbered. Three things are held back: calls of our tools, reasoning until its next item is
 * known, and the events that open a response until its first item is shown. So an answer of nothing
 * but our calls leaves no trace. All events have the id of the first response, since clients refuse
 * a second one. A silent stream is kept alive by the opening events, and then by
 * `response.in_progress`: clients count events, not comments, as signs of life.
 *
 * If the upstream stores nothing, clients send reasoning back as whole items. Then reasoning passes
 * at once, and only its last event waits. If it led only to one of Precis's calls, it ends with a
 * mark (`REASONING_MARK`), and is removed when it comes back.
 *
 * After 15 seconds without events the caller gets the opening, and later `response.in_progress`
 * with the items so far, but never in the middle of an item, since clients take the response in
 * that event as complete. If the upstream stores a later answer, the report has that one's id.
 * Items are identified by index, by id, or, if the upstream gives neither, by order.
 *
 * Where the answer must be JSON, several messages in a row are none. Then all events wait from the
 * first message on, until it is known whether the turn is answered here. If it is, its messages are
 * hidden.
 */

import { asObject, asObjects, asString, type JsonObject } from '../../lib/json.ts';
import type { JoinedStreams, SaidAnswer } from '../answers/answer-format.ts';
import { WaitingStreams } from '../answers/joined-answers.ts';
import { Frame } from '../answers/sse.ts';
import type { ToolTurn } from '../answers/tool-turn.ts';
import { RESPONSES_USAGE, UsageTally } from '../answers/usage.ts';
import { type Ending, saidItems } from './answer-text.ts';
import { ItemSorter, turnOf } from './calls.ts';
import { FAILED } from './failed.ts';
import { isEncrypted, withMark, withoutEncrypted } from './reasoning.ts';
import { type Changes, changedEvent } from './splices.ts';
import { isError, lastEvent } from './stream.ts';
import {
  IN_PROGRESS,
  type ItemState,
  indexOf,
  OF_CALL,
  OPENS,
  type StreamEvent,
  StreamItems,
} from './stream-items.ts';

const ARGUMENTS_DONE = 'response.function_call_arguments.done';

/** Events of a text. They may come without an item, and are never a call. */
const OF_TEXT = /^response\.(?:output_text|content_part|refusal)\./;

export class JoinedResponsesStreams extends WaitingStreams<StreamEvent, ItemSorter> implements JoinedStreams {
  protected readonly tally = new UsageTally(RESPONSES_USAGE);
  isUnstored: boolean | undefined;
  private ending: Ending | undefined;
  private hasFailed = false;
  /** The upstream's `store` of the current answer. */
  private store: unknown;
  /** Events that open the response, held until an item is shown. */
  private opening: StreamEvent[] = [];
  /** The last event that has opened the response for the caller. */
  private opened: StreamEvent | undefined;
  private isOpen = false;
  /** Of the current answer. */
  private items = new StreamItems();
  /** Reasoning of the current answer that has led to nothing but hidden calls so far. */
  private loose: readonly ItemState[] = [];
  /** The id of the last answer, if the upstream has stored it. */
  private storedId: string | undefined;
  /** The items of all earlier answers that the caller has seen completely. */
  private readonly earlierItems: JsonObject[] = [];
  /** Items that the caller has seen begin, in all answers. */
  private itemCount = 0;
  /** The number of the next event. The upstream's first event says where they begin. */
  private sequence: number | undefined;

  get turn(): ToolTurn | undefined {
    return this.isThrough ? turnOf(this.items.ended, this.sorter, this.isUnstored) : undefined;
  }

  get lastId(): string | undefined {
    return this.storedId === asObject(this.opened?.fields.response).id ? undefined : this.storedId;
  }

  get said(): SaidAnswer | undefined {
    return this.ending && saidItems([...this.earlierItems, ...this.callerItems()], this.ending);
  }

  keepalive(): Frame[] {
    if (!this.isOpen) return this.opening.some(({ fields }) => fields.response) ? this.open() : [];
    const { opened } = this;
    // Clients take the output in this event for all items so far. It can't hold half an item.
    const items = this.items.states
      .filter(({ fate }) => fate === 'shown')
      .map((state) => this.knownOf(state));
    const isWhole = items.every((item) => item !== undefined);
    if (!opened || !isWhole || !Array.isArray(asObject(opened.fields.response).output)) return [];
    const changes = {
      type: IN_PROGRESS,
      sequence_number: this.nextNumber(opened.fields.sequence_number),
    };
    const output = [...this.earlierItems, ...items];
    const data = changedEvent(opened.data, this.names, changes, { output });
    return data === undefined ? [] : [Frame.of(data, IN_PROGRESS)];
  }

  /** Reasoning with one of Precis's calls stays hidden with it. */
  release(): Frame[] {
    const frames = this.settled(this.scout.isOurs);
    return [...frames, ...this.releaseItems()];
  }

  private releaseItems(): Frame[] {
    return this.sorter.isOurs ? [...this.open(), ...this.drop()] : this.showLast();
  }

  begin(): void {
    this.earlierItems.push(...this.callerItems());
    this.goOn();
    this.opening = [];
    this.items = new StreamItems();
    this.loose = [];
  }

  protected newSorter(): ItemSorter {
    return new ItemSorter(this.names, this.mayAnswer);
  }

  take(frame: Frame): Frame[] {
    const event = eventOf(frame);
    // Nothing that comes after an error is a part of the answer, but the end of a failed one.
    if (this.hasFailed) return event?.type === FAILED ? this.taken(event) : [];
    // What waits goes first.
    this.hasFailed = (frame.data ?? '').includes('"error"') && isError(frame.json);
    if (!event) return this.hasFailed ? [...this.release(), frame] : [frame];
    if (!this.withholds || this.scout.isCallers) return this.taken(event);
    const { type, fields } = event;
    const item = asObject(fields.item);
    if (type.startsWith('response.output_item.')) this.scout.next(item);
    if (isEnd(event)) return [...this.settled(this.isTurnBy(event)), ...this.taken(event)];
    if (this.hasFailed || this.scout.isCallers)
      return [...this.settled(this.scout.isOurs), ...this.taken(event)];
    const waits = this.waiting.length > 0 || item.type === 'message' || OF_TEXT.test(type);
    if (!waits) return this.taken(event);
    this.waiting.push(event);
    return [];
  }

  /** Whether an answer with waiting events is answered here. @param end its last event */
  private isTurnBy(end: StreamEvent): boolean {
    if (!isCompleted(end)) return false;
    const items = asObjects(asObject(end.fields.response).output);
    return items.length > 0 ? this.newSorter().areOurs(items) : this.scout.isOurs;
  }

  protected taken(event: StreamEvent): Frame[] {
    const { response } = event.fields;
    if (response) {
      this.store = asObject(response).store;
      this.isUnstored = this.store === false;
    }
    if (OPENS.has(event.type) && this.isLater && this.isOpen) return [];
    if (isEnd(event)) return this.last(event);
    if (this.items.isAbout(event)) return this.ofItem(event);
    // An error ends the stream, so what waits goes first. Other events without an item are held
    // with the opening ones.
    if (event.type === 'error') return [...this.releaseItems(), this.callerEvent(event)];
    if (OF_TEXT.test(event.type))
      return this.sorter.hidesTexts ? [] : [...this.open(), this.callerEvent(event)];
    if (this.isOpen) return [this.callerEvent(event)];
    this.opening.push(event);
    return [];
  }

  private ofItem(event: StreamEvent): Frame[] {
    const item = asObject(event.fields.item);
    const begins = event.type === 'response.output_item.added';
    const ends = event.type === 'response.output_item.done';
    const known = begins ? undefined : this.items.find(event, item);
    const state = known ?? (item.type === undefined ? this.unknown(event) : this.stateOf(item));
    if (ends) state.done = item;
    if (event.type === ARGUMENTS_DONE && !state.done)
      state.added = { ...state.added, arguments: event.fields.arguments };
    const before = known ? this.decide(state, item) : this.add(indexOf(event), state);
    if (this.mayFlow(state)) before.push(...this.flow(state));
    if (state.fate === 'hidden') return before;
    if (state.fate !== 'shown' || (state.pending && ends)) {
      state.held.push(event);
      return before;
    }
    if (state.pending && !begins) state.pending = 'inside';
    return [...before, this.callerEvent(event, state)];
  }

  private stateOf(item: JsonObject): ItemState {
    return {
      fate: this.sorter.next(item),
      added: item,
      done: undefined,
      index: undefined,
      held: [],
      pending: undefined,
      isMarked: false,
    };
  }

  /** Whether reasoning passes at once: only whole items come back then, and no references. */
  private mayFlow(state: ItemState): boolean {
    const isUnstored = typeof this.store === 'boolean' ? !this.store : this.form.isUnstored;
    if (!isUnstored || state.fate !== 'held' || state.done) return false;
    // The caller's indices follow the order of the items.
    return this.items.states.every(
      (other) => other === state || other.fate === 'shown' || other.fate === 'hidden',
    );
  }

  private flow(state: ItemState): Frame[] {
    state.fate = 'shown';
    state.index = this.itemCount++;
    state.pending = state.held.length === 0 ? 'added' : 'inside';
    return [...this.open(), ...this.flush(state)];
  }

  /** The state of an item that the upstream did not announce. */
  private unknown({ type, fields }: StreamEvent): ItemState {
    const item: JsonObject = { id: fields.item_id };
    if (type.startsWith('response.reasoning')) return this.stateOf({ ...item, type: 'reasoning' });
    if (OF_TEXT.test(type)) return this.stateOf({ ...item, type: 'message' });
    if (!OF_CALL.test(type)) return this.stateOf(item);
    const call = type.includes('custom_tool') ? 'custom_tool_call' : 'function_call';
    return { ...this.stateOf(item), fate: 'unknown', added: { ...item, type: call } };
  }

  /** Decides the fate of an item that was not announced, once the item itself comes. */
  private decide(state: ItemState, item: JsonObject): Frame[] {
    if (state.fate !== 'unknown' || item.type === undefined) return [];
    state.added = item;
    state.fate = this.sorter.next(item);
    const events = state.fate === 'held' ? [] : state.held.splice(0);
    const frames = this.settle(state);
    if (state.fate === 'shown') frames.push(...events.map((event) => this.callerEvent(event, state)));
    return frames;
  }

  /** Adds an item. It decides about the reasoning before it. */
  private add(index: number | undefined, state: ItemState): Frame[] {
    this.items.add(state, index);
    return this.settle(state);
  }

  /** Applies the fate of an item to the reasoning before it. */
  private settle(state: ItemState): Frame[] {
    const frames = state.fate === 'shown' ? this.showHeld() : [];
    if (state.fate === 'hidden') {
      if (this.sorter.passes(state.added)) this.loose = this.items.states.slice();
      else frames.push(...this.drop());
    }
    if (state.fate === 'shown') state.index = this.itemCount++;
    return frames;
  }

  private showHeld(): Frame[] {
    const frames = this.open();
    for (const state of this.items.states) {
      if (state.fate === 'held') {
        state.fate = 'shown';
        state.index = this.itemCount++;
      } else if (!state.pending) continue;
      state.pending = undefined;
      frames.push(...this.flush(state));
    }
    return frames;
  }

  /** Shows what is held at the end of an answer. */
  private showLast(): Frame[] {
    return [...this.drop(this.loose), ...this.showHeld()];
  }

  /** Hides all held items. Those that have passed already end with the mark. */
  private drop(states: readonly ItemState[] = this.items.states): Frame[] {
    return states.flatMap((state) => {
      if (state.fate === 'held') state.fate = 'hidden';
      if (!state.pending) return [];
      state.pending = undefined;
      state.isMarked = true;
      return this.flush(state);
    });
  }

  private flush(state: ItemState): Frame[] {
    return state.held.splice(0).map((event) => this.callerEvent(event, state));
  }

  private open(): Frame[] {
    if (this.isOpen) return [];
    this.isOpen = true;
    this.opened = this.opening.findLast(({ fields }) => fields.response);
    return this.opening.splice(0).map((event) => this.callerEvent(event));
  }

  /** Takes the event that ends an answer. It ends the caller's stream too, or a turn. */
  private last(event: StreamEvent): Frame[] {
    const response = asObject(event.fields.response);
    if (response.usage) this.tally.count(asObject(response.usage));
    const frames: Frame[] = [];
    for (const [index, item] of asObjects(response.output).entries()) {
      const known = this.items.findInOutput(index, item);
      const state = known ?? this.stateOf(item);
      state.done ??= item;
      // An item without events appears here for the first time.
      frames.push(...(known ? this.decide(state, item) : this.add(undefined, state)));
    }
    for (const state of this.items.states) {
      if (state.fate === 'unknown') state.fate = 'held';
      // The upstream did not end the item, but it has ended the answer.
      if (!state.done && this.sorter.calls(state.added)) state.done = state.added;
    }
    if (this.sorter.isOurs && isCompleted(event)) {
      this.isThrough = true;
      return [...frames, ...this.drop()];
    }
    frames.push(...this.showLast());
    const isSame =
      !this.isLater &&
      this.items.states.every(
        (state) => state.fate === 'shown' && this.itemFor(state, state.done) === state.done,
      );
    const { status, incomplete_details: details } = response;
    this.ending = { status, details };
    const { id, created_at } = asObject(this.opened?.fields.response);
    this.storedId = response.store === true ? asString(response.id) : undefined;
    const changes = {
      ...(this.isLater ? { id, created_at, usage: this.tally.forCaller } : {}),
      output: isSame ? undefined : [...this.earlierItems, ...this.callerItems()],
    };
    return [...frames, this.callerEvent(event, undefined, changes)];
  }

  private callerItems(): JsonObject[] {
    return this.items.states.flatMap((state) =>
      state.fate === 'shown' && state.done ? [this.itemFor(state, state.done)] : [],
    );
  }

  /** An item as the caller knows it by now; undefined within it. */
  private knownOf(state: ItemState): JsonObject | undefined {
    const { pending, added, done } = state;
    const known = pending === 'added' ? added : pending ? undefined : done;
    return known && this.itemFor(state, known);
  }

  /** An item as the caller gets it. */
  private itemFor<Item>(state: ItemState | undefined, item: Item): Item | JsonObject {
    if (state?.isMarked && item) return withMark(item);
    if (this.form.isHidden) return withoutEncrypted(item);
    return !this.signs && isEncrypted(item) ? withMark(asObject(item)) : item;
  }

  /** An event with the caller's numbers. */
  private callerEvent(event: StreamEvent, state?: ItemState, response?: Changes): Frame {
    const { type, fields, data, frame } = event;
    const changes = {
      sequence_number: changed(fields.sequence_number, this.nextNumber(fields.sequence_number)),
      output_index:
        typeof fields.output_index === 'number' && state
          ? changed(fields.output_index, state.index)
          : undefined,
      item: changed(fields.item, this.itemFor(state, fields.item)),
    };
    const isSame = Object.values(changes).every((value) => value === undefined);
    if (isSame && fields.response === undefined) return frame;
    const rewritten = changedEvent(data, this.names, changes, response);
    return rewritten === undefined ? frame : Frame.of(rewritten, type);
  }

  /** @param given by the upstream */
  private nextNumber(given: unknown): number | undefined {
    if (typeof given !== 'number') return undefined;
    const number = this.sequence ?? given;
    this.sequence = number + 1;
    return number;
  }
}

function isEnd({ type, frame }: StreamEvent): boolean {
  return type !== 'error' && lastEvent(frame) !== undefined;
}

/** Whether it ends a complete response. `response.done` ends any: its status says how. */
function isCompleted({ type, fields }: StreamEvent): boolean {
  const { status = 'completed' } = asObject(fields.response);
  return type === 'response.completed' || (type === 'response.done' && status === 'completed');
}

function changed<Value>(before: unknown, now: Value): Value | undefined {
  return before === now ? undefined : now;
}

function eventOf(frame: Frame): StreamEvent | undefined {
  const fields = asObject(frame.json);
  const { type } = fields;
  return typeof type === 'string' ? { type, fields, data: frame.data ?? '', frame } : undefined;
}
