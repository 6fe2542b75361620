/**
 * The constraints of a summary must be the user's. A model that reads transcripts may mistake an
 * order in a tool output for a constraint, which would then bind all later requests and, by
 * injection, other conversations. So a line counts only if it shares its words with something that
 * the user wrote.
 *
 * A line under Constraints stays only if half of its distinctive words occur in one sentence of the
 * user, or of an earlier summary's intent and constraints.
 */
import { readSections, writeSections } from './headings.ts';

/** The least share of a line's words that must occur in one sentence of the user's. */
const LEAST_SHARE = 0.5;

/** Shorter words occur in every sentence. In letters. */
const SHORTEST_WORD = 4;

/** Between sentences, in texts of any language. */
const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n/;
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
  const said = sentencesOf(userTexts);
  const kept = lines.filter((line) => isSaid(line, said));
  if (kept.length === lines.length) return text;
  return writeSections(sections.set('## Constraints', kept.join('\n').trim()));
}

/** The sections of a summary that contain the user's words. */
export function userWordsIn(summary: string): string[] {
  const sections = readSections(summary);
  return [sections.get('## User Intent') ?? '', sections.get('## Constraints') ?? ''];
}

/** The words of each sentence of some texts. */
type Sentences = readonly ReadonlySet<string>[];

/** The sentences of texts, to look for lines in them. */
export function sentencesOf(texts: readonly string[]): Sentences {
  return texts.flatMap((text) => text.split(SENTENCE_END)).map(wordsOf);
}

/** Whether one of the sentences has half of a line's words. */
export function isSaid(line: string, sentences: Sentences): boolean {
  const words = wordsOf(line);
  const least = words.size * LEAST_SHARE;
  const shared = (sentence: ReadonlySet<string>): number =>
    [...words].reduce((count, word) => count + (sentence.has(word) ? 1 : 0), 0);
  return words.size > 0 && sentences.some((sentence) => shared(sentence) >= least);
}

/** The distinct long words of a line, or all its words if none is long. */
function wordsOf(line: string): Set<string> {
  const all = (line.toLowerCase().match(WORD) ?? []).flatMap((word) =>
    PAIRED.test(word) ? pairs(word) : word,
  );
  const distinctive = all.filter(
    (word) => word.length >= SHORTEST_WORD || /\p{N}/u.test(word) || PAIRED.test(word),
  );
  return new Set(distinctive.length > 0 ? distinctive : all);
}

function pairs(word: string): string[] {
  const characters = [...word];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

const LONGEST_SENTENCE = 500;
/** The part of a message that is searched for sentences, in characters. */
const MOST_OF_TEXT = 200_000;

/** Words of obligation, in widely used languages. */
const BINDING = new RegExp(
  [
    "\\b(?:must|never|don['’]?t|do not|does not|mustn['’]?t|can(?:no|['’])t|only|always|without|avoid|forbidden|not allowed|should not|shouldn['’]t|under no circumstances|make sure|ensure|at (?:most|least)|no more than|prefer|instead of|required?)\\b",
    '\\b(?:muss|müssen|darf|dürfen|nie|niemals|nicht|nur|immer|ohne|vermeide|kein(?:e[nrms]?)?)\\b',
    '\\b(?:jamais|toujours|seulement|uniquement|sans|évite[zr]?|doit|doivent|devez|interdit|ne (?:pas|\\p{L}+ (?:pas|jamais|plus|que)))(?!\\p{L})',
    '\\b(?:nunca|siempre|sólo|solamente|únicamente|sin|evita[r]?|evite|debe[ns]?|prohibido|jamás)(?!\\p{L})',
    '\\b(?:sempre|não|apenas|somente|sem|deve[m]?|proibido|mai|soltanto|senza|evitare|devono|vietato)(?!\\p{L})',
    '(?<!\\p{L})(?:никогда|всегда|только|нельзя|должн[аоы]?|должен|обязательно|избегай(?:те)?|запрещено|без|не)(?!\\p{L})',
    '必须|必須|不要|不能|不得|不可|禁止|只能|仅限|总是|務必|务必|避免|切勿|千万别|绝不',
    '必ず|しないで|しないこと|してはいけない|のみ|だけに|常に|決して|避けて',
    '반드시|절대|하지\\s?마|항상|금지|없이',
    '(?<!\\p{L})(?:يجب|لا|فقط|أبدا|أبدًا|دائما|دائمًا|بدون|ممنوع)(?!\\p{L})',
    'हमेशा|कभी\\s(?:नहीं|भी)|केवल|(?<!\\p{L})मत(?!\\p{L})|बिना',
  ].join('|'),
  'iu',
);

/** The sentences of a text that state an obligation, verbatim. */
export function constraintsOf(text: string): string[] {
  return text
    .slice(0, MOST_OF_TEXT)
    .split(SENTENCE_END)
    .map((sentence) => sentence.trim().replace(/^(?:[-*•]|\d+[.)])\s+/, ''))
    .filter(
      (sentence) => sentence.length >= 4 && sentence.length <= LONGEST_SENTENCE && BINDING.test(sentence),
    );
}
