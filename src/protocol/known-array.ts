/**
 * The array of an earlier request. The next request of a conversation begins with the same bytes:
 * what was read from these is not read again.
 */
import { bufferOf } from '../lib/bytes.ts';
import type { MessageFacts } from '../memory/conversation/message.ts';
import { mostFitting } from '../memory/tokens/fitting.ts';
import type { AnswerFormat } from './answers/answer-format.ts';
import type { JsonSpan } from './json/outline.ts';
import type { KnownElements } from './json/scanner.ts';

/** What is known about a message of the array. */
interface KnownMessage {
  /** Its first element, and how many it has. Several messages of one element have an order. */
  readonly first: number;
  readonly length: number;
  readonly facts: MessageFacts;
}

/** A message outside of the array. */
interface MessageBefore {
  /** Its JSON, as far as it says anything. */
  readonly value: Uint8Array;
  readonly facts: MessageFacts;
}

type FieldValues = readonly Pick<MessageBefore, 'value'>[];

/** What a request has read of its array. Spans refer to the bytes of its body. */
export interface ReadArray {
  readonly protocol: AnswerFormat['name'];
  readonly bytes: Uint8Array;
  /** The array, with its items and their counts. */
  readonly list: JsonSpan;
  /** The messages outside of the array that precede those in it. */
  readonly before: readonly MessageBefore[];
  /** Facts about each element alone. */
  readonly elements: readonly object[];
  readonly messages: readonly KnownMessage[];
}

/** The part of an earlier array with which a body's array begins. */
export interface SharedArray extends KnownElements {
  readonly read: ReadArray;
  /** Where the last shared element ends. */
  readonly end: number;
}

/**
 * The elements that a body shares with an earlier one, where all bytes before them are the same,
 * too. Undefined if there are none.
 */
export function sharedWith(bytes: Uint8Array, read: ReadArray): SharedArray | undefined {
  const { start, items = [], counts = [] } = read.list;
  // What is known to be equal is not compared again: a search may end at the last element.
  let equal = 0;
  const isShared = (count: number): boolean => {
    const end = items[count - 1]?.end ?? 0;
    if (end <= equal) return true;
    if (end > bytes.length || !isEqual(bytes.subarray(equal, end), read.bytes.subarray(equal, end)))
      return false;
    equal = end;
    return true;
  };
  let shared = mostFitting(items.length, isShared);
  // Further digits may follow a number.
  while (shared > 0 && items[shared - 1]?.kind === 'number') shared--;
  const end = items[shared - 1]?.end;
  if (end === undefined) return undefined;
  return { read, start, end, items: items.slice(0, shared), counts: counts.slice(0, shared) };
}

/** Whether two texts have the same first bytes. @param length how many; absent: all */
export function isEqual(one: Uint8Array, other: Uint8Array, length?: number): boolean {
  return bufferOf(one, length).equals(bufferOf(other, length));
}

/**
 * The facts about the messages of a shared part.
 *
 * @typeParam Facts about a message in this protocol
 * @typeParam Element facts about an element alone
 */
export class KnownMessages<Facts extends MessageFacts, Element extends object> {
  private readonly shared: SharedArray | undefined;
  private readonly isSame: boolean;
  private readonly byFirst: readonly (readonly KnownMessage[] | undefined)[];

  /** @param before see `ReadArray` */
  constructor(shared: SharedArray | undefined, before: FieldValues = []) {
    this.shared = shared;
    this.isSame = shared !== undefined && areEqual(shared.read.before, before);
    const byFirst: (KnownMessage[] | undefined)[] = [];
    for (const message of shared && this.isSame ? shared.read.messages : []) {
      const same = byFirst[message.first];
      if (same) same.push(message);
      else byFirst[message.first] = [message];
    }
    this.byFirst = byFirst;
  }

  /**
   * The facts about a message; undefined unless all of its elements are shared.
   *
   * @param order among the messages of one element
   */
  at(first: number, length: number, order = 0): Facts | undefined {
    const known = this.byFirst[first]?.[order];
    const count = this.shared?.items.length ?? 0;
    return known?.length === length && first + length <= count ? (known.facts as Facts) : undefined;
  }

  /** The facts about a message before the array. */
  before(index: number): MessageFacts | undefined {
    return this.isSame ? this.shared?.read.before[index]?.facts : undefined;
  }

  element(index: number): Element | undefined {
    const { items = [], read } = this.shared ?? {};
    return index < items.length ? (read?.elements[index] as Element | undefined) : undefined;
  }
}

function areEqual(some: FieldValues, others: FieldValues): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ value }, at) => {
    const other = others[at]?.value;
    return other?.length === value.length && isEqual(value, other);
  });
}
