/**
 * The constraints of a summary must be the user's. A model that reads transcripts may mistake an
 * order in a tool output for a constraint, which would then bind all later requests and, by
 * injection, other conversations. So a line counts only if it shares its words with something that
 * the user wrote.
 */
import { readSections, writeSections } from './headings.ts';

/** The least share of a line's words that must occur in one sentence of the user's. */
const LEAST_SHARE = 0.5;

/** Shorter words occur in every sentence. In letters. */
const SHORTEST_WORD = 4;

/** Between sentences, in texts of any language. */
export const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n/;
const WORD = /[\p{L}\p{N}]+/gu;

/** Scripts without spaces between words, or with suffixes. Their words are pairs of characters. */
const PAIRED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/**
 * A summary's text with only the user's constraints.
 *
 * @param userTexts texts of the user, including the constraints of earlier summaries
 */
export function withUserConstraints(text: string, userTexts: readonly string[]): string {
  const sections = new Map(readSections(text));
  const lines = (sections.get('## Constraints') ?? '').split('\n');
  if (lines.every((line) => line.trim() === '')) return text;
  const said = userTexts.flatMap((one) => one.split(SENTENCE_END)).map(wordsOf);
  const kept = lines.filter((line) => isOf(wordsOf(line), said));
  if (kept.length === lines.length) return text;
  return writeSections(sections.set('## Constraints', kept.join('\n').trim()));
}

/** The sections of a summary that contain the user's words. */
export function userWordsIn(summary: string): string[] {
  const sections = readSections(summary);
  return [sections.get('## User Intent') ?? '', sections.get('## Constraints') ?? ''];
}

function isOf(words: ReadonlySet<string>, said: readonly ReadonlySet<string>[]): boolean {
  const least = words.size * LEAST_SHARE;
  const shared = (sentence: ReadonlySet<string>): number =>
    [...words].reduce((count, word) => count + (sentence.has(word) ? 1 : 0), 0);
  return words.size > 0 && said.some((sentence) => shared(sentence) >= least);
}

/** The distinct long words of a line, or all its words if none is long. */
function wordsOf(line: string): Set<string> {
  const all = (line.toLowerCase().match(WORD) ?? []).flatMap((word) =>
    PAIRED.test(word) ? pairs(word) : word,
  );
  const telling = all.filter(
    (word) => word.length >= SHORTEST_WORD || /\p{N}/u.test(word) || PAIRED.test(word),
  );
  return new Set(telling.length > 0 ? telling : all);
}

function pairs(word: string): string[] {
  const characters = [...word];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
