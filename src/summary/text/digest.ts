/**
 * The extractive digest, which replaces a summary that no model could write
 * (docs/design.md#8-summaries). It has the form of a summary and quotes the conversation: the
 * user's messages and constraints, the calls, error lines, the assistant's last words, and the
 * ledger. The same messages give the same digest.
 *
 * Tool output is quoted and marked as such, since the digest is an assistant message and must not
 * pass for the model's own words.
 *
 * Long texts are cut before they are counted, so the cost is linear in the input and small in the
 * output.
 */

import { withoutHalfAtEnd, withoutHalfAtStart } from '../../lib/characters.ts';
import { elementAt } from '../../lib/elements.ts';
import type { Entry } from '../../memory/conversation/passage.ts';
import { longestFitting } from '../../memory/tokens/fitting.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import { constraintsOf, userWordsIn } from './constraints.ts';
import { HEADINGS, type Heading, neutralize, readSections, writeSections } from './headings.ts';
import { type LedgerFacts, writeLedger } from './ledger.ts';
import { type HoldsOrder, ordersBeside } from './orders.ts';

export interface DigestInput {
  /** The summary or digest of everything before the entries. `facts` must include its ledger. */
  readonly priorText?: string;
  readonly entries: readonly Entry[];
  readonly facts: LedgerFacts;
  /** The most tokens of the whole digest. */
  readonly maxTokens: number;
  readonly counter: TokenCounter;
  readonly includeTrajectory: boolean;
}

/** Each section's share of the room without the ledger. Unused room goes to the ledger. */
const SHARES: Readonly<Record<Heading, number>> = {
  '## User Intent': 0.28,
  '## Constraints': 0.22,
  '## Progress': 0.16,
  '## Key Decisions & Findings': 0.1,
  '## Errors & Resolutions': 0.1,
  '## Current State': 0.12,
  '## Next Steps': 0.02,
};

/** The share of the room that is reserved for the ledger. */
const LEDGER_SHARE = 0.5;

/** The digest. Empty if not even the headings fit. */
export function writeDigest(input: DigestInput): string {
  const { maxTokens, counter } = input;
  const sections = gather(input.entries, input.priorText ?? '');
  const said = input.entries.flatMap(({ role, text }) => (role === 'user' ? text : []));
  const holdsOrder = ordersBeside([...said, ...userWordsIn(input.priorText ?? '')]);
  // Tokens of lines need not add up to the tokens of the text. If they exceed them, the text is
  // written again with less room.
  for (let room = maxTokens; room > 0; room = Math.floor(room * 0.9)) {
    const text = writeWithin(sections, room, input, holdsOrder);
    if (counter.text(text) <= maxTokens) return text;
  }
  return '';
}

function writeWithin(
  sections: ReadonlyMap<Heading, Lines>,
  most: number,
  input: DigestInput,
  holdsOrder: HoldsOrder,
): string {
  const { counter, facts, includeTrajectory } = input;
  const ledgerWithin = (maxTokens: number, alreadyIn: string): string =>
    maxTokens > 0 ? writeLedger(facts, { maxTokens, counter, alreadyIn, includeTrajectory }) : '';
  const room = Math.max(0, most - counter.text(writeSections(new Map())));
  const reserved = counter.text(ledgerWithin(Math.floor(room * LEDGER_SHARE), ''));
  const written = new Map<Heading, string>();
  for (const [heading, lines] of sections)
    written.set(heading, fill(lines, Math.floor((room - reserved) * SHARES[heading]), counter, holdsOrder));
  const body = writeSections(written);
  const ledger = ledgerWithin(most - counter.text(body) - 2, body);
  return ledger === '' ? body : `${body}\n\n${ledger}`;
}

/* ------------------------------------------------------------------- lines */

/** The lines of a section in order: carried-over lines, then new ones. */
interface Lines {
  readonly prior: readonly string[];
  readonly fresh: readonly string[];
  /**
   * Which lines come first if there is no room for all: the first or the last of the carried-over
   * lines, and of the new ones.
   */
  readonly first: { readonly prior: 'first' | 'last'; readonly fresh: 'first' | 'last' | 'ends' };
  /** Whether the new lines are not the user's. Then none of them may give orders. */
  readonly foreign: boolean;
}

/** The most of a section's room that one line may take while others wait. */
const LARGEST_SHARE = 0.4;
const SMALLEST_LINE = 6;

