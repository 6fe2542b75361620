/**
 * A vendor that bills: it counts tokens in its own way, has a prompt cache of its own, and writes
 * everything that it charges on an invoice. Nothing here is shared with the code under test, so an
 * invoice can prove a bill.
 */
import { createHash } from 'node:crypto';
import type { Usage } from './completion.ts';

/** Prices in picodollars per token: a dollar per million tokens is a million of them. */
export interface Tariff {
  readonly fresh: bigint;
  readonly cached: bigint;
  readonly output: bigint;
}

/** GPT-4.1 and GPT-4.1 mini (https://developers.openai.com/api/docs/pricing, 2026-10-03). */
export const TARIFFS: Readonly<Record<string, Tariff>> = {
  'gpt-4.1': { fresh: 2_000_000n, cached: 500_000n, output: 8_000_000n },
  'gpt-4.1-mini': { fresh: 400_000n, cached: 100_000n, output: 1_600_000n },
};

/** The part of a body that is billed as input. */
export interface BilledBody {
  readonly model?: unknown;
  readonly tools?: unknown;
  readonly messages?: unknown;
  readonly instructions?: unknown;
  readonly input?: unknown;
}

interface Line {
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** In picodollars. */
  readonly amount: bigint;
}

const LEAST_CACHED = 1_024;
const CACHE_STEP = 128;
const PICO_PER_CENT = 10n ** 10n;

export class Vendor {
  readonly invoice: Line[] = [];
  /** The tokens up to the end of each prefix that was seen, by the prefix's hash. */
  private readonly seen = new Map<string, number>();

  /** Bills a call. @throws if the model has no tariff */
  call(body: BilledBody, output: unknown): Usage {
    const model = String(body.model);
    const tariff = TARIFFS[model];
    if (!tariff) throw new Error(`The vendor has no tariff for ${model}.`);
    let tokens = 0;
    let prefix = `${model}:`;
    let known = 0;
    for (const part of partsOf(body)) {
      tokens += tokensOf(part);
      prefix = createHash('sha256').update(prefix).update(part).digest('hex');
      known = Math.max(known, this.seen.get(prefix) ?? 0);
      this.seen.set(prefix, tokens);
    }
    const cached = known < LEAST_CACHED ? 0 : known - (known % CACHE_STEP);
    const written = tokensOf(JSON.stringify(output));
    const amount =
      BigInt(tokens - cached) * tariff.fresh +
      BigInt(cached) * tariff.cached +
      BigInt(written) * tariff.output;
    this.invoice.push({ model, input: tokens, cached, output: written, amount });
    return {
      prompt_tokens: tokens,
      completion_tokens: written,
      total_tokens: tokens + written,
      prompt_tokens_details: { cached_tokens: cached },
    };
  }

  /** In picodollars. */
  get total(): bigint {
    return this.invoice.reduce((sum, { amount }) => sum + amount, 0n);
  }

  /** Rounded to whole cents. */
  get cents(): number {
    return Number((this.total + PICO_PER_CENT / 2n) / PICO_PER_CENT);
  }
}

function partsOf({ tools, messages, instructions, input }: BilledBody): string[] {
  const list = Array.isArray(messages) ? messages : Array.isArray(input) ? input : [input ?? null];
  return [tools ?? null, instructions ?? null, ...list].map((part) => JSON.stringify(part));
}

/** As no tokenizer of ours counts: three bytes and a half for a token, and four tokens per part. */
function tokensOf(part: string): number {
  return 4 + Math.ceil((2 * Buffer.byteLength(part)) / 7);
}
