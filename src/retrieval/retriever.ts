/** Answers a model's calls for what was removed: clear words for whatever can't be given, so that the model goes on. */
import { REF_PATTERN } from '../memory/placeholder.ts';
import type { TokenCounter } from '../memory/tokens.ts';
import type { Opened } from '../storage/envelope.ts';
import { answerQuery, parseQuery, type Query } from './query.ts';
import { shorten } from './shorten.ts';
import { type Retrieve, readArguments } from './tool.ts';

/** Lines around each match of `grep`. */
const GREP_CONTEXT = '2';

const ANY_REF = new RegExp(REF_PATTERN.source.replace(/[$^]/g, ''), 'g');

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
  /** The refs that may be asked for: those that the model was shown. */
  private readonly named: Set<string>;
  private readonly asked = new Set<string>();

  /** @param view all that the model reads; only refs that stand there are given out, and those that stand in what was given out */
  constructor(shelf: Shelf, counter: Pick<TokenCounter, 'text'>, view: string) {
    this.shelf = shelf;
    this.counter = counter;
    this.named = new Set(refsIn(view));
  }

  /** The result of one call. Never throws. @param args as the model has written them */
  async answer(args: string): Promise<string> {
    const read = readArguments(args);
    if (!read.ok) return read.reason;
    const { ref } = read.value;
    if (!REF_PATTERN.test(ref) || !this.named.has(ref) || !this.shelf.owns(ref))
      return `There is nothing under ${quoted(ref)}. Use a ref as it stands in a placeholder of this conversation.`;
    const query = parseQuery((name) => parameterOf(read.value, name));
    if (!query.ok) return query.reason.message;
    const key = JSON.stringify(read.value);
    if (this.asked.has(key)) return 'This was given above already, in this answer. Go on with it.';
    this.asked.add(key);
    const opened = await this.shelf.get(ref).catch(() => 'failed' as const);
    if (opened === 'failed') {
      this.asked.delete(key);
      return 'Storage does not answer at the moment. Go on without it, and say so if it matters.';
    }
    if (!opened) return `What stood under ${ref} is not kept any more. Go on without it.`;
    return this.resultOf(opened, read.value, query.value);
  }

  private resultOf({ content }: Opened, { ref, maxTokens }: Retrieve, query: Query | undefined): string {
    const whole = query
      ? answerQuery(content, query)
      : { ok: true as const, value: { text: new TextDecoder().decode(content), truncated: false } };
    if (!whole.ok) return whole.reason.message;
    const { text, shown, lines } = shorten(whole.value.text, maxTokens, this.counter);
    this.given.push(ref);
    for (const named of refsIn(text)) this.named.add(named);
    if (text === '' && whole.value.text === '') return '(nothing)';
    const isCut = text.length < whole.value.text.length || whole.value.truncated;
    return isCut ? `${text.replace(/\n$/, '')}\n${noteOf(query, shown, lines, maxTokens)}` : text;
  }
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

function refsIn(text: string): string[] {
  return [...text.matchAll(ANY_REF)].map(([ref]) => ref);
}

/** What a model has made up may be anything. */
function quoted(ref: string): string {
  return JSON.stringify(ref.slice(0, 64));
}
