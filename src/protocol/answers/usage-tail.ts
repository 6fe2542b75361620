/**
 * The usage that an upstream reports, read from the end of an answer in either protocol, whole or
 * streamed, without parsing it: usage stands near the end, and in a JSON text no quote of a content
 * is unescaped.
 */

import { concat } from '../../lib/bytes.ts';
import type { BilledTokens } from '../../memory/money/amounts.ts';
import type { RunUsage } from '../../memory/run/event.ts';

/** In bytes. After `usage` a response repeats its request's metadata, of up to 9 kB. */
const TAIL_BYTES = 32 * 1024;

const decoder = new TextDecoder();

/** Keeps the end of an answer. */
export class UsageTail {
  private chunks: Uint8Array[] = [];
  private size = 0;

  push(chunk: Uint8Array): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size < 2 * TAIL_BYTES) return;
    this.chunks = [concat(this.chunks).slice(-TAIL_BYTES)];
    this.size = TAIL_BYTES;
  }

  /** Undefined if the end reports no usage. What it says of cache writes is not read. */
  read(): Omit<BilledTokens, 'written'> | undefined {
    const usage = this.usage();
    if (!usage || usage.input === null) return undefined;
    const cached = Math.min(usage.cached ?? 0, usage.input);
    return { cached, fresh: usage.input - cached, output: usage.output ?? 0 };
  }

  /** Whether a stream has come to its last event. What follows does not matter. */
  isOver(): boolean {
    const text = decoder.decode(concat(this.chunks));
    // Of a response only the last event has counts.
    return /^data: ?\[DONE\]\s*$/m.test(text) || lastCount(text, 'input_tokens') !== undefined;
  }

  /** The tier that the upstream says it has served, if it says one. */
  tier(): string | undefined {
    const text = decoder.decode(concat(this.chunks));
    return [...text.matchAll(/[{,]\s*"service_tier"\s*:\s*"(\w{1,64})"/g)].at(-1)?.[1];
  }

  /** What the upstream says, and null where it says nothing. Undefined if it reports no usage. */
  usage(): RunUsage | undefined {
    const text = decoder.decode(concat(this.chunks));
    const input = lastCount(text, 'prompt_tokens') ?? lastCount(text, 'input_tokens');
    if (input === undefined) return undefined;
    return {
      input,
      cached: lastCount(text, 'cached_tokens') ?? null,
      cache_writes: lastCount(text, 'cache_write_tokens') ?? null,
      output: outputOf(text, input),
    };
  }
}

/**
 * All output that is billed. xAI and Google have reasoning in the total alone
 * (https://docs.x.ai/docs/key-information/consumption-and-rate-limits).
 */
function outputOf(text: string, input: number): number | null {
  const output = lastCount(text, 'completion_tokens') ?? lastCount(text, 'output_tokens');
  if (output === undefined) return null;
  return Math.max(output, (lastCount(text, 'total_tokens') ?? 0) - input);
}

/** The value of the last member of this name that is a count. */
function lastCount(text: string, name: string): number | undefined {
  const found = [...text.matchAll(new RegExp(`[{,]\\s*"${name}"\\s*:\\s*(\\d{1,12})(?!\\d)`, 'g'))].at(-1);
  return found ? Number(found[1]) : undefined;
}
