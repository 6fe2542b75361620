/**
 * The ledger: facts that a model's summary loses first. It has literals (ids, paths, URLs, hashes,
 * amounts, named numbers) in the order of how likely the work needs them again. The attachments
 * follow, and the trajectory, one line per turn: the tools called, and the refs of their outputs.
 * Code makes it, so the same messages give the same ledger.
 *
 * ## Ledger ORD-4711, src/pay/charge.ts, total=41, https://shop.test/o/7
 * - sent in 4: file contract.pdf, file-abc123
 * - from 12: search ×4, get_order; refs ref_…
 */

import type { Entry } from '../../memory/conversation/passage.ts';
import { mostFitting } from '../../memory/tokens/fitting.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import { attachmentLines, rankedAttachments, readAttachment, type SentAttachment } from './attachments.ts';
import { LEDGER_HEADING, neutralize } from './headings.ts';
import { rankedLiterals } from './ledger-ranking.ts';

/** The facts for a ledger, as plain data. */
export interface LedgerFacts {
  /** The likeliest to be needed again first. */
  readonly literals: readonly string[];
  /** Likewise. */
  readonly attachments: readonly SentAttachment[];
  /** The lines of the trajectory, oldest first. */
  readonly turns: readonly string[];
}

export interface LedgerRoom {
  /** The most tokens of the whole ledger. */
  readonly maxTokens: number;
  readonly counter: TokenCounter;
  /** The text before the ledger. Its literals are not repeated. */
  readonly alreadyIn: string;
  readonly includeTrajectory: boolean;
}

const TURN_START = '- from ';

/** Literals kept, more than any ledger has room for. */
const MOST_LITERALS = 1_500;
const MOST_TURNS = 200;

/**
 * The facts of entries.
 *
 * @param priorLedger the ledger of the summary before them, whose facts are candidates too
 */
export function collectLedger(entries: readonly Entry[], priorLedger = ''): LedgerFacts {
  const priorLines = priorLedger.split('\n').map((line) => line.trim());
  const isTurn = (line: string): boolean => line.startsWith(TURN_START);
  const priorLiterals = priorLines.filter((line) => !isTurn(line) && !readAttachment(line));
  return {
    literals: rankedLiterals(entries, priorLiterals).slice(0, MOST_LITERALS),
    attachments: rankedAttachments(
      entries,
      priorLines.flatMap((line) => readAttachment(line) ?? []),
    ),
    turns: [...priorLines.filter(isTurn), ...turnLines(entries)].slice(-MOST_TURNS),
  };
}

/* -------------------------------------------------------------- trajectory */

const REF = /\bref_[a-z2-7]{26}\b/g;
const REFS_PER_TURN = 6;
const TOOLS_PER_TURN = 12;
const LONGEST_NAME = 48;

/** One line per turn: the tools called, how often, and the latest refs in it. */
function turnLines(entries: readonly Entry[]): string[] {
  const lines: string[] = [];
  let tools = new Map<string, number>();
  let refs = new Set<string>();
  let start: number | undefined;
  const close = (): void => {
    if (start !== undefined && tools.size > 0) lines.push(writeTurn(start, tools, refs));
    tools = new Map();
    refs = new Set();
  };
  for (const entry of entries) {
    if (entry.role === 'user' || start === undefined) {
      close();
      start = entry.index;
    }
    for (const { name } of entry.calls) {
      const label = name.replace(/\s+/g, ' ').slice(0, LONGEST_NAME);
      tools.set(label, (tools.get(label) ?? 0) + 1);
    }
    for (const text of [entry.text, ...entry.calls.map((call) => call.input)])
      if (text.includes('⟦removed:')) for (const [ref] of text.matchAll(REF)) refs.add(ref);
  }
  close();
  return lines;
}

function writeTurn(start: number, tools: ReadonlyMap<string, number>, refs: ReadonlySet<string>): string {
  const names = [...tools].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  const more = names.length > TOOLS_PER_TURN ? ` and ${names.length - TOOLS_PER_TURN} more` : '';
  const kept = [...refs].slice(-REFS_PER_TURN);
  const where = kept.length > 0 ? `; refs ${kept.join(' ')}` : '';
  return `${TURN_START}${start}: ${names.slice(0, TOOLS_PER_TURN).join(', ')}${more}${where}`;
}

/* ----------------------------------------------------------------- writing */

/** The trajectory's largest share of a ledger. The latest turns come first. */
const TRAJECTORY_SHARE = 1 / 4;

/** The attachments' largest share. */
const ATTACHMENTS_SHARE = 1 / 2;

/** The ledger as text, with its heading; empty if nothing fits. */
export function writeLedger(facts: LedgerFacts, room: LedgerRoom): string {
  const { maxTokens, counter, alreadyIn, includeTrajectory } = room;
  let left = maxTokens - counter.marker(`${LEDGER_HEADING}\n`);
  if (left <= 0) return '';
  const turns: string[] = [];
  if (includeTrajectory) {
    let share = Math.floor(left * TRAJECTORY_SHARE);
    for (const line of facts.turns.toReversed()) {
      const text = neutralize(line);
      const cost = counter.text(`\n${text}`);
      if (cost > share) break;
      share -= cost;
      left -= cost;
      turns.unshift(text);
    }
  }
  const most = Math.floor(left * ATTACHMENTS_SHARE);
  const attachments = attachmentLines(facts.attachments, most, alreadyIn, counter);
  left -= counter.text(attachments.join('\n'));
  const literals: string[] = [];
  let written = [alreadyIn, ...attachments].join('\n');
  for (const value of facts.literals) {
    if (left < 2) break;
    const literal = neutralize(value);
    if (written.includes(literal)) continue;
    const cost = counter.text(`, ${literal}`);
    if (cost > left) continue;
    left -= cost;
    literals.push(literal);
    written += `\n${literal}`;
  }
  return assemble(literals, [...attachments, ...turns], maxTokens, counter);
}

/**
 * Tokens of parts need not add up to the tokens of the whole, so the least important literals are
 * dropped until the whole fits.
 */
function assemble(
  literals: readonly string[],
  below: readonly string[],
  maxTokens: number,
  counter: TokenCounter,
): string {
  const textOf = (kept: number): string => {
    const lines = [...(kept > 0 ? [literals.slice(0, kept).join(', ')] : []), ...below];
    return lines.length === 0 ? '' : `${LEDGER_HEADING}\n${lines.join('\n')}`;
  };
  const fits = (kept: number): boolean => counter.text(textOf(kept)) <= maxTokens;
  const kept = mostFitting(literals.length, fits);
  return kept > 0 || fits(0) ? textOf(kept) : '';
}