/** As many lines as fit, by importance, in order. Carried-over lines and new ones take turns. */
function fill(lines: Lines, tokens: number, counter: TokenCounter, holdsOrder: HoldsOrder): string {
  const all = [...lines.prior, ...lines.fresh];
  const kept = new Map<number, string>();
  const said = new Set<string>();
  let left = tokens;
  const queue = inTurns(
    ordered(0, lines.prior.length, lines.first.prior),
    ordered(lines.prior.length, lines.fresh.length, lines.first.fresh),
  );
  for (const [turn, at] of queue.entries()) {
    if (left < SMALLEST_LINE) break;
    const most = turn === queue.length - 1 ? left : Math.min(left, Math.ceil(tokens * LARGEST_SHARE));
    const line = shorten(elementAt(all, at), most - 3, counter);
    if (line === '' || said.has(line)) continue;
    if (lines.foreign && holdsOrder(line)) continue;
    const text = `- ${line}`;
    const cost = counter.text(`${text}\n`);
    if (cost > left) continue;
    left -= cost;
    said.add(line);
    kept.set(at, text);
  }
  return [...kept]
    .sort(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join('\n');
}

/**
 * The indices `[start, start + count)` by importance. For `ends`, the first and the last come
 * before the others.
 */
function ordered(start: number, count: number, first: 'first' | 'last' | 'ends'): number[] {
  const places = Array.from({ length: count }, (_, index) => start + index);
  if (first === 'first') return places;
  const latest = places.reverse();
  if (first === 'ends' && count > 2) latest.unshift(...latest.splice(-1));
  return latest;
}

function inTurns(one: readonly number[], other: readonly number[]): number[] {
  const mixed: number[] = [];
  for (let index = 0; index < Math.max(one.length, other.length); index++)
    for (const place of [one[index], other[index]]) if (place !== undefined) mixed.push(place);
  return mixed;
}

/* --------------------------------------------------------------- shortening */

/** The most characters that are read for each token of room. */
const CHARACTERS_PER_TOKEN = 12;
/** Longer runs without spaces are data, and are cut to their beginning. */
const DATA_RUN = /[A-Za-z\d+/=_-]{121,}/g;
const DATA_SHOWN = 40;
/** The share of a shortened text that is its beginning. Requests often come after their context. */
const HEAD_SHARE = 0.65;
const ELLIPSIS = ' … ';

/**
 * A text on one line, within a number of tokens. A longer text is cut to its beginning and its end,
 * at the end of a sentence or a word.
 */
function shorten(text: string, tokens: number, counter: TokenCounter): string {
  if (tokens < 1) return '';
  const most = tokens * CHARACTERS_PER_TOKEN;
  if (text.length <= 2 * most) {
    const whole = flat(text);
    if (whole.length <= most && counter.text(whole) <= tokens) return whole;
  }
  const head = clipped(flat(text.slice(0, most)), Math.floor(tokens * HEAD_SHARE), counter, 'head');
  const tail = clipped(flat(text.slice(-most)), Math.floor(tokens * (1 - HEAD_SHARE)) - 2, counter, 'tail');
  const both = `${head}${ELLIPSIS}${tail}`.trim();
  return head !== '' && counter.text(both) <= tokens ? both : '';
}

/** A text on one line, without tags, markers and long runs of data. */
function flat(text: string): string {
  const short = text.replace(DATA_RUN, (run) => `${run.slice(0, DATA_SHOWN)}…`);
  return neutralize(short.replace(/\s+/g, ' ').trim());
}

/** The beginning or the end of a line, within a number of tokens. */
function clipped(line: string, tokens: number, counter: TokenCounter, side: 'head' | 'tail'): string {
  if (tokens < 1) return '';
  const cut = (length: number): string =>
    side === 'head' ? line.slice(0, length) : line.slice(line.length - length);
  const part = cut(longestFitting(line.length, tokens, (length) => counter.text(cut(length))));
  if (part.length === line.length) return part;
  return side === 'head' ? endWell(part) : beginWell(part);
}

/**
 * Cuts back to the end of a sentence, or else of a word, if there is one in the last part. Never
 * splits a character.
 */
function endWell(text: string): string {
  const whole = withoutHalfAtEnd(text);
  const late = Math.floor(whole.length * 0.6);
  const sentence = Math.max(...['. ', '! ', '? ', '。', '！', '？'].map((end) => whole.lastIndexOf(end))) + 1;
  if (sentence > late) return whole.slice(0, sentence).trimEnd();
  const word = whole.lastIndexOf(' ');
  return word > late ? whole.slice(0, word) : whole;
}

function beginWell(text: string): string {
  const whole = withoutHalfAtStart(text);
  const early = Math.ceil(whole.length * 0.4);
  const sentence = whole.search(/[.!?] |[。！？]/);
  if (sentence >= 0 && sentence < early) return whole.slice(sentence + 1).trimStart();
  const word = whole.indexOf(' ');
  return word >= 0 && word < early ? whole.slice(word + 1) : whole;
}

/* ---------------------------------------------------------------- gathering */

/** The most lines of a section that are read. More would never fit. */
const MOST_LINES = 400;

function gather(entries: readonly Entry[], priorText: string): ReadonlyMap<Heading, Lines> {
  const users = entries.filter((entry) => entry.role === 'user' && entry.text.trim() !== '');
  const said = entries.filter((entry) => entry.role === 'assistant' && entry.text.trim() !== '');
  const last = said.at(-1);
  const fresh: Record<Heading, readonly string[]> = {
    '## User Intent': users.map((entry) => entry.text),
    '## Constraints': users.flatMap((entry) => constraintsOf(entry.text)),
    '## Progress': progressOf(entries),
    '## Key Decisions & Findings': said.slice(0, -1).map((entry) => clip(entry.text.trimStart(), 300)),
    '## Errors & Resolutions': entries.flatMap((entry) =>
      entry.role === 'tool' ? errorsOf(entry.text) : [],
    ),
    '## Current State': last ? [last.text] : [],
    '## Next Steps': [],
  };
  const prior = readSections(priorText);
  return new Map(
    HEADINGS.map((heading) => {
      const carried = linesOf(prior.get(heading) ?? '');
      const first = {
        prior: KEEP_FIRST.includes(heading) ? 'first' : 'last',
        fresh: heading !== '## User Intent' ? 'last' : carried.length > 0 ? 'last' : 'ends',
      } as const;
      const foreign = heading !== '## User Intent' && heading !== '## Constraints';
      return [
        heading,
        { prior: carried.slice(0, MOST_LINES), fresh: endsOf(fresh[heading]), first, foreign },
      ];
    }),
  );
}

/** The first lines of these sections are the original task. */
const KEEP_FIRST: readonly Heading[] = ['## User Intent', '## Constraints', '## Next Steps'];

/** The first line and the newest. */
function endsOf(lines: readonly string[]): readonly string[] {
  return lines.length <= MOST_LINES ? lines : [...lines.slice(0, 1), ...lines.slice(1 - MOST_LINES)];
}

/** The lines of a carried-over section, without bullets. */
function linesOf(section: string): string[] {
  return section.split('\n').flatMap((line) => line.trim().replace(/^[-*•]\s+/, '') || []);
}

const SHOWN_OF_INPUT = 140;
const SHOWN_OF_OUTPUT = 80;

/**
 * Each call with the beginning of its result. A result belongs to the nearest earlier unanswered
 * call with its id.
 */
function progressOf(entries: readonly Entry[]): string[] {
  const lines: string[] = [];
  const open = new Map<string, number[]>();
  for (const { calls, tool, text } of entries) {
    for (const { id, name, input } of calls) {
      const same = open.get(id);
      if (same) same.push(lines.length);
      else open.set(id, [lines.length]);
      lines.push(`${name} ${clip(input, SHOWN_OF_INPUT)}`);
    }
    const line = tool ? open.get(tool.id)?.pop() : undefined;
    if (line !== undefined) lines[line] += ` → ${quoted(clip(text.trimStart(), SHOWN_OF_OUTPUT))}`;
  }
  return lines;
}

/** A tool's output, in quotes that mark it as such. */
function quoted(output: string): string {
  return `tool output: «${output.replace(/[«»]/g, '"').trim()}»`;
}

/** The beginning of a text. Never splits a character. */
function clip(text: string, length: number): string {
  const line = withoutHalfAtEnd(text.slice(0, length));
  return text.length > length ? `${line}…` : line;
}

const ERROR =
  /\b(?:error|exception|traceback|failed|failure|fatal|panic|denied|forbidden|not found|no such|timed? ?out|cannot|unable to|invalid|undefined)\b|[a-z](?:Error|Exception)\b/gi;
const ERRORS_PER_OUTPUT = 2;
const SHOWN_BEFORE = 120;
const SHOWN_AFTER = 200;

/** The first lines of an output that mention an error. */
function errorsOf(text: string): string[] {
  const lines: string[] = [];
  ERROR.lastIndex = 0;
  while (lines.length < ERRORS_PER_OUTPUT) {
    const match = ERROR.exec(text);
    if (!match) break;
    // Only a part of the line, which may be megabytes long.
    const before = text.slice(Math.max(0, match.index - SHOWN_BEFORE), match.index);
    const after = text.slice(match.index, match.index + SHOWN_AFTER);
    lines.push(quoted(`${before.slice(before.lastIndexOf('\n') + 1)}${after.split('\n', 1)[0]}`));
    const end = text.indexOf('\n', match.index);
    if (end < 0) break;
    ERROR.lastIndex = end;
  }
  return lines;
}
