/**
 * Whether a summarizer's answer is a summary. Errors, refusals, incomplete answers, and answers
 * that continue the task are detected by their form. Fences, reasoning and prefaces are removed
 * first.
 */
import { areSame } from '../../lib/elements.ts';
import type { Result } from '../../lib/result.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import {
  HEADINGS,
  type Heading,
  headingOf,
  LEDGER_HEADING,
  NONE,
  neutralize,
  readSections,
  withoutHints,
  writeSections,
} from './headings.ts';
import { ordersBeside } from './orders.ts';

export interface SummaryAnswer {
  readonly text: string | null | undefined;
  readonly finishReason: string | null | undefined;
  /** How many tools it called. */
  readonly toolCalls: number;
}

interface SummaryLimits {
  readonly maxTokens: number;
  readonly counter: TokenCounter;
  /**
   * Texts of the user. They may contain orders that a summary must not invent, and they determine
   * its language.
   */
  readonly userTexts: readonly string[];
}

/** Why an answer is no summary. */
export type SummaryFault =
  | 'unfinished'
  | 'tool_call'
  | 'empty'
  | 'headings'
  | 'too_long'
  | 'degenerate'
  | 'orders'
  | 'language';

/**
 * The summary in an answer, without the model's own ledger, and with every heading once, in order.
 */
export function validateSummary(answer: SummaryAnswer, limits: SummaryLimits): Result<string, SummaryFault> {
  const fail = (reason: SummaryFault): Result<string, SummaryFault> => ({ ok: false, reason });
  const broken = faultOfForm(answer);
  if (broken) return fail(broken);
  const undressed = undress(answer.text ?? '');
  if (undressed === '') return fail('empty');
  const cleaned = withoutHints(withoutLedger(undressed));
  if (!hasForm(cleaned)) return fail('headings');
  const sections = readSections(cleaned);
  if ([...sections.values()].every((section) => section === '')) return fail('empty');
  const text = neutralize(writeSections(sections));
  if (limits.counter.text(text) > limits.maxTokens) return fail('too_long');
  if (isDegenerate([...sections.values()].join('\n'))) return fail('degenerate');
  if (ordersBeside(limits.userTexts)(text)) return fail('orders');
  if (isForeign(sections, limits.userTexts)) return fail('language');
  return { ok: true, value: text };
}

/** Why an answer is no complete text. */
export function faultOfForm({
  toolCalls,
  finishReason,
}: SummaryAnswer): 'tool_call' | 'unfinished' | undefined {
  if (toolCalls > 0 || finishReason === 'tool_calls') return 'tool_call';
  return finishReason === 'stop' ? undefined : 'unfinished';
}

const REASONING = /^\s*<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>|$)/;
/** The end of reasoning that a model's template has opened itself. */
export const REASONING_END = /<\/(?:think|thinking|reasoning)>/g;
const OPENING_FENCE = /^[ \t]*(`{3,}|~{3,})[\w-]*[ \t]*$/gm;
/** A heading as models write it: with a colon, in bold, or with white space. */
const LOOSE_HEADING = /^ {0,3}##[ \t]+(?:\*\*)?([A-Za-z&][A-Za-z& ]{0,40}?)(?:\*\*)?:?(?:\*\*)?[ \t]*$/gm;

/** An answer without the reasoning at its beginning, with plain line breaks. */
export function withoutReasoning(answer: string): string {
  let text = answer.replaceAll('\r\n', '\n');
  while (REASONING.test(text)) text = text.replace(REASONING, '');
  return text;
}

/** The answer without reasoning, preface and fence. The whole answer if it has no heading. */
function undress(answer: string): string {
  let text = withoutReasoning(answer);
  // Some templates open the reasoning themselves, so the answer contains only its end.
  const opening = text.lastIndexOf(HEADINGS[0]);
  const ends = [...text.matchAll(REASONING_END)].map((end) => end.index + end[0].length);
  text = text.slice(ends.findLast((end) => end <= opening) ?? 0);
  text = text.replace(LOOSE_HEADING, (line, name: string) => headingOf(`## ${name}`) ?? line).trim();
  const start = text.search(/^## User Intent[ \t]*$/m);
  if (start < 0) return text;
  const preface = text.slice(0, start);
  const body = text.slice(start);
  const fences = [...preface.matchAll(OPENING_FENCE)];
  const fence = fences.length % 2 === 1 ? fences.at(-1)?.[1] : undefined;
  if (fence === undefined) return body;
  const lines = body.split('\n');
  const end = lines.findLastIndex((line) => line.trim() === fence);
  return (end < 0 ? lines : lines.slice(0, end)).join('\n').trim();
}

/** Removes the model's own ledger, up to the next heading, since code writes the ledger. */
function withoutLedger(text: string): string {
  const kept: string[] = [];
  let inLedger = false;
  for (const line of text.split('\n')) {
    if (line.trimEnd() === LEDGER_HEADING) inLedger = true;
    else if (headingOf(line)) inLedger = false;
    if (!inLedger) kept.push(line);
  }
  return kept.join('\n');
}

function hasForm(text: string): boolean {
  const found = text.split('\n').flatMap((line) => headingOf(line) ?? []);
  return areSame(found, HEADINGS);
}

/** The most repetitions of a line or sentence. */
const MOST_REPEATS = 3;
const SHORTEST_SENTENCE = 8;
/** The least share of distinct words, for texts with at least this many words. */
const MANY_WORDS = 150;
const LEAST_DIVERSITY = 0.2;
const SENTENCE_END = /(?<=[.!?]\s)|(?<=[。！？\n])/;
/** A few characters twelve times in a row. */
const STUTTER = /([^\n]{1,40}?)\1{11}/gu;

/** Whether a text repeats a line or sentence, stutters, or has hardly any distinct words. */
export function isDegenerate(text: string): boolean {
  // A ruler of dashes is no stutter, which contains a letter.
  for (const [, stuttered = ''] of text.matchAll(STUTTER)) if (/\p{L}/u.test(stuttered)) return true;
  const times = new Map<string, number>();
  let sentences = 0;
  for (const raw of text.split(SENTENCE_END)) {
    const sentence = raw
      .trim()
      .replace(/^(?:[-*+•]|\d+[.)])\s+/, '')
      .toLowerCase();
    if (sentence.length < SHORTEST_SENTENCE) continue;
    sentences++;
    times.set(sentence, (times.get(sentence) ?? 0) + 1);
  }
  // A sentence may recur in a long summary, but not make up a large part of it.
  for (const count of times.values()) if (count > MOST_REPEATS && count * 5 > sentences) return true;
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length >= MANY_WORDS && new Set(words).size < words.length * LEAST_DIVERSITY;
}

