/**
 * Answers a model's calls for what was removed: clear words for whatever can't be given, so that
 * the model goes on.
 */

import type { Result } from '../lib/result.ts';
import { REF_PATTERN, refsIn } from '../memory/edits/placeholder.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { ToolTurn } from '../protocol/tool-turn.ts';
import type { Opened } from '../tenant/envelope.ts';
import { CUT_BY_ROOM, wayToRest } from './cut-note.ts';
import { answerQuery, parseQuery, type Query } from './query.ts';
import { OpenedShelf, type Shelf } from './shelf.ts';
import { shorten } from './shorten.ts';
import { type Retrieve, readArguments } from './tool.ts';

/** Lines around each match of `grep`. */
const GREP_CONTEXT = '2';

/** In less room than this nothing is given, in tokens. */
const LEAST_ROOM = 100;

/** What goes up around each result, and the words where there is none, in tokens. */
const AROUND_RESULT = 100;

const NO_ROOM = 'There is no room for more in this answer. Go on with what you have.';

/** Answers the calls of one request. */
export class Retriever {
  /** What was given out: each ref once, in order. */
  readonly given: string[] = [];
  private readonly shelf: Shelf;
  private readonly counter: Pick<TokenCounter, 'text'>;
  private readonly mayAsk: (ref: string) => boolean;
  /** What is left of the room, in tokens. */
  private room: number;
  /** The refs that stand in what was given out. */
  private readonly named = new Set<string>();
  private readonly asked = new Set<string>();

  /**
   * @param mayAsk which refs may be asked for, beside those that stand in what was given out (see
   *   `namedIn`)
   * @param room for all that the calls add to the request, in tokens
   */
  constructor(
    shelf: Shelf,
    counter: Pick<TokenCounter, 'text'>,
    mayAsk: (ref: string) => boolean,
    room = Number.POSITIVE_INFINITY,
  ) {
    this.shelf = new OpenedShelf(shelf);
    this.counter = counter;
    this.mayAsk = mayAsk;
    this.room = room;
  }

  /** A turn of the model goes up again: it takes room beside the results. */
  hear({ said, calls }: ToolTurn): void {
    for (const message of said) this.room -= this.counter.text(JSON.stringify(message));
    this.room -= calls.length * AROUND_RESULT;
  }

  /**
   * What a model is told on one call: the content, or in words why there is none. Never throws.
   *
   * @param args as the model has written them
   */
  async answer(args: string): Promise<string> {
    const found = await this.find(args);
    return found.ok ? found.value : found.reason;
  }

  /** The result of another tool, as far as there is room: what it names may be asked for too. */
  give(result: string): string {
    if (this.room < LEAST_ROOM) return NO_ROOM;
    const { text, isCut } = shorten(result, this.room, this.counter);
    return this.told(text, isCut ? `${text}\n${CUT_BY_ROOM}` : text);
  }

  /** The same as `answer`, for whoever tells failures from contents. Never throws. */
  async find(args: string): Promise<Result<string, string>> {
    const read = readArguments(args);
    if (!read.ok) return read;
    const { ref } = read.value;
    if (!REF_PATTERN.test(ref) || !this.isOpen(ref) || !this.shelf.owns(ref))
      return failed(
        `There is nothing under ${quoted(ref)}. Use a ref as it stands in a placeholder of this conversation.`,
      );
    const query = parseQuery((name) => parameterOf(read.value, name));
    if (!query.ok) return failed(query.reason.message);
    const key = JSON.stringify(read.value);
    if (this.asked.has(key)) return failed('This was given above already, in this answer. Go on with it.');
    this.asked.add(key);
    const found = await this.fetch(read.value, query.value);
    if (!found.ok) this.asked.delete(key);
    return found;
  }

  private isOpen(ref: string): boolean {
    return this.named.has(ref) || this.mayAsk(ref);
  }

  private async fetch(asked: Retrieve, query: Query | undefined): Promise<Result<string, string>> {
    const opened = await this.shelf.get(asked.ref).catch((error: unknown) => {
      this.shelf.failed(error);
      return 'failed' as const;
    });
    if (opened === 'failed')
      return failed('Storage does not answer at the moment. Go on without it, and say so if it matters.');
    if (!opened) return failed(`What stood under ${asked.ref} is not kept any more. Go on without it.`);
    return this.resultOf(opened, asked, query);
  }

  private resultOf(
    { content }: Opened,
    { ref, maxTokens }: Retrieve,
    query: Query | undefined,
  ): Result<string, string> {
    if (this.room < LEAST_ROOM) return failed(NO_ROOM);
    const part = query
      ? answerQuery(content, query)
      : { ok: true as const, value: { text: textOf(content), truncated: false } };
    if (!part.ok) return failed(part.reason.message);
    const { text, isCut } = shorten(part.value.text, Math.min(maxTokens, this.room), this.counter);
    if (!this.given.includes(ref)) this.given.push(ref);
    if (!isCut && !part.value.truncated) return { ok: true, value: this.told(text, text || '(nothing)') };
    const byRoom = isCut && this.room < maxTokens;
    const note = byRoom ? CUT_BY_ROOM : wayToRest(query, text, textOf(content), maxTokens);
    return { ok: true, value: this.told(text, `${text.replace(/(\r\n|\n|\r)$/, '')}\n${note}`) };
  }

  /** @param text of a content @param result with what is said beside it */
  private told(text: string, result: string): string {
    for (const named of refsIn(text)) this.named.add(named);
    this.room -= this.counter.text(result);
    return result;
  }
}

/** For a model, which may ask only for what it was shown. @param view all that it reads */
export function namedIn(view: string): (ref: string) => boolean {
  const named = new Set(refsIn(view));
  return (ref) => named.has(ref);
}

function failed(reason: string): Result<string, string> {
  return { ok: false, reason };
}

function parameterOf({ lines, grep, path }: Retrieve, name: string): string | undefined {
  if (name === 'context') return grep === undefined ? undefined : GREP_CONTEXT;
  return { lines, grep, path }[name];
}

function textOf(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}

/** What a model has made up may be anything. */
function quoted(ref: string): string {
  return JSON.stringify(ref.slice(0, 64));
}
