/** What the summary of a prefix is made of: the task for the summarizer, the digest that may stand in for it, and the transcript. */

import type { Cache } from '../lib/lru.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { EncodingName } from '../memory/strategy/models.ts';
import type { AutoStrategy, SummarizeStrategy } from '../memory/strategy/strategy.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { UserMemoryStub } from '../storage/conversation/key.ts';
import type { Memory, Transcript } from '../storage/conversation/memories.ts';
import type { RefWriter, WaitUntil } from '../storage/refs/writer.ts';
import { labelDigest } from '../tenant/identity.ts';
import type { StoredConversation } from './conversation.ts';
import {
  fetchableRef,
  isThere,
  keep,
  NO_TRANSCRIPT,
  type TranscriptPlace,
  transcriptStart,
} from './kept-transcript.ts';
import type { SummarizerTarget } from './summarizer.ts';
import { writeDigest } from './text/digest.ts';
import { echoOf, entriesOf, piecesOf } from './text/entries.ts';
import { splitLedger } from './text/headings.ts';
import { collectLedger, type LedgerFacts } from './text/ledger.ts';
import { type KnownSummary, knownOf, newest, recent, type SummaryTask } from './writer.ts';

/** How long a request waits for a summary, its own or another's, in milliseconds (design §7). */
export const WAIT_MS = 20_000;

/** The same for a conversation that is put away: its digest would stay for good. And how long each call may take then, at the least. */
export const WHOLE_WAIT_MS = 120_000;
export const WHOLE_CALL_MS = 60_000;

/** Of a request that waits: quick attempts, and none after the wait is over. */
export const RETRIES = { attempts: 3, backoffMs: 500, longestPauseMs: 4_000, withinMs: WAIT_MS };

/** What is to be served. */
export interface SummaryNeed {
  readonly history: History;
  readonly prefix: SummarizedPrefix;
  readonly boundaries: Boundaries;
  /** The first unit that stayed, for each move of the frontier. */
  readonly moves: readonly number[];
  readonly strategy: SummarizeStrategy | AutoStrategy;
  /** What the summarizer reads as a placeholder, as the model did. */
  readonly removals: readonly Removal[];
  /** A summary that the caller holds and has sent along; its hash has been checked. */
  readonly held: (KnownSummary & { readonly ref: string | undefined }) | undefined;
  /** When the request has waited long enough, in milliseconds since the epoch. */
  readonly late: number;
  /** `make`: as above. `find`: nothing is made or stored. `once`: made for this request alone, by whoever asks for it expressly. */
  readonly how: 'make' | 'find' | 'once';
}

export interface SummaryPorts {
  /** Absent when there is no place to keep anything. */
  readonly conversation: StoredConversation | undefined;
  readonly refs: RefWriter | undefined;
  readonly target: SummarizerTarget;
  readonly counter: TokenCounter;
  readonly encoding: EncodingName;
  readonly waitUntil: WaitUntil;
  /** Digests that were written before. */
  readonly digests: Cache<string>;
  /** When a summary was last handed over to be made ahead, by what it is, in milliseconds since the epoch. */
  readonly prepared: Cache<number>;
  openUser(name: string): UserMemoryStub;
  /** Takes a failure that the request survives, for the log. */
  failed(message: string, error: unknown): void;
}

/** The material of one summary. Each part is made when it is first asked for. */
export class Material {
  private readonly need: SummaryNeed;
  private readonly ports: SummaryPorts;
  private knownFacts: LedgerFacts | undefined;

  constructor(need: SummaryNeed, ports: SummaryPorts) {
    this.need = need;
    this.ports = ports;
  }

  /** @param base the version to build upon */
  task(base?: Memory | null): SummaryTask {
    const { history, prefix, boundaries, strategy, removals } = this.need;
    const prior = this.prior();
    const from = newest(knownOf(base), prior)?.end ?? 0;
    const users = entriesOf(history, 0, prefix.end, 'readable').filter(({ role }) => role === 'user');
    return {
      pieces: piecesOf(history, from, boundaries.upTo(prefix.end), removals),
      from,
      ...(prior ? { prior } : {}),
      facts: this.facts(),
      userTexts: recent(users.map(({ text }) => text)),
      limit: prefix.limit,
      ...(strategy.summary_focus === undefined ? {} : { focus: strategy.summary_focus }),
      includeTrajectory: true,
      retries: RETRIES,
    };
  }

  /** The extractive digest; empty when not even that would be short enough. */
  digest(base: Memory | null | undefined): string {
    const { history, prefix, boundaries } = this.need;
    const { counter, encoding, digests } = this.ports;
    const start = newest(knownOf(base), this.prior());
    const from = start?.end ?? 0;
    const key = [boundaries.at(prefix.end).prefixHash, from, prefix.limit, encoding, start?.text].join(' ');
    return digests.remember(labelDigest(key), () =>
      writeDigest({
        ...(start ? { priorText: start.text } : {}),
        entries: entriesOf(history, from, prefix.end, 'readable'),
        facts: this.facts(),
        maxTokens: prefix.limit,
        counter,
        includeTrajectory: true,
      }),
    );
  }

  /** The summary that the caller holds, where the next one is built upon it. */
  heldBase(): KnownSummary | undefined {
    const { held } = this.need;
    return held !== undefined && this.prior() === held ? held : undefined;
  }

  /** Writes what the summary covers. Without a ref when that is not known to be written. */
  async keepTranscript(base: Memory | null | undefined): Promise<Transcript> {
    const place = this.place();
    if (!place) return NO_TRANSCRIPT;
    const { history, prefix } = this.need;
    // A link to a transcript that can't be fetched would lead nowhere: then this one starts from the beginning.
    const before = base && { ...base, ref: (await fetchableRef(base, place)) ?? null };
    return keep({ history, ...transcriptStart(history, before), end: prefix.end }, place);
  }

  /** The ref of a version's transcript; undefined when it can't be fetched. */
  async refOf(memory: Memory): Promise<string | undefined> {
    const place = this.place();
    if (!place) return undefined;
    if (this.need.how === 'make') return fetchableRef(memory, place);
    return memory.ref !== null && (await isThere(memory.ref, place.refs)) ? memory.ref : undefined;
  }

  private place(): TranscriptPlace | undefined {
    const { conversation, refs, counter } = this.ports;
    const { history, boundaries } = this.need;
    return conversation && refs && { history, boundaries, conversation, refs, counter };
  }

  /** What the caller brings along: a summary that it holds, or one that stands in the array. */
  private prior(): KnownSummary | undefined {
    const { history, held, strategy, prefix } = this.need;
    const echoed = echoOf(history);
    if (!strategy.incremental) return echoed;
    return newest(held && held.end < prefix.end ? held : undefined, echoed);
  }

  private facts(): LedgerFacts {
    const { history, prefix } = this.need;
    this.knownFacts ??= collectLedger(entriesOf(history, 0, prefix.end, 'readable'), {
      priorLedger: splitLedger(history.echo?.text ?? '').ledger,
    });
    return this.knownFacts;
  }
}
