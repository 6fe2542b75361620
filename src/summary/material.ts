/**
 * What a summary of a prefix or of a window of rounds is made of: the task for the summarizer, the
 * digest that may stand in for it, and the transcript.
 */
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Boundary, Entry, Piece } from '../memory/conversation/passage.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory, Transcript } from '../storage/conversation/memories.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { SummaryPorts } from './conversation.ts';
import {
  fetchableRef,
  keep,
  NO_TRANSCRIPT,
  type TranscriptPlace,
  type TranscriptRange,
  transcriptStart,
} from './kept-transcript.ts';
import { writeDigest } from './text/digest.ts';
import { entriesOf, piecesOf } from './text/entries.ts';
import { splitLedger } from './text/headings.ts';
import { collectLedger, type LedgerFacts } from './text/ledger.ts';
import { type KnownSummary, knownOf, newest, type Retries, recent, type SummaryTask } from './writer.ts';

/** The messages that a summary stands for, and what it may be like. */
export interface SummaryRange {
  readonly history: History;
  readonly boundaries: Boundaries;
  /** Where the messages end. */
  readonly boundary: Boundary;
  /** Where the summarizer may pause on the way to there, `boundary` included. Ascending. */
  pieceEnds(): readonly Boundary[];
  /**
   * The window that the summary tells of; without one it tells of all messages before the boundary.
   */
  readonly window?: SummaryWindow;
  /** An answer that closes the messages, and is not in the array yet. */
  readonly closing?: Entry | undefined;
  /** What the summarizer reads as a placeholder, as the model did. */
  readonly removals?: readonly Removal[];
  /** A summary that the caller brings along. */
  readonly prior?: KnownSummary;
  /** Tokens that the summary may have. */
  readonly limit: number;
  readonly focus?: string;
  readonly includeTrajectory: boolean;
  readonly retries: Retries;
}

interface SummaryWindow {
  /** Its first sequence number. */
  readonly sequence: number;
  /** Its first message. */
  readonly message: number;
}

/** The material of one summary. Each part is made when it is first asked for. */
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
    const { prior, window, limit, focus, includeTrajectory, retries } = this.range;
    const from = newest(knownOf(base), prior)?.end ?? 0;
    // What the user asked to be kept to may have been said before the window.
    const users = this.entries(0).filter(({ role }) => role === 'user');
    return {
      pieces: this.pieces(from),
      from,
      ...(prior ? { prior } : {}),
      facts: this.facts(),
      userTexts: recent(users.map(({ text }) => text)),
      limit,
      ...(focus === undefined ? {} : { focus }),
      ...(window ? { windowStart: window.sequence, windowMessage: window.message } : {}),
      includeTrajectory,
      retries,
    };
  }

  /** The extractive digest; empty when not even that would be short enough. */
  digest(base: Memory | null | undefined): string {
    const { boundary, prior, limit, includeTrajectory } = this.range;
    const { counter } = this;
    const { encoding, digests } = this.ports;
    const start = newest(knownOf(base), prior);
    const from = start?.end ?? 0;
    const { prefixHash, end } = boundary;
    // The hash leaves the preamble out, and the ledger names messages by their indices.
    const key = [prefixHash, end, from, limit, encoding, includeTrajectory, start?.text].join(' ');
    return digests.remember(sha256Hex(key), () =>
      writeDigest({
        ...(start ? { priorText: start.text } : {}),
        entries: this.entries(from),
        facts: this.facts(),
        maxTokens: limit,
        counter,
        includeTrajectory,
      }),
    );
  }

  /** Writes what the summary covers. Without a ref when that is not known to be written. */
  async keepTranscript(base: Memory | null | undefined): Promise<Transcript> {
    const { place } = this;
    if (!place) return NO_TRANSCRIPT;
    return keep(
      this.transcriptAfter(base && { ...base, ref: (await fetchableRef(base, place)) ?? null }),
      place,
    );
  }

  /**
   * The range of the transcript.
   *
   * @param base null: it starts from the beginning. So does one whose ref is null: a link to a
   *   transcript that can't be fetched would lead nowhere
   */
  transcriptAfter(base: Pick<Memory, 'ref' | 'covers_end'> | null | undefined): TranscriptRange {
    const { history, boundary, closing } = this.range;
    return { history, ...transcriptStart(history, base), end: boundary.end, answer: closing };
  }

  /** Where the transcript is kept; undefined when nothing is kept. */
  get place(): TranscriptPlace | undefined {
    const { conversation, refs } = this.ports;
    const { history, boundaries } = this.range;
    if (!this.keeps || !conversation || !refs) return undefined;
    return { history, boundaries, conversation, refs, counter: this.counter };
  }

  private facts(): LedgerFacts {
    const { history, window, prior } = this.range;
    // What stands before a window is not the summary's to tell, unless it goes on from there.
    const earlier = window ? prior?.text : history.echo?.text;
    this.knownFacts ??= collectLedger(this.entries(window?.message ?? 0), {
      priorLedger: splitLedger(earlier ?? '').ledger,
    });
    return this.knownFacts;
  }

  private pieces(from: number): Piece[] {
    const { history, removals, closing } = this.range;
    const pieces = piecesOf(history, from, this.range.pieceEnds(), removals);
    const last = pieces.pop();
    if (!last) return [];
    return [...pieces, closing ? { ...last, entries: [...last.entries, closing] } : last];
  }

  private entries(from: number): Entry[] {
    const { history, boundary, closing } = this.range;
    const entries = entriesOf(history, from, boundary.end, 'readable');
    return closing ? [...entries, closing] : entries;
  }
}
