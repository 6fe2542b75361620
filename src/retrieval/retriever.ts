/**
 * Answers a model's calls for removed content. If there is none, the answer says so in words, so
 * that the model goes on.
 */

import { parseJson } from '../lib/json.ts';
import type { Result } from '../lib/result.ts';
import { REF_PATTERN, refsIn } from '../memory/conversation/refs.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { ToolResult, ToolTurn } from '../protocol/answers/tool-turn.ts';
import { describeMedia, type Media, readHeldMedia } from '../protocol/held-media.ts';
import { FILE, IMAGE } from '../protocol/parts.ts';
import type { Opened } from '../tenant/envelope.ts';
import { CUT_BY_ROOM, wayToRest } from './cut-note.ts';
import { HeldContents, type HeldResult, keyOf } from './held-contents.ts';
import { answerQuery, type Query } from './query.ts';
import { GIVEN_ABOVE, NO_ROOM, notKept, unknownRef } from './refusals.ts';
import { openedShelf, type Shelf, STORAGE_FAILED } from './shelf.ts';
import { shorten } from './shorten.ts';
import { NOTHING, queryOf, type Retrieve, readArguments } from './tool.ts';

/** In tokens. With less room than this, nothing is given. */
const LEAST_ROOM = 100;

/** In tokens: the message around each result, or the words instead of one. */
const AROUND_RESULT = 100;

/** What is said of an image or a file. */
const SHOWN = 'it follows';
const NOT_SHOWN = "it can't be shown here. If you need it, ask the user to send it again";

/** Answers the calls of one request. */
export class Retriever {
  /** The refs given so far, in order, without duplicates. */
  readonly given: string[] = [];
  /** Whether no call has got words for want of storage or of room. */
  isSettled = true;
  private readonly shelf: Shelf;
  private readonly counter: Pick<TokenCounter, 'text'>;
  private readonly mayAsk: (ref: string) => boolean;
  private readonly held: HeldContents;
  private readonly carries: (media: Media) => boolean;
  /** Room that is left, in tokens. */
  private room: number;
  /** Refs in the contents given so far. */
  private readonly named = new Set<string>();
  private readonly asked = new Set<string>();

  /**
   * @param mayAsk which refs may be fetched beside those in contents given before (see `namedIn`)
   * @param room tokens that the calls may add to the request
   * @param held results of earlier calls in the view
   * @param carries whether a result can carry media; without it, they are described
   */
  constructor(
    shelf: Shelf,
    counter: Pick<TokenCounter, 'text'>,
    mayAsk: (ref: string) => boolean,
    room = Number.POSITIVE_INFINITY,
    held: readonly HeldResult[] = [],
    carries: (media: Media) => boolean = () => false,
  ) {
    this.shelf = openedShelf(shelf);
    this.counter = counter;
    this.mayAsk = mayAsk;
    this.room = room;
    this.held = new HeldContents(held);
    this.carries = carries;
  }

  /** Accounts for a turn of the model, which is sent back with the results. */
  announce({ messages, calls }: ToolTurn): void {
    for (const message of messages) this.room -= this.counter.text(JSON.stringify(message));
    this.room -= calls.length * AROUND_RESULT;
  }

  /** The answer to one call: the content, or the reason why there is none. Never throws. */
  async answer(args: string): Promise<ToolResult> {
    const found = await this.find(args);
    return found.ok ? found.value : found.reason;
  }

  /**
   * The result of another tool, cut to the room. Refs in it may be fetched from now on.
   *
   * @param brief given where there is no room for a result
   */
  give(result: string, brief = NO_ROOM): string {
    if (this.room < LEAST_ROOM) {
      this.isSettled = false;
      return brief;
    }
    const { text, isCut } = shorten(result, this.room, this.counter);
    return this.accountFor(text, isCut ? `${text}\n${CUT_BY_ROOM}` : text);
  }

  /** Like `answer`, but distinguishes failures from contents. Never throws. */
  async find(args: string): Promise<Result<ToolResult, string>> {
    const read = readArguments(args);
    if (!read.ok) return read;
    const { ref } = read.value;
    const isOpen = this.named.has(ref) || this.mayAsk(ref);
    if (!REF_PATTERN.test(ref) || !isOpen || !this.shelf.owns(ref)) {
      this.shelf.unknown();
      return failed(unknownRef(ref));
    }
    const query = queryOf(read.value);
    if (!query.ok) return failed(query.reason.message);
    const key = keyOf(read.value);
    if (this.asked.has(key)) return failed(GIVEN_ABOVE);
    this.asked.add(key);
    const found = this.heldFor(read.value, query.value) ?? (await this.fetch(read.value, query.value));
    if (!found.ok) this.asked.delete(key);
    return found;
  }

