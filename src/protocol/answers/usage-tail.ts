/**
 * The usage that an upstream reports, read from the end of an answer in either protocol, whole or
 * streamed, without parsing it: usage stands near the end, and in a JSON text no quote of a content
 * is unescaped.
 */

import { concat } from '../../lib/bytes.ts';

/** Tokens of one model call. */
export interface CountedTokens {
  /** Input that the upstream had in its prompt cache. */
  readonly cached: number;
  /** Other input. */
  readonly fresh: number;
  readonly output: number;
}

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

  /** Undefined if the end reports no usage. */
  read(): CountedTokens | undefined {
    const text = decoder.decode(concat(this.chunks));
    const input = lastCount(text, 'prompt_tokens') ?? lastCount(text, 'input_tokens');
    if (input === undefined) return undefined;
    const cached = Math.min(lastCount(text, 'cached_tokens') ?? 0, input);
    const output = lastCount(text, 'completion_tokens') ?? lastCount(text, 'output_tokens') ?? 0;
    return { cached, fresh: input - cached, output };
  }
}

/** The value of the last member of this name that is a count. */
function lastCount(text: string, name: string): number | undefined {
  const found = [...text.matchAll(new RegExp(`[{,]\\s*"${name}"\\s*:\\s*(\\d{1,12})(?!\\d)`, 'g'))].at(-1);
  return found ? Number(found[1]) : undefined;
}
