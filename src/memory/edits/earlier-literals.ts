/**
 * Which literals of an output stand in no earlier message.
 *
 * A literal that the table of earlier literals has no room for counts as new: it may be named
 * again, and is never left out (`lib/hash-table.ts`).
 */
import { elementAt } from '../../lib/elements.ts';
import type { Message } from '../conversation/message.ts';
import { eachLiteral, ScannedLiterals, type Take } from './literals.ts';
import { Origins } from './origins.ts';

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

/** The literals of one array, for one plan. */
export class EarlierLiterals {
  private readonly messages: readonly Message[];
  private readonly scanned = new ScannedLiterals();
  private origins: Origins | undefined;

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
    const origins = this.originsBefore(index);
    const rest = removed ? [text.slice(0, removed.from), text.slice(removed.to)] : [];
    // Head and tail of an offloaded output are only a few hundred tokens.
    const kept = new Set<string>();
    for (const part of rest) eachLiteral(part, (literal) => kept.add(literal.text));
    this.scanned.each(index, text, (literal) => {
      const origin = origins.of(literal) ?? index;
      if (origin >= index && !kept.has(literal.text) && !REF.test(literal.text)) take(literal);
    });
  }

  /** The first message with each literal of those before one, and perhaps of later ones. */
  private originsBefore(index: number): Origins {
    const { messages, scanned } = this;
    // Another array with the same beginning may have taken them and read on.
    if (!this.origins || !areKept(messages, this.origins)) this.origins = takeOrigins(messages);
    const { origins } = this;
    const from = origins.read;
    while (origins.read < index) {
      const { read } = origins;
      origins.readNext((take) => {
        for (const text of textsOf(elementAt(messages, read))) scanned.each(read, text, take);
      });
    }
    if (origins.read > from) keepOrigins(messages, from, origins);
    return origins;
  }
}

/** The origins that the isolate knows for the most messages of an array, else new ones. */
function takeOrigins(messages: readonly Message[]): Origins {
  return messages.findLast(({ facts }) => facts.origins)?.facts.origins ?? new Origins();
}

/** Whether origins stand at the last of an array's messages that they have read. */
function areKept(messages: readonly Message[], origins: Origins): boolean {
  return origins.read === 0 || messages[origins.read - 1]?.facts.origins === origins;
}

/**
 * Moves origins to the last message that they have read. From here on they hold for arrays with
 * this message alone.
 *
 * @param from the number of messages that they had read before
 */
function keepOrigins(messages: readonly Message[], from: number, origins: Origins): void {
  if (from > 0) delete elementAt(messages, from - 1).facts.origins;
  elementAt(messages, origins.read - 1).facts.origins = origins;
}

function textsOf(message: Message): readonly string[] {
  return [...message.content().weight.texts, ...message.otherTexts()];
}
