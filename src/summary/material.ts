/**
 * The material of a summary, over a prefix or over a window of rounds: the task for the summarizer,
 * the digest that may replace its text, and the transcript.
 */
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Boundary, Entry, Piece } from '../memory/conversation/passage.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory, Transcript } from '../storage/conversation/memories.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { Retries } from './attempts.ts';
import type { SummaryPorts } from './conversation.ts';
import {
  fetchableRef,
  type NamedTranscript,
  NO_TRANSCRIPT,
  nameTranscript,
  type TranscriptPlace,
  transcriptStart,
} from './kept-transcript.ts';
import { leftMessages } from './own-compaction.ts';
import { writeDigest } from './text/digest.ts';
import { entriesOf, piecesOf } from './text/entries.ts';
import { splitLedger } from './text/headings.ts';
import { collectLedger, type LedgerFacts } from './text/ledger.ts';
import type { SummaryHints } from './text/prompt.ts';
import { type KnownSummary, knownOf, newest, recent, type SummaryTask } from './writer.ts';

/**
 * A memory may always have this many tokens, even if they exceed half of the messages that it
 * covers: the first rounds of a conversation are short. A memory that is longer than its messages
 * is not used.
 */
export const ROOM_OF_THE_FIRST = 256;

/** The messages that a summary covers, and its limits. */
export interface SummaryRange {
  readonly history: History;
  readonly boundaries: Boundaries;
  /** Where the messages end. */
  readonly boundary: Boundary;
  /** The boundaries at which the summarizer may pause, ascending, including `boundary`. */
  pieceEnds(): readonly Boundary[];
  /** The window that the summary covers. Absent: it covers all messages before the boundary. */
  readonly window?: SummaryWindow;
  /** An answer after the last message that is not in the array yet. */
  readonly closing?: Entry | undefined;
  /** Contents that the summarizer reads as placeholders, like the model. */
  readonly removals?: readonly Removal[];
  /** A summary from the caller. */
  readonly prior?: KnownSummary;
  /** The most tokens of the summary. */
  readonly limit: number;
  readonly hints: SummaryHints;
  readonly includeTrajectory: boolean;
  readonly retries: Retries;
}

interface SummaryWindow {
  /** Its first sequence number. */
  readonly sequence: number;
  /** Its first message. */
  readonly message: number;
}

/** The material of one summary. Each part is made on demand. */
export class Material {
  private readonly range: SummaryRange;
  private readonly ports: SummaryPorts;
  private readonly counter: TokenCounter;
  private readonly keeps: boolean;
  private knownFacts: LedgerFacts | undefined;

  /** @param keeps whether transcripts may be written */
  constructor(range: SummaryRange, ports: SummaryPorts, counter: TokenCounter, keeps = true) {
    this.range = range;
    this.ports = ports;
    this.counter = counter;
    this.keeps = keeps;
  }

  /** @param base the version to build upon */
  task(base?: Memory | null): SummaryTask {
    const { prior, window, limit, hints, includeTrajectory, retries } = this.range;
    const from = newest(knownOf(base), prior)?.end ?? 0;
    // The user may have stated constraints before the window.
    const users = this.entries(0).filter(({ role }) => role === 'user');
    return {
      pieces: this.pieces(from, base),
      from,
      ...(prior ? { prior } : {}),
      facts: this.facts(),
      userTexts: recent(users.map(({ text }) => text)),
      limit,
      hints,
      ...(window ? { windowStart: window.sequence, windowMessage: window.message } : {}),
      includeTrajectory,
      retries,
    };
  }

  /** The extractive digest. Empty if no digest is short enough. */
  digest(base: Memory | null | undefined): string {
    const { boundary, prior, limit, includeTrajectory } = this.range;
    const { counter } = this;
    const { encoding, digests } = this.ports;
    const start = newest(knownOf(base), prior);
    const from = start?.end ?? 0;
    const { prefixHash, end } = boundary;
    // The hash leaves out the preamble, which shifts the indices that the ledger names.
    const key = [prefixHash, end, from, limit, encoding, includeTrajectory, start?.text].join(' ');
    return digests.remember(sha256Hex(key), () =>
      writeDigest({
        ...(start ? { priorText: start.text } : {}),
        entries: [...this.beside(from, base), ...this.entries(from)],
        facts: this.facts(),
        maxTokens: limit,
        counter,
        includeTrajectory,
      }),
    );
  }

  /** The digest and its transcript. Undefined if no digest is short enough. */
  async keepDigest(
    base: Memory | null | undefined,
  ): Promise<({ readonly text: string } & Transcript) | undefined> {
    const text = this.digest(base);
    return text === '' ? undefined : { text, ...(await this.keepTranscript(base)) };
  }

  /** The transcript, which is still to be written. */
  async transcript(base: Memory | null | undefined): Promise<NamedTranscript> {
    const { place } = this;
    if (!place) return { named: NO_TRANSCRIPT, write: async () => false };
    const { history, boundary, closing } = this.range;
    // A link to a transcript that can't be fetched would lead nowhere.
    const known = base && { ...base, ref: (await fetchableRef(base, place)) ?? null };
    const start = transcriptStart(history, known);
    return nameTranscript({ history, ...start, end: boundary.end, answer: closing }, place);
  }

  /** Writes the transcript. The result has no ref if it is not known to be written. */
  private async keepTranscript(base: Memory | null | undefined): Promise<Transcript> {
    const { named, write } = await this.transcript(base);
    return (await write()) ? named : NO_TRANSCRIPT;
  }

  get place(): TranscriptPlace | undefined {
    const { conversation, refs } = this.ports;
    const { history, boundaries } = this.range;
    if (!this.keeps || !conversation || !refs) return undefined;
    return { history, boundaries, conversation, refs, counter: this.counter };
  }

  private facts(): LedgerFacts {
    const { history, window, prior } = this.range;
    // Facts from before the window count only if the summary continues from a prior one.
    const earlier = window ? prior?.text : history.echo?.text;
    this.knownFacts ??= collectLedger(this.entries(window?.message ?? 0), splitLedger(earlier ?? '').ledger);
    return this.knownFacts;
  }

  private pieces(from: number, base: Memory | null | undefined): Piece[] {
    const { history, removals, closing } = this.range;
    const pieces = piecesOf(history, from, this.range.pieceEnds(), removals);
    const beside = this.beside(from, base);
    const [first] = pieces;
    if (first && beside.length > 0) pieces[0] = { ...first, entries: [...beside, ...first.entries] };
    const last = pieces.pop();
    if (!last) return [];
    return [...pieces, closing ? { ...last, entries: [...last.entries, closing] } : last];
  }

  /** Messages before the end of a base that its text does not tell of. */
  private beside(from: number, base: Memory | null | undefined): Entry[] {
    const { history } = this.range;
    if (!base || base.covers_end !== from) return [];
    const left = new Set(leftMessages(base, history));
    return left.size === 0
      ? []
      : entriesOf(history, 0, from, 'readable').filter(({ index }) => left.has(index));
  }

  private entries(from: number): Entry[] {
    const { history, boundary, closing } = this.range;
    const entries = entriesOf(history, from, boundary.end, 'readable');
    return closing ? [...entries, closing] : entries;
  }
}

/** Tokens of the messages `[from, to)`, without the preamble. */
export function tokensBetween(
  { messages }: History,
  from: number,
  to: number,
  counter: TokenCounter,
): number {
  return messages
    .slice(from, to)
    .reduce((sum, message) => sum + (message.role === 'preamble' ? 0 : counter.message(message)), 0);
}
