/**
 * Finds the item that an event of a stream is about. Not all upstreams are as exact as OpenAI's:
 * some give no indices, some give no ids, some give several items one index, and some give one item
 * several ids.
 */

import { asString, type JsonObject } from '../../lib/json.ts';
import type { Frame } from '../answers/sse.ts';
import type { Fate } from './calls.ts';

export interface StreamEvent {
  readonly type: string;
  readonly fields: JsonObject;
  readonly data: string;
  readonly frame: Frame;
}

/** What the events of a stream have said of an item. */
export interface KnownItem {
  /** The item of `response.output_item.added`, as far as it is known. */
  added: JsonObject;
  /** The item of `response.output_item.done`; undefined until then. */
  done: JsonObject | undefined;
}

/** An item of the current answer. */
export interface ItemState extends KnownItem {
  /** Unknown for a call that was not announced, until it ends. */
  fate: Fate | 'unknown';
  /** The index that the caller sees. */
  index: number | undefined;
  readonly held: StreamEvent[];
  /**
   * Set for reasoning that passes while its last event is held: whether the caller has seen only
   * its first event, or more.
   */
  pending: 'added' | 'inside' | undefined;
  /** Whether it has passed, and led only to one of Precis's calls. */
  isMarked: boolean;
}

export const IN_PROGRESS = 'response.in_progress';
/** Events that open a response. */
export const OPENS: ReadonlySet<string> = new Set(['response.created', 'response.queued', IN_PROGRESS]);

/** Events of a call. They may come without its name. */
export const OF_CALL = /^response\.(?:function_call_arguments|custom_tool_call_input)\./;

export class StreamItems<State extends KnownItem = ItemState> {
  readonly states: State[] = [];
  /** The last item with each of the upstream's indices. */
  private readonly byIndex = new Map<number, State>();

  /** @param index from the upstream */
  add(state: State, index: number | undefined): void {
    this.states.push(state);
    if (index !== undefined) this.byIndex.set(index, state);
  }

  /** Those that have ended. */
  get ended(): JsonObject[] {
    return this.states.flatMap(({ done }) => (done ? [done] : []));
  }

  /**
   * Whether an event is about an item. Without indices and ids, the events of an item follow each
   * other.
   */
  isAbout({ type, fields }: StreamEvent): boolean {
    const { output_index, item, item_id } = fields;
    if (typeof output_index === 'number' || typeof item_id === 'string') return true;
    if ((typeof item === 'object' && item !== null) || OF_CALL.test(type)) return true;
    return type.startsWith('response.') && !OPENS.has(type) && this.states.length > 0;
  }

  /**
   * The item that an event continues or ends.
   *
   * @param item in the event; empty if it has none
   */
  find(event: StreamEvent, item: JsonObject): State | undefined {
    const found = this.known(indexOf(event), event.fields.item_id, item);
    return found && isNoCallFor(event, found) ? undefined : found;
  }

  /**
   * The same for an item in the event that ends an answer.
   *
   * @param index in the response
   */
  findInOutput(index: number, item: JsonObject): State | undefined {
    if (this.byIndex.size > 0) return this.known(index, undefined, item);
    const at = this.states[index];
    return this.named(item.id, item) ?? (at?.added.type === item.type ? at : undefined);
  }

  /**
   * Finds an item by index and id, by one of them, or by the order.
   *
   * @param id in an event without an item
   */
  private known(index: number | undefined, id: unknown, item: JsonObject): State | undefined {
    const itemId = id ?? item.id;
    const last = index === undefined ? undefined : this.byIndex.get(index);
    if (index !== undefined && (itemId === undefined || last?.added.id === itemId)) return last;
    const named = this.named(itemId, item);
    if (named || index !== undefined) return named ?? last;
    if (item.type === undefined) return this.states.at(-1);
    return this.states.find(({ added, done }) => !done && added.type === item.type);
  }

  private named(id: unknown, item: JsonObject): State | undefined {
    const isItem = ({ id: known, call_id, type }: JsonObject): boolean =>
      (id !== undefined && known === id) ||
      (item.call_id !== undefined && call_id === item.call_id && type === item.type);
    const named = this.states.find(({ added, done }) => isItem(added) || (done && isItem(done)));
    // llama.cpp names a call without an id by its call_id.
    return named ?? this.states.find(({ added }) => id !== undefined && added.call_id === id);
  }
}

/** The upstream's index of the item that an event is about. */
export function indexOf({ fields }: StreamEvent): number | undefined {
  return typeof fields.output_index === 'number' ? fields.output_index : undefined;
}

/** Whether an event is about a call, but the item that was found is none, or has ended. */
function isNoCallFor({ type, fields }: StreamEvent, { added, done }: KnownItem): boolean {
  if (!OF_CALL.test(type)) return false;
  const isOver = done && fields.item_id !== undefined && ![done.id, done.call_id].includes(fields.item_id);
  return isOver === true || !asString(added.type).endsWith('_call');
}
