/** Answers a model's calls for what was removed: clear words for whatever can't be given, so that the model goes on. */
import { REF_PATTERN, refsIn } from '../memory/placeholder.ts';
import type { Result } from '../memory/result.ts';
import type { TokenCounter } from '../memory/tokens.ts';
import type { Opened } from '../storage/envelope.ts';
import { answerQuery, parseQuery, type Query } from './query.ts';
import { shorten } from './shorten.ts';
import { type Retrieve, readArguments } from './tool.ts';

/** Lines around each match of `grep`. */
const GREP_CONTEXT = '2';

/** What a retriever reads from. */
export interface Shelf {
  /** Whether a ref is one of this tenant's; known without I/O. */
  owns(ref: string): boolean;
  /** The content; undefined when it is gone. @throws when storage fails */
  get(ref: string): Promise<Opened | undefined>;
}

/** Answers the calls of one request. */
export class Retriever {
  /** What was given out, in order. */
  readonly given: string[] = [];
  private readonly shelf: Shelf;
  private readonly counter: Pick<TokenCounter, 'text'>;
  private readonly mayAsk: (ref: string) => boolean;
  /** The refs that stand in what was given out. */
  private readonly named = new Set<string>();
  private readonly asked = new Set<string>();

  /** @param mayAsk which refs may be asked for, beside those that stand in what was given out (see `namedIn`) */
  constructor(shelf: Shelf, counter: Pick<TokenCounter, 'text'>, mayAsk: (ref: string) => boolean) {
    this.shelf = shelf;
    this.counter = counter;
    this.mayAsk = mayAsk;
  }

  /** What a model is told on one call: the content, or in words why there is none. Never throws. @param args as the model has written them */
  async answer(args: string): Promise<string> {
    const found = await this.find(args);
    return found.ok ? found.value : found.reason;
  }

  /** The same, for whoever tells failures from contents. Never throws. */
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
    const opened = await this.shelf.get(ref).catch(() => 'failed' as const);
    if (opened === 'failed') {
      this.asked.delete(key);
      return failed('Storage does not answer at the moment. Go on without it, and say so if it matters.');
    }
    if (!opened) return failed(`What stood under ${ref} is not kept any more. Go on without it.`);
    return this.resultOf(opened, read.value, query.value);
  }

  private isOpen(ref: string): boolean {
    return this.named.has(ref) || this.mayAsk(ref);
  }

  private resultOf(
    { content }: Opened,
    { ref, maxTokens }: Retrieve,
    query: Query | undefined,
  ): Result<string, string> {
    const whole = query
      ? answerQuery(content, query)
      : { ok: true as const, value: { text: new TextDecoder().decode(content), truncated: false } };
    if (!whole.ok) return failed(whole.reason.message);
    const { text, shown, lines } = shorten(whole.value.text, maxTokens, this.counter);
    this.given.push(ref);
    for (const named of refsIn(text)) this.named.add(named);
    if (text === '' && whole.value.text === '') return { ok: true, value: '(nothing)' };
    const isCut = text.length < whole.value.text.length || whole.value.truncated;
    const value = isCut ? `${text.replace(/\n$/, '')}\n${noteOf(query, shown, lines, maxTokens)}` : text;
    return { ok: true, value };
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

/** The way to the rest of a result that was cut. */
function noteOf(query: Query | undefined, shown: number, lines: number, maxTokens: number): string {
  const first = query?.kind === 'lines' ? query.from : 1;
  const more = `a larger max_tokens than ${maxTokens}`;
  if (query && query.kind !== 'lines') return `[cut here; ask for less, or for ${more}]`;
  if (shown === 0) return `[cut in line ${first}; ask for a part with grep or path, or for ${more}]`;
  const next = first + shown;
  return `[cut behind line ${next - 1} of ${first + lines - 1}; ask for lines=${next}-${first + lines - 1}, for a part with grep or path, or for ${more}]`;
}

function parameterOf({ lines, grep, path }: Retrieve, name: string): string | undefined {
  if (name === 'context') return grep === undefined ? undefined : GREP_CONTEXT;
  return { lines, grep, path }[name];
}

/** What a model has made up may be anything. */
function quoted(ref: string): string {
  return JSON.stringify(ref.slice(0, 64));
}
