/**
 * The passage of a text that a search shows: that with the most of its words, as `snippet()` of
 * FTS5 chooses it (https://www.sqlite.org/fts5.html#the_snippet_function). That function compares
 * each occurrence of a word with each other one, and `highlight()` copies its result at each. This
 * is linear in the length of the text. Pure.
 */
import { tokensOf } from './tokens.ts';

/** Positions in characters. */
interface Passage {
  readonly start: number;
  readonly end: number;
  /** Where the first of the words in it begins. */
  readonly word: number;
}

/** The points of a passage: for each word, for each repetition, and for where it begins. */
const WORD = 1_000;
const REPETITION = 1;
const AT_SENTENCE = 100;
const AT_BEGINNING = 120;

/** Where a word occurs. */
interface Place {
  /** The index of its first token. */
  readonly token: number;
  /** In tokens. */
  readonly length: number;
  /** The index of the word. */
  readonly word: number;
}

interface Found {
  /** Where each token begins and ends. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The indices of the tokens that begin a sentence. */
  readonly sentences: readonly number[];
  /** In order. */
  readonly places: readonly Place[];
}

/**
 * The best passage of a text; undefined unless the text has all of the words.
 *
 * @param words the folded tokens of each (see `wordsOf`)
 * @param size in tokens
 */
export function passageOf(
  text: string,
  words: readonly (readonly string[])[],
  size: number,
): Passage | undefined {
  const found = find(text, words);
  if (new Set(found.places.map(({ word }) => word)).size < words.length) return undefined;
  const { starts, ends, places } = found;
  const first = bestStart(found, size, words.length);
  const shown = places.find(({ token }) => token >= first);
  if (!shown) return undefined;
  const last = first + size - 1;
  return {
    start: first === 0 ? 0 : (starts[first] ?? 0),
    end: last >= ends.length - 1 ? text.length : (ends[last] ?? text.length),
    word: starts[shown.token] ?? 0,
  };
}

function find(text: string, words: readonly (readonly string[])[]): Found {
  const known = new Map(words.flat().map((token) => [token, token] as const));
  const starts: number[] = [];
  const ends: number[] = [];
  const sentences: number[] = [];
  const tokens: (string | undefined)[] = [];
  for (const { start, end, folded } of tokensOf(text)) {
    if (beginsSentence(text, start, ends.at(-1))) sentences.push(starts.length);
    starts.push(start);
    ends.push(end);
    // The token of the query, so that no part of the text is kept.
    tokens.push(known.get(folded));
  }
  return { starts, ends, sentences, places: placesOf(words, tokens) };
}

/** Where words occur. @param tokens undefined where a token is of no word */
function placesOf(
  words: readonly (readonly string[])[],
  tokens: readonly (string | undefined)[],
): readonly Place[] {
  const byFirst = Map.groupBy(words.keys(), (word) => words[word]?.[0]);
  const places: Place[] = [];
  for (const [token, first] of tokens.entries()) {
    if (first === undefined) continue;
    for (const word of byFirst.get(first) ?? []) {
      const parts = words[word] ?? [];
      if (parts.every((part, index) => tokens[token + index] === part))
        places.push({ token, length: parts.length, word });
    }
  }
  return places;
}

/** Whether a token follows a full stop or a colon and white space, or is the first one. */
function beginsSentence(text: string, start: number, before: number | undefined): boolean {
  if (before === undefined) return true;
  let at = start - 1;
  while (at >= before && ' \t\n\r'.includes(text.charAt(at))) at--;
  return at < start - 1 && (text[at] === '.' || text[at] === ':');
}

/**
 * The token with which the best passage begins. Of equal ones, the first.
 *
 * @param size in tokens
 * @param words their number
 */
export function bestStart({ starts, sentences, places }: Found, size: number, words: number): number {
  const atPlace = new Window(places, size, words);
  const atSentence = new Window(places, size, words);
  let best = { points: 0, start: 0 };
  const offer = (points: number, start: number): void => {
    if (points > best.points) best = { points, start };
  };
  let sentence = 0;
  for (const { token } of places) {
    offer(atPlace.moveTo(token), centred(atPlace, size, starts.length));
    while ((sentences[sentence + 1] ?? starts.length) <= token) sentence++;
    const begin = sentences[sentence] ?? 0;
    if (begin < token && starts.length > size)
      offer(atSentence.moveTo(begin) + (begin === 0 ? AT_BEGINNING : AT_SENTENCE), begin);
  }
  return best.start;
}

/** Where a passage begins that has the words of a window in its middle. */
function centred(window: Window, size: number, tokens: number): number {
  const { first, end } = window;
  return Math.max(0, Math.min(first - Math.trunc((size - (end - first)) / 2), tokens - size));
}

/** The words in this many tokens. It moves forward over the places of the words. */
class Window {
  private readonly places: readonly Place[];
  private readonly size: number;
  private readonly times: number[];
  /** The words that occur in it. */
  private various = 0;
  private from = 0;
  private to = 0;

  constructor(places: readonly Place[], size: number, words: number) {
    this.places = places;
    this.size = size;
    this.times = Array<number>(words).fill(0);
  }

  /** The token with the first word. */
  get first(): number {
    return this.places[this.from]?.token ?? 0;
  }

  /** The token after the last word. */
  get end(): number {
    const last = this.places[this.to - 1];
    return last ? last.token + last.length : 0;
  }

  /** Moves to a token, at or after the one before. @returns the points of the words in it */
  moveTo(token: number): number {
    for (
      let next = this.places[this.to];
      next && next.token < token + this.size;
      next = this.places[this.to]
    ) {
      if (this.count(next, 1) === 1) this.various++;
      this.to++;
    }
    for (let old = this.places[this.from]; old && old.token < token; old = this.places[this.from]) {
      if (this.count(old, -1) === 0) this.various--;
      this.from++;
    }
    return WORD * this.various + REPETITION * (this.to - this.from - this.various);
  }

  private count({ word }: Place, by: number): number {
    const times = (this.times[word] ?? 0) + by;
    this.times[word] = times;
    return times;
  }
}
