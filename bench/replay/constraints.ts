/**
 * Constraints: sentences in which the user says always, never, must or don't. A summary that words
 * them anew may change them, so it is counted how many are in the view verbatim.
 */
import type { ChatJson, SentMessage } from './conversation.ts';

/** A sentence, and the message that says it first. */
export interface Constraint {
  readonly sentence: string;
  readonly message: number;
}

/** What one conversation has left of its constraints after a number of roll-ups. */
export interface Survival {
  /** `MOST_ROLL_UPS` means this many or more. */
  readonly rollUps: number;
  /** Constraints that the user has given by then. */
  readonly given: number;
  /** How many of them are in the view verbatim. */
  readonly kept: number;
}

export const MOST_ROLL_UPS = 3;

const SENTENCE_END = /(?<=[.!?])\s+|\n+/;
const CONSTRAINT = /\b(?:always|never|must|don['’]t|do not)\b/i;
/** In characters. Shorter lines are no sentences. */
const SHORTEST = 12;

/** The constraints of a conversation, in order. Text that is repeated counts once. */
export function constraintsIn(messages: readonly ChatJson[]): Constraint[] {
  const first = new Map<string, number>();
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== 'user') continue;
    for (const text of textsOf(content))
      for (const part of text.split(SENTENCE_END)) {
        const sentence = part.trim();
        if (sentence.length < SHORTEST || !CONSTRAINT.test(sentence) || first.has(sentence)) continue;
        first.set(sentence, index);
      }
  }
  return [...first].map(([sentence, message]) => ({ sentence, message }));
}

/** A view as it is checked. */
interface CheckedView {
  /** How many of the caller's messages it shows. */
  readonly count: number;
  readonly rollUps: number;
  readonly messages: readonly Pick<SentMessage, 'text'>[];
}

/** What is left in the last view after each number of roll-ups, where there are constraints. */
export function survivalIn(constraints: readonly Constraint[], views: readonly CheckedView[]): Survival[] {
  const last = new Map(views.map((view) => [Math.min(view.rollUps, MOST_ROLL_UPS), view]));
  return [...last].flatMap(([rollUps, { count, messages }]) => {
    const given = constraints.filter(({ message }) => message < count);
    const kept = given.filter(({ sentence }) => messages.some(({ text }) => text.includes(sentence)));
    return given.length === 0 ? [] : [{ rollUps, given: given.length, kept: kept.length }];
  });
}

function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
}
