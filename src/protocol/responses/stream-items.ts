/**
 * Which item an event of a stream is about. Upstreams are less exact than OpenAI's: some number no
 * items, some name none, some give several items one index, and some one item several ids.
 */

import { asString, type JsonObject } from '../../lib/json.ts';
import type { Frame } from '../sse.ts';
import type { Fate } from './calls.ts';

export interface StreamEvent {
  readonly type: string;
  readonly fields: JsonObject;
  readonly data: string;
  readonly frame: Frame;
}

/** An item of the answer that is coming. */
export interface Place {
  /** Unknown where the upstream has not said how the item begins, until it says how it ends. */
  fate: Fate | 'unknown';
  /** As it began. */
  begun: JsonObject;
  /** The index that the caller sees. */
  shown: number | undefined;
  /** As it ended; undefined as long as it has not. */
  item: JsonObject | undefined;
  /** What is held back of it. */
  readonly held: StreamEvent[];
  /**
   * Set while it is reasoning that flows and whose end waits for what it leads to: whether the
   * caller has seen its beginning alone, or more of it.
   */
  pending: 'begun' | 'inside' | undefined;
  /** Whether it has flowed, and led to nothing but a call of ours. */
  isMarked: boolean;
}

export const IN_PROGRESS = 'response.in_progress';
/** Events that open a response. */
export const OPENS: ReadonlySet<string> = new Set(['response.created', 'response.queued', IN_PROGRESS]);

/** Events of a call, whose name they may not tell. */
export const OF_CALL = /^response\.(?:function_call_arguments|custom_tool_call_input)\./;

/** The items of one answer. */
export class StreamItems {
  /** As they have begun. */
  readonly places: Place[] = [];
  /** The last one under each index that the upstream gives. */
  private readonly placed = new Map<number, Place>();

  /** @param index that the upstream gives it */
  add(place: Place, index: number | undefined): void {
    this.places.push(place);
    if (index !== undefined) this.placed.set(index, place);
  }

  /** Those that have ended, in order. */
  get ended(): JsonObject[] {
    return this.places.flatMap(({ item }) => (item ? [item] : []));
  }

  /**
   * Whether an event is about an item. Where the upstream neither numbers nor names them, the
   * events of one follow each other.
   */
  isAbout({ type, fields }: StreamEvent): boolean {
    const { output_index, item, item_id } = fields;
    if (typeof output_index === 'number' || typeof item_id === 'string') return true;
    if ((typeof item === 'object' && item !== null) || OF_CALL.test(type)) return true;
    return type.startsWith('response.') && !OPENS.has(type) && this.places.length > 0;
  }

  /**
   * The item that an event goes on with, or ends.
   *
   * @param item in the event; empty where it has none
   */
  find(event: StreamEvent, item: JsonObject): Place | undefined {
    const found = this.known(indexOf(event), event.fields.item_id, item);
    return found && isNoCallFor(event, found) ? undefined : found;
  }

  /**
   * The same for an item in the event that ends an answer.
   *
   * @param index of the item in the response
   */
  findInOutput(index: number, item: JsonObject): Place | undefined {
    if (this.placed.size > 0) return this.known(index, undefined, item);
    const at = this.places[index];
    return this.named(item.id, item) ?? (at?.begun.type === item.type ? at : undefined);
  }

  /**
   * By index and id, or by one of them; without both the order tells.
   *
   * @param id in an event without an item
   */
  private known(index: number | undefined, id: unknown, item: JsonObject): Place | undefined {
    const itemId = id ?? item.id;
    const last = index === undefined ? undefined : this.placed.get(index);
    if (index !== undefined && (itemId === undefined || last?.begun.id === itemId)) return last;
    const named = this.named(itemId, item);
    if (named || index !== undefined) return named ?? last;
    if (item.type === undefined) return this.places.at(-1);
    return this.places.find(({ begun, item: ended }) => !ended && begun.type === item.type);
  }

  private named(id: unknown, item: JsonObject): Place | undefined {
    const isItem = ({ id: known, call_id, type }: JsonObject): boolean =>
      (id !== undefined && known === id) ||
      (item.call_id !== undefined && call_id === item.call_id && type === item.type);
    const named = this.places.find(({ begun, item: ended }) => isItem(begun) || (ended && isItem(ended)));
    // llama.cpp names calls that have no id of their own by their call's.
    return named ?? this.places.find(({ begun }) => id !== undefined && begun.call_id === id);
  }
}

/** The index of the item that an event is about, as the upstream counts. */
export function indexOf({ fields }: StreamEvent): number | undefined {
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
