/**
 * A model that reads a book with a client's tool, some chapters per step, and finally says the
 * words that it found. It finds a word only in a complete output that it has not answered yet, so a
 * right answer proves that all outputs arrived.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { refsIn } from '../../../src/memory/conversation/refs.ts';
import { respond, sendAnswer, tokensOf } from '../../../tools/upstream/behaviours.ts';
import { usageOf } from '../../../tools/upstream/completion.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { type ResponseAnswer, responseOf } from '../../../tools/upstream/response.ts';

/** The tool's name. In a request without a function of that name it is a custom tool. */
export const READ_CHAPTER = 'read_chapter';

/** In characters: about 3,300 tokens. */
const CHAPTER_LENGTH = 21_000;

const VOCABULARY = `the a one some every old small bright quiet northern wooden early careful heavy
  garden river letter bridge window market teacher morning winter journey kitchen mountain harbour song
  finds carries opens follows remembers paints crosses keeps answers builds watches leaves
  slowly again today because before under behind without between toward`.split(/\s+/);

/** A unique text of over 20 kB with its word in the middle. */
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

/** The model's final text when it has found all words. */
export const reading = (book: string, ...numbers: number[]): string =>
  `The words are ${numbers.map((number) => wordOf(book, number)).join(', ')}.`;

/** The arguments of the tool. */
export interface Arguments {
  readonly number: number;
}

type Json = Record<string, unknown>;

/** Calls of one answer. */
type Calls = Pick<ResponseAnswer, 'toolCalls' | 'customCalls'>;

/** Makes the call that reads a chapter with the tools of a request. @param id of the call */
export type Reader = (number: number, id: string, body: Json) => Calls;

export class ReadingModel {
  /** Output items of requests that allowed storing, by id. */
  readonly stored = new Map<string, object>();
  private readonly reader: Reader;
  private steps: (readonly number[])[] = [];
  private words: string[] = [];
  /** Chapters whose words are not found yet. */
  private pending = 0;
  private answers = 0;
  private looksUp = false;

  constructor(reader: Reader = byTool) {
    this.reader = reader;
  }

  /** Starts over with these chapters, all of one step at once. */
  read(...steps: (readonly number[])[]): void {
    this.steps = steps;
    this.words = [];
    this.pending = 0;
    this.looksUp = false;
  }

  /** Makes it read a chapter once more, with our tool, as soon as the chapter is removed. */
  lookUp(): void {
    this.looksUp = true;
  }

  /**
   * Answers one request of the Responses API. A request without tools, such as one for a title,
   * does not count.
   */
  readonly behaviour = (_: IncomingMessage, response: ServerResponse, recorded: RecordedRequest): void => {
    const { body } = recorded;
    const id = `reading_${this.answers++}`;
    const said = hasTools(body) ? this.next(id, body) : { id, content: 'The book' };
    const answer = { ...said, usage: usageOf(tokensOf(recorded), 5) };
    if (body.store !== false)
      for (const item of responseOf(body, answer).output as { id: string }[]) this.stored.set(item.id, item);
    respond(response, body, answer);
  };

  /** The same for chat completions, which keep no reasoning and no custom calls. */
  readonly chatBehaviour = (
    _: IncomingMessage,
    response: ServerResponse,
    recorded: RecordedRequest,
  ): void => {
    const { body } = recorded;
    const id = `reading_${this.answers++}`;
    const input = (body.messages as Json[]).map(itemOf);
    const said = hasTools(body) ? this.next(id, { ...body, input }) : { content: 'The book' };
    const { content, toolCalls } = said as ResponseAnswer;
    const answer = { ...(content !== undefined && { content }), ...(toolCalls?.length && { toolCalls }) };
    sendAnswer(response, body, answer, {
      id: `chatcmpl-${id}`,
      model: String(body.model),
      usage: usageOf(tokensOf(recorded), 5),
    });
  };

  private next(id: string, body: Json): ResponseAnswer {
    const found = freshText(body).match(/(?<=The word of chapter \d+ is )[^.]+/g) ?? [];
    this.words.push(...found, ...Array(Math.max(0, this.pending - found.length)).fill('(not in the output)'));
    const reasoning = {
      encrypted: `${id}:${'encrypted'.repeat(20)}`,
      // Every other reasoning item has a summary.
      ...(this.answers % 2 === 0 ? { summary: 'I go on reading.' } : {}),
    };
    const [ref] = this.looksUp ? refsIn(JSON.stringify(body.input)) : [];
    if (ref !== undefined) {
      this.looksUp = false;
      this.pending = 1;
      const call = { id: `call_${id}`, name: 'retrieve_ref', arguments: JSON.stringify({ ref }) };
      return { id, reasoning, toolCalls: [call] };
    }
    const step = this.steps.shift();
    this.pending = step?.length ?? 0;
    if (!step) return { id, reasoning, content: `The words are ${this.words.join(', ')}.` };
    const calls = step.map((number) => this.reader(number, `call_${id}_${number}`, body));
    const toolCalls = calls.flatMap((made) => made.toolCalls ?? []);
    const customCalls = calls.flatMap((made) => made.customCalls ?? []);
    return { id, reasoning, toolCalls, customCalls };
  }
}

const byTool: Reader = (number, id, { tools }) => {
  const call = { id, name: READ_CHAPTER, arguments: JSON.stringify({ number } satisfies Arguments) };
  const isFunction =
    Array.isArray(tools) && tools.some(({ type, name }) => type === 'function' && name === READ_CHAPTER);
  return isFunction ? { toolCalls: [call] } : { customCalls: [call] };
};

/** Whether a request has tools, in its fields or as an item. */
export function hasTools({ tools, input }: Json): boolean {
  if (Array.isArray(tools) && tools.length > 0) return true;
  return Array.isArray(input) && input.some(({ type }) => type === 'additional_tools');
}

/** A message of chat as an item, as far as the model looks at it. */
function itemOf({ role, content }: Json): Json {
  return role === 'tool'
    ? { type: 'function_call_output', output: content }
    : { type: 'message', role, content };
}

/** The outputs after the last item of another kind. */
function freshText({ input }: Json): string {
  const items = Array.isArray(input) ? (input as Json[]) : [];
  const last = items.findLastIndex(({ type }) => !String(type).endsWith('_call_output'));
  return items
    .slice(last + 1)
    .map(({ output }) => textOf(output))
    .join('\n');
}

/** The text of an output, a string or parts. */
export function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  return Array.isArray(output) ? output.map(({ text }) => String(text ?? '')).join('') : '';
}
