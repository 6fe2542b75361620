/**
 * A model that reads a book with the tool of a client, some chapters in each step, and at last says the words that it has found in them. A
 * word is only found in an output that comes in full while the model has not answered it yet, so a right answer proves that all of them did.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { respond } from './behaviours.ts';
import { type ResponseAnswer, responseOf } from './response.ts';
import type { RecordedRequest } from './upstream.ts';

/** What the tool is called; in a request that has no function of that name, it is a custom tool. */
export const READ_CHAPTER = 'read_chapter';

/** In characters: about 5 000 tokens. */
const CHAPTER_LENGTH = 21_000;

const VOCABULARY = `the a one some every old small bright quiet northern wooden early careful heavy
  garden river letter bridge window market teacher morning winter journey kitchen mountain harbour song
  finds carries opens follows remembers paints crosses keeps answers builds watches leaves
  slowly again today because before under behind without between toward`.split(/\s+/);

/** A text of over 20 kB that no other chapter shares, with its word in the middle. */
export function chapter(book: string, number: number): string {
  const words: string[] = [];
  let state = [...`${book} ${number}`].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
  for (let length = 0; length < CHAPTER_LENGTH; length += (words.at(-1)?.length ?? 0) + 1) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    words.push(VOCABULARY[(state >>> 8) % VOCABULARY.length] ?? '');
    if (words.length % 12 === 0) words[words.length - 1] += '.\n';
  }
  words.splice(words.length / 2, 0, `\nThe word of chapter ${number} is ${wordOf(book, number)}.\n`);
  return `Chapter ${number} of ${book}\n${words.join(' ')}`;
}

const wordOf = (book: string, number: number): string => `${book.replaceAll(/\W/g, '')}-${number * 37}`;

/** What the model says at last. */
export const reading = (book: string, ...numbers: number[]): string =>
  `The words are ${numbers.map((number) => wordOf(book, number)).join(', ')}.`;

/** The arguments of the tool. */
export interface Arguments {
  readonly number: number;
}

type Json = Record<string, unknown>;

export class ReadingModel {
  /** What it has said to requests that did not forbid to store it, by id. */
  readonly stored = new Map<string, object>();
  private steps: (readonly number[])[] = [];
  private words: string[] = [];
  private answers = 0;

  /** Forgets what it has read, and reads these chapters: those of one step at once. */
  read(...steps: (readonly number[])[]): void {
    this.steps = steps;
    this.words = [];
  }

  /** One request of the Responses API. */
  readonly behaviour = (_: IncomingMessage, response: ServerResponse, { body }: RecordedRequest): void => {
    for (const output of freshOutputs(body))
      this.words.push(...(/(?<=The word of chapter \d+ is )[^.]+/.exec(output) ?? ['(not in the output)']));
    const answer = this.next(body);
    if (body.store !== false)
      for (const item of responseOf(body, answer).output as { id: string }[]) this.stored.set(item.id, item);
    respond(response, body, answer);
  };

  private next(body: Json): ResponseAnswer {
    const id = `reading_${this.answers++}`;
    const step = this.steps.shift();
    const reasoning = {
      encrypted: `${id}:${'encrypted'.repeat(20)}`,
      // Some reasoning is told in words, and some is not.
      ...(this.answers % 2 === 0 ? { summary: 'I go on reading.' } : {}),
    };
    if (!step) return { id, reasoning, content: `The words are ${this.words.join(', ')}.` };
    const calls = step.map((number) => ({
      id: `call_${id}_${number}`,
      name: READ_CHAPTER,
      arguments: JSON.stringify({ number } satisfies Arguments),
    }));
    return { id, reasoning, ...(hasFunction(body) ? { toolCalls: calls } : { customCalls: calls }) };
  }
}

function hasFunction({ tools }: Json): boolean {
  return Array.isArray(tools) && tools.some(({ type, name }) => type === 'function' && name === READ_CHAPTER);
}

/** The outputs behind the last item of another kind. */
function freshOutputs({ input }: Json): string[] {
  const items = Array.isArray(input) ? (input as Json[]) : [];
  const last = items.findLastIndex(({ type }) => !String(type).endsWith('_call_output'));
  return items.slice(last + 1).map(({ output }) => textOf(output));
}

/** An output's text, whether it is one or parts. */
export function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  return Array.isArray(output) ? output.map(({ text }) => String(text ?? '')).join('') : '';
}
