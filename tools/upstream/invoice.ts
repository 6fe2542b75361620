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
  /** Of input that is written to the cache. Absent: the price of fresh input. */
  readonly written?: bigint;
  readonly output: bigint;
  readonly hits: HitRule;
  /** All of a request with more input than `above` costs a multiple. */
  readonly step?: { readonly above: number; readonly input: bigint };
}

/**
 * Where the cache is read and written. `prefix`: wherever prefixes are equal. `boundaries`: at the
 * end of the leading developer messages, at message ends (the newest is written, and it and the 20
 * before it are read), and at marks. `marks`: at marks, and up to 20 parts before each.
 */
type HitRule = 'prefix' | 'boundaries' | 'marks';

/**
 * GPT-4.1 and GPT-4.1 mini (https://developers.openai.com/api/docs/pricing, 2026-10-03), GPT-5.6
 * (https://developers.openai.com/api/docs/guides/prompt-caching, 2026-11-22), GPT-6.2 Sol
 * (https://developers.openai.com/api/docs/models/gpt-6.2-sol, 2026-11-17), and Claude with entries
 * of five minutes (https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
 * 2026-11-22).
 */
export const TARIFFS: Readonly<Record<string, Tariff>> = {
  'gpt-4.1': { fresh: 2_000_000n, cached: 500_000n, output: 8_000_000n, hits: 'prefix' },
  'gpt-4.1-mini': { fresh: 400_000n, cached: 100_000n, output: 1_600_000n, hits: 'prefix' },
  'gpt-5.6-terra': {
    fresh: 2_000_000n,
    cached: 200_000n,
    written: 2_500_000n,
    output: 12_000_000n,
    hits: 'boundaries',
    step: { above: 272_000, input: 2n },
  },
  'gpt-6.2-sol': {
    fresh: 2_000_000n,
    cached: 100_000n,
    written: 2_500_000n,
    output: 10_000_000n,
    hits: 'boundaries',
    step: { above: 272_000, input: 2n },
  },
  'claude-sonnet-5-5': {
    fresh: 2_000_000n,
    cached: 100_000n,
    written: 2_500_000n,
    output: 10_000_000n,
    hits: 'marks',
  },
  'claude-sonnet-4.6': {
    fresh: 3_000_000n,
    cached: 300_000n,
    written: 3_750_000n,
    output: 15_000_000n,
    hits: 'marks',
  },
};

/** The part of a body that is billed as input. */
export interface BilledBody {
  readonly model?: unknown;
  readonly tools?: unknown;
  readonly system?: unknown;
  readonly messages?: unknown;
  readonly instructions?: unknown;
  readonly input?: unknown;
  readonly prompt_cache_options?: { readonly mode?: unknown };
}

interface Line {
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  /** Written to the cache, where that has a price of its own. */
  readonly written: number;
  readonly output: number;
  /** In picodollars. */
  readonly amount: bigint;
}

const LEAST_CACHED = 1_024;
const CACHE_STEP = 128;
const LOOKED_BACK = 20;
const PICO_PER_CENT = 10n ** 10n;

export class Vendor {
  readonly invoice: Line[] = [];
  /** The entries, by the hash of their prefix. */
  private readonly seen = new Set<string>();

  /** Bills a call. @throws if the model has no tariff */
  call(body: BilledBody, output: unknown): Usage {
    const model = String(body.model);
    const tariff = TARIFFS[model];
    if (!tariff) throw new Error(`The vendor has no tariff for ${model}.`);
    const ends = endsOf(model, partsOf(body));
    const input = ends.at(-1)?.tokens ?? 0;
    // OpenAI's cache without its own boundaries: at the caller's marks alone.
    const isExplicit = body.prompt_cache_options?.mode === 'explicit';
    const { read, wrote } = this.cache(ends, isExplicit ? 'marks' : tariff.hits);
    const cached = tariff.hits === 'prefix' ? read - (read % CACHE_STEP) : read;
    const written = tariff.written === undefined ? 0 : Math.max(0, wrote - cached);
    const answered = tokensOf(JSON.stringify(output));
    const factor = tariff.step && input > tariff.step.above ? tariff.step.input : 1n;
    const amount =
      factor *
        (BigInt(input - cached - written) * tariff.fresh +
          BigInt(written) * (tariff.written ?? tariff.fresh) +
          BigInt(cached) * tariff.cached) +
      BigInt(answered) * tariff.output;
    this.invoice.push({ model, input, cached, written, output: answered, amount });
    return {
      prompt_tokens: input,
      completion_tokens: answered,
      total_tokens: input + answered,
      prompt_tokens_details: {
        cached_tokens: cached,
        ...(tariff.written === undefined ? {} : { cache_write_tokens: written }),
      },
    };
  }

  /** Reads the longest entry, and writes entries. @returns the tokens up to both */
  private cache(ends: readonly End[], hits: HitRule): { readonly read: number; readonly wrote: number } {
    const last = ends.length - 1;
    const marks = ends.flatMap(({ isMarked }, at) => (isMarked ? [at] : []));
    const own = hits === 'boundaries' ? [last, ends.findIndex(({ isPreamble }) => isPreamble)] : [];
    const written = new Set([...marks, ...own]);
    const isWritten = (at: number): boolean => hits === 'prefix' || written.has(at);
    const isLooked = (at: number): boolean =>
      isWritten(at) || [...written].some((end) => at <= end && at >= end - LOOKED_BACK);
    let read = 0;
    let wrote = 0;
    for (const [at, { key, tokens }] of ends.entries()) {
      if (tokens < LEAST_CACHED) continue;
      if (isLooked(at) && this.seen.has(key)) read = tokens;
      if (!isWritten(at)) continue;
      this.seen.add(key);
      wrote = tokens;
    }
    return { read, wrote };
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

/** The end of a part of a prompt. */
interface End {
  /** The hash of all up to it. */
  readonly key: string;
  /** Up to it. */
  readonly tokens: number;
  readonly isMarked: boolean;
  /** Whether the leading developer messages end here. */
  readonly isPreamble: boolean;
}

const MARKS = /,?"(?:cache_control|prompt_cache_breakpoint)":\{[^{}]*\}/g;
const TEXT_PART = /\[\{"type":"(?:input_)?text","text":("(?:[^"\\]|\\.)*")\}\]/g;
const IS_PREAMBLE = /^(?:null$|\[|"|\{"role":"(?:system|developer)")/;

function endsOf(model: string, parts: readonly string[]): End[] {
  let key = `${model}:`;
  let tokens = 0;
  return parts.map((part, at) => {
    // A mark is no part of a prompt, and a text is the same as a list with it.
    const plain = part.replace(MARKS, '').replace(TEXT_PART, '$1');
    tokens += tokensOf(plain);
    key = createHash('sha256').update(key).update(plain).digest('hex');
    const next = parts[at + 1];
    const isPreamble = IS_PREAMBLE.test(part) && next !== undefined && !IS_PREAMBLE.test(next);
    return { key, tokens, isMarked: part.search(MARKS) >= 0, isPreamble };
  });
}

function partsOf({ tools, system, messages, instructions, input }: BilledBody): string[] {
  const list = Array.isArray(messages) ? messages : Array.isArray(input) ? input : [input ?? null];
  return [tools ?? null, system ?? instructions ?? null, ...list].map((part) => JSON.stringify(part));
}

/**
 * As no tokenizer of Precis counts: three bytes and a half for a token, and four tokens per part.
 */
function tokensOf(part: string): number {
  return 4 + Math.ceil((2 * Buffer.byteLength(part)) / 7);
}
