/**
 * Makes the vectors of one conversation's archive, after the writes of its messages, and the
 * vectors of searches. Nothing is asked of the model for an archive that has no vectors.
 *
 * `vector-rows.ts` queues the messages, `upstream/embeddings.ts` asks for their vectors,
 * `vectors.ts` packs them, and `vector-rows.ts` stores them. A search asks for the vector of its
 * words in the same way (`near.ts`); one of all archives of a user does so once, in the Worker, and
 * hands it over. `fusion.ts` joins the most similar messages to those with the words.
 */

import { pause } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Embedder } from './embedder.ts';
import { BY_WORDS, beginningOf, logFault, type MadeNear, type Near, nearOf } from './near.ts';
import { portions } from './packing.ts';
import { readable } from './text.ts';
import type { Unembedded, VectorRows } from './vector-rows.ts';
import { packVector } from './vectors.ts';

/**
 * One call's texts and bytes. OpenAI takes 2048 texts and 300,000 tokens in all
 * (https://platform.openai.com/docs/api-reference/embeddings/create), and a text has at most as
 * many tokens as bytes.
 */
const MOST_TEXTS = 64;
const MOST_BYTES = 256 * 1024;

/** Calls after one write. What is left is for the next one. */
const MOST_CALLS = 8;

interface EmbeddingPorts {
  /** Undefined: no vectors are wanted. */
  embedder(): Embedder | undefined;
  /** In milliseconds. */
  now(): number;
  readonly log: Log;
}

/** A message that needs a vector, and its text as the model gets it. */
interface Batched {
  readonly message: Unembedded;
  readonly text: string;
  readonly bytes: number;
}

export class ArchiveEmbedding {
  private readonly rows: VectorRows;
  private readonly ports: EmbeddingPorts;
  private isRunning = false;
  private isDueAgain = false;

  constructor(rows: VectorRows, ports: EmbeddingPorts) {
    this.rows = rows;
    this.ports = ports;
  }

  /**
   * Makes vectors for the newest messages without one, as many as may be made after one write.
   * Never rejects.
   *
   * @returns undefined if none are wanted, and if a run is under way, which goes on for these
   */
  catchUp(): Promise<void> | undefined {
    const embedder = this.ports.embedder();
    if (!embedder) return undefined;
    this.isDueAgain = true;
    return this.isRunning ? undefined : this.runWhileDue(embedder);
  }

  /**
   * The vector of a search. Never rejects.
   *
   * @param made the one of a search that goes over several archives; null: it is made here
   */
  async near(words: string, made: MadeNear | null = null): Promise<Near> {
    const embedder = this.ports.embedder();
    if (!embedder || this.rows.dimensions(embedder.model) === undefined) return BY_WORDS;
    if (made && made.model !== embedder.model) return BY_WORDS;
    const near = made?.near ?? (await nearOf(words, embedder, TIME_LIMITS.searchVectorMs, this.ports.log));
    if (near.meaning !== 'used') return near;
    // Asked again, since a deletion may have come in between, and a model may have changed.
    return this.rows.dimensions(embedder.model) === near.vector.length ? near : BY_WORDS;
  }

  private async runWhileDue(embedder: Embedder): Promise<void> {
    this.isRunning = true;
    try {
      while (this.isDueAgain) {
        this.isDueAgain = false;
        await this.run(embedder);
      }
    } catch (error) {
      logCaught(this.ports.log, 'error', 'the vectors of messages could not be stored', error);
    } finally {
      this.isRunning = false;
    }
  }

  private async run(embedder: Embedder): Promise<void> {
    const { model, longestText } = embedder;
    const end = this.ports.now() + TIME_LIMITS.embeddingRunMs;
    this.rows.queue(model);
    for (let calls = 0; calls < MOST_CALLS && this.ports.now() < end; calls++) {
      const batch = this.batch(longestText);
      if (batch.length === 0) return;
      const texts = batch.map(({ text }) => text);
      const made = await embedWithRetry(embedder, texts);
      if (!made.ok) {
        logFault(this.ports.log, 'messages could not be given vectors', made.reason);
        // Else one text that the model refuses would keep all others from getting a vector.
        if (made.reason.isOfInput) this.rows.refused(batch.map(({ message }) => message.archived_id));
        return;
      }
      const packed = batch.flatMap(({ message }, index) => {
        const vector = packVector(made.value[index] ?? []);
        return vector ? [{ message, vector }] : [];
      });
      this.rows.store(model, packed, longestText);
    }
  }

  /** The next messages, as many as fit one call. */
  private batch(longestText: number): Batched[] {
    const queued = this.rows
      .queued(MOST_TEXTS, longestText)
      .map((message) => ({ message, ...beginningOf(readable(message.beginning).trim(), longestText) }));
    return portions(queued, MOST_BYTES, ({ bytes }) => bytes)[0] ?? [];
  }
}

/** Calls again once if that may help. */
async function embedWithRetry(embedder: Embedder, texts: readonly string[]): ReturnType<Embedder['embed']> {
  const made = await embedder.embed(texts, TIME_LIMITS.embeddingCallMs);
  if (made.ok || !made.reason.again) return made;
  await pause(
    Math.min(made.reason.afterMs ?? TIME_LIMITS.embeddingPauseMs, TIME_LIMITS.longestEmbeddingPauseMs),
  );
  return embedder.embed(texts, TIME_LIMITS.embeddingCallMs);
}