  /** The answer from what the view holds; undefined if it does not hold enough. */
  private heldFor(asked: Retrieve, query: Query | undefined): Result<string, string> | undefined {
    const same = this.held.resultOf(asked);
    if (same !== undefined) return { ok: true, value: this.give(same) };
    const whole = this.held.whole(asked.ref);
    // Words that were given of parts have no paths.
    const isEnough = whole !== undefined && (query?.kind !== 'path' || parseJson(whole) !== undefined);
    if (isEnough) return this.resultOf(new TextEncoder().encode(whole), asked, query);
    const lines = query?.kind === 'lines' ? this.held.linesOf(asked.ref, query) : undefined;
    // The note of a result that is cut says how many lines the content has.
    if (lines === undefined || this.counter.text(lines) > asked.maxTokens) return undefined;
    return { ok: true, value: this.give(lines || NOTHING) };
  }

  private async fetch(asked: Retrieve, query: Query | undefined): Promise<Result<ToolResult, string>> {
    const opened = await this.shelf.get(asked.ref).catch((error: unknown) => {
      this.shelf.failed(error);
      this.isSettled = false;
      return 'failed' as const;
    });
    if (opened === 'failed') return failed(STORAGE_FAILED);
    if (!opened) return failed(notKept(asked.ref));
    const found = this.openedResult(opened, asked, query);
    if (found.ok && !this.given.includes(asked.ref)) this.given.push(asked.ref);
    return found;
  }

  /** With its images and files, or with words in their place. */
  private openedResult(
    { content, metadata }: Opened,
    asked: Retrieve,
    query: Query | undefined,
  ): Result<ToolResult, string> {
    const isParts = metadata.content_type === 'application/json';
    const shown: Media[] = [];
    const readable =
      isParts &&
      readHeldMedia(textOf(content), (media) => {
        const price = media.kind === 'image' ? IMAGE : FILE;
        const isShown = !query && this.carries(media) && this.room - price >= LEAST_ROOM;
        if (isShown) {
          this.room -= price;
          shown.push(media);
        }
        return `[${describeMedia(media)}; ${isShown ? SHOWN : NOT_SHOWN}]`;
      });
    if (!readable) return this.resultOf(content, asked, query);
    const text = query?.kind === 'path' ? readable.json : readable.text;
    const found = this.resultOf(new TextEncoder().encode(text), asked, query);
    if (!found.ok || shown.length === 0) return found;
    return { ok: true, value: { text: found.value, media: shown } };
  }

  private resultOf(
    content: Uint8Array,
    { maxTokens }: Retrieve,
    query: Query | undefined,
  ): Result<string, string> {
    if (this.room < LEAST_ROOM) {
      this.isSettled = false;
      return failed(NO_ROOM);
    }
    const part = query
      ? answerQuery(content, query)
      : { ok: true as const, value: { text: textOf(content), truncated: false } };
    if (!part.ok) return failed(part.reason.message);
    const { text, isCut } = shorten(part.value.text, Math.min(maxTokens, this.room), this.counter);
    if (!isCut && !part.value.truncated) return { ok: true, value: this.accountFor(text, text || NOTHING) };
    const byRoom = isCut && this.room < maxTokens;
    const note = byRoom ? CUT_BY_ROOM : wayToRest(query, text, textOf(content), maxTokens);
    return { ok: true, value: this.accountFor(text, `${text.replace(/(\r\n|\n|\r)$/, '')}\n${note}`) };
  }

  /** Accounts for a result. @param text the content in it @param result with notes */
  private accountFor(text: string, result: string): string {
    for (const named of refsIn(text)) this.named.add(named);
    this.room -= this.counter.text(result);
    return result;
  }
}

/** Models may only fetch refs that they were shown. @param view everything that the model reads */
export function namedIn(view: string): (ref: string) => boolean {
  const named = new Set(refsIn(view));
  return (ref) => named.has(ref);
}

function failed(reason: string): Result<string, string> {
  return { ok: false, reason };
}

function textOf(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}
