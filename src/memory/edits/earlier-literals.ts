/**
 * Which literals of an output are in no earlier message.
 *
 * A literal that the table of earlier literals has no room for counts as new: it may be named
 * again, and is never left out (`lib/hash-table.ts`).
 */
import { elementAt } from '../../lib/elements.ts';
import { type Hashed, HashTable } from '../../lib/hash-table.ts';
import type { Message, MessageFacts } from '../conversation/message.ts';
import { REF_LENGTH } from '../conversation/refs.ts';
import { eachLiteral, type Literal, type Take } from './literals.ts';

/**
 * A ref, also inside a URL or key. Refs in a tool's output are not verified, and a view must only
 * name refs that can be fetched.
 */
export const REF = /ref_[a-z2-7]{26}/;

/** A part of an output: its characters from `from` up to, but not including, `to`. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/**
 * In characters of texts, which their literals keep alive: V8 cuts out no copy. An array of 1 MB is
 * shorter.
 */
const MOST_FRESH = 1_500_000;

/** Facts about a message, with where the literals of the messages up to it first occur. */
export interface LiteralFacts extends MessageFacts {
  origins?: Origins;
}

const factsOf = ({ facts }: Message): LiteralFacts => facts;

/** The literals of one array, for one plan. */
export class EarlierLiterals {
  private readonly messages: readonly Message[];
  private origins: Origins | undefined;
  /** By message, the literals of its first text that no earlier message holds. */
  private readonly fresh = new Map<number, readonly Literal[]>();
  /** For this many more characters. Beyond it, a text is scanned again for its preview. */
  private room = MOST_FRESH;

  constructor(messages: readonly Message[]) {
    this.messages = messages;
  }

  /**
   * Hands over an output's literals that occur neither in earlier messages nor in the rest that
   * stays.
   *
   * @param index the message with the output
   * @param removed the part that is removed; absent for all of it
   */
  eachFresh(index: number, text: string, removed: Part | undefined, take: Take): void {
    const rest = removed ? [text.slice(0, removed.from), text.slice(removed.to)] : [];
    // Head and tail of an offloaded output are only a few hundred tokens.
    const kept = new Set<string>();
    for (const part of rest) eachLiteral(part, (literal) => kept.add(literal.text));
    this.eachNew(index, text, (literal) => {
      if (!kept.has(literal.text) && !isRef(literal.text)) take(literal);
    });
  }

  /** Hands over the literals of a text of a message that occur in no earlier one. */
  private eachNew(index: number, text: string, take: Take): void {
    const origins = this.originsThrough(index);
    const known = this.fresh.get(index);
    if (known && elementAt(this.messages, index).content().weight.texts[0] === text) known.forEach(take);
    else eachLiteral(text, take, (literal) => (origins.of(literal) ?? index) < index);
  }

  /** The first message with each literal of those up to one, and perhaps of later ones. */
  private originsThrough(index: number): Origins {
    const { messages } = this;
    // Another array with the same beginning may have taken them and read on.
    if (!this.origins || !areKept(messages, this.origins)) this.origins = takeOrigins(messages);
    const { origins } = this;
    const from = origins.read;
    while (origins.read <= index) this.readNext(origins);
    if (origins.read > from) keepOrigins(messages, from, origins);
    return origins;
  }

  private readNext(origins: Origins): void {
    const { read } = origins;
    const texts = textsOf(elementAt(this.messages, read));
    const fresh = origins.readNext(texts);
    const [{ length } = ''] = texts;
    if (!fresh || length > this.room || this.fresh.has(read)) return;
    this.room -= length;
    this.fresh.set(read, fresh);
  }
}

function isRef(literal: string): boolean {
  return literal.length >= REF_LENGTH && REF.test(literal);
}

/** The origins that the isolate knows for the most messages of an array, else new ones. */
function takeOrigins(messages: readonly Message[]): Origins {
  const found = messages.findLast((message) => factsOf(message).origins);
  return (found && factsOf(found).origins) ?? new Origins();
}

/** Whether origins are at the last of an array's messages that they have read. */
function areKept(messages: readonly Message[], origins: Origins): boolean {
  if (origins.read === 0) return true;
  const last = messages[origins.read - 1];
  return last !== undefined && factsOf(last).origins === origins;
}

/**
 * Moves origins to the last message that they have read. From here on they hold for arrays with
 * this message alone.
 *
 * @param from the number of messages that they had read before
 */
function keepOrigins(messages: readonly Message[], from: number, origins: Origins): void {
  if (from > 0) delete factsOf(elementAt(messages, from - 1)).origins;
  factsOf(elementAt(messages, origins.read - 1)).origins = origins;
}

function textsOf(message: Message): readonly string[] {
  return [...message.content().weight.texts, ...message.otherTexts()];
}

/**
 * Literals whose first occurrence is remembered. With more, a preview may repeat a literal of an
 * earlier message: that wastes a few tokens, while remembering more would take other requests'
 * memory.
 */
const MOST_ORIGINS = 150_000;

/** Literals of a text that are handed over. Of more, a preview reads the text again. */
const MOST_NEW = 10_000;

/**
 * The first message with each literal. Of two literals with the same hash, one would be missing
 * from a preview. A literal that the table has no room for is unknown, and may be repeated.
 */
export class Origins {
  /** The number of messages that have been read. */
  read = 0;
  private readonly first = new HashTable();

  /** Bytes of memory. */
  get bytes(): number {
    return this.first.bytes;
  }

  /**
   * Reads the next message.
   *
   * @param texts of the message
   * @returns the literals of its first text that no earlier message holds; undefined if there is no
   *   room for them
   */
  readNext(texts: readonly string[]): readonly Literal[] | undefined {
    const wasFull = this.isFull;
    const fresh: Literal[] = [];
    if (!wasFull) for (const [index, text] of texts.entries()) this.add(text, index === 0 ? fresh : []);
    this.read++;
    return wasFull || fresh.length > MOST_NEW ? undefined : fresh;
  }

  /** @param fresh takes the literals that are new, and one more than this many at most */
  private add(text: string, fresh: Literal[]): void {
    const { first, read } = this;
    eachLiteral(
      text,
      (literal) => {
        if (!this.isFull) first.add(literal, read);
        if (fresh.length <= MOST_NEW) fresh.push(literal);
      },
      (literal) => first.get(literal) !== undefined,
    );
  }

  /** The first message that holds a literal; undefined if none does, or if that is unknown. */
  of(literal: Hashed): number | undefined {
    return this.first.get(literal);
  }

  private get isFull(): boolean {
    return this.first.size >= MOST_ORIGINS;
  }
}