const SCRIPTS = {
  latin: /\p{Script=Latin}/u,
  cyrillic: /\p{Script=Cyrillic}/u,
  han: /\p{Script=Han}/u,
  kana: /[\p{Script=Hiragana}\p{Script=Katakana}]/u,
  hangul: /\p{Script=Hangul}/u,
  arabic: /\p{Script=Arabic}/u,
  hebrew: /\p{Script=Hebrew}/u,
  greek: /\p{Script=Greek}/u,
  devanagari: /\p{Script=Devanagari}/u,
  thai: /\p{Script=Thai}/u,
} as const;

type Script = keyof typeof SCRIPTS;

/** A character of these scripts counts as this many letters of the others. */
const DENSE: readonly Script[] = ['han', 'kana', 'hangul'];
const DENSITY = 3;
/** Japanese uses both scripts. From this share of kana on, a text is Japanese. */
const LEAST_KANA = 0.15;
/** The fewest letters that indicate a language. */
const ENOUGH_OF_USER = 20;
const ENOUGH_OF_SUMMARY = 60;
/**
 * A script with this share of the user's texts is the user's too, since pasted logs outweigh a
 * question.
 */
const SHARE_OF_USER = 0.15;
/** How much of the user's texts is read, in characters: of each text, and of all. */
const MOST_OF_TEXT = 4_000;
const MOST_OF_ALL = 64_000;

/** Code is the same in every language, and so is a word that contains a digit or a sign. */
const CODE = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;
const LITERAL = /[\d_/\\@#$=]|\p{L}[.:]\p{L}/u;

/** Whether a summary uses a script that its user does not use. */
function isForeign(sections: ReadonlyMap<Heading, string>, userTexts: readonly string[]): boolean {
  const own = lettersOf([...sections.values()].filter((section) => section !== NONE).join('\n'));
  if (totalOf(own) < ENOUGH_OF_SUMMARY) return false;
  let sample = '';
  for (const text of userTexts) {
    sample += `${text.slice(0, MOST_OF_TEXT)}\n`;
    if (sample.length > MOST_OF_ALL) break;
  }
  const users = lettersOf(sample);
  const total = totalOf(users);
  if (total < ENOUGH_OF_USER) return false;
  let dominant: Script = 'latin';
  for (const [script, count] of own) if (count > (own.get(dominant) ?? 0)) dominant = script;
  return (users.get(dominant) ?? 0) < total * SHARE_OF_USER;
}

function lettersOf(text: string): Map<Script, number> {
  const letters = new Map<Script, number>();
  for (const word of text.replace(CODE, ' ').split(/\s+/)) {
    const literal = LITERAL.test(word);
    for (const [letter] of word.matchAll(/\p{L}/gu)) {
      const script = scriptOf(letter);
      // In scripts without spaces, a number in a run does not make it a literal.
      if (!script || (literal && script === 'latin')) continue;
      letters.set(script, (letters.get(script) ?? 0) + (DENSE.includes(script) ? DENSITY : 1));
    }
  }
  const kana = letters.get('kana') ?? 0;
  const both = kana + (letters.get('han') ?? 0);
  letters.delete('kana');
  letters.delete('han');
  if (both > 0) letters.set(kana >= both * LEAST_KANA ? 'kana' : 'han', both);
  return letters;
}

function scriptOf(letter: string): Script | undefined {
  if (letter < '\u0250') return 'latin';
  for (const script of Object.keys(SCRIPTS) as Script[]) if (SCRIPTS[script].test(letter)) return script;
  return undefined;
}

function totalOf(letters: ReadonlyMap<Script, number>): number {
  let total = 0;
  for (const count of letters.values()) total += count;
  return total;
}
