/**
 * The usage that an upstream reports, read from the end of an answer in any protocol, whole or
 * streamed, without parsing it: usage is near the end, and in a JSON text no quote of a content is
 * unescaped. A stream of Messages reports its input at its beginning, too.
 */

import type { Buffer } from 'node:buffer';
import { bufferOf, concat } from '../../lib/bytes.ts';
import { asObject, parseJson } from '../../lib/json.ts';
import type { BilledTokens } from '../../memory/money/amounts.ts';
import type { RunUsage } from '../../memory/money/bill-schema.ts';
import type { VendorVerdict } from '../../memory/replay/change.ts';
import { levelsOpened } from '../json/levels.ts';
import { JsonSyntaxError, OPEN_OBJECT, SPACE } from '../json/scanner.ts';
import { within } from '../json/spans.ts';
import {
  hasStopped,
  hourWrites,
  isMessagesUsage,
  opensMessage,
  runUsageOf,
  streamedUsage,
  tierOf,
} from '../messages/usage.ts';
import type { Usage } from './usage.ts';
import { verdictIn } from './verdict.ts';

/** In bytes. After `usage` a response repeats its request's metadata, of up to 9 kB. */
const TAIL_BYTES = 32 * 1024;

/** In bytes. Of a stream of Messages: its first event. */
const HEAD_BYTES = 8 * 1024;
/** In bytes: enough to tell such a stream, with some signs of life before it. */
const OPENING_BYTES = 1024;

const decoder = new TextDecoder();

export class UsageTail {
  private chunks: Uint8Array[] = [];
  private size = 0;
  /** The beginning of a stream of Messages; undefined before the first bytes are let go. */
  private head: Uint8Array | undefined;
  /** See `answerId`. */
  private id: string | undefined;
  /** Whether it is a JSON object, and no stream. Undefined before its first character. */
  private isWhole: boolean | undefined;
  /** What was last read: several parts of the Worker ask for it when the answer has ended. */
  private text: string | undefined;
  private reported: { readonly json: string | undefined } | undefined;
  private messages: { readonly usage: Usage | undefined } | undefined;
  private known: { readonly usage: RunUsage | undefined } | undefined;

  push(chunk: Uint8Array): void {
    this.text = undefined;
    this.reported = undefined;
    this.messages = undefined;
    this.known = undefined;
    this.isWhole ??= isObject(chunk);
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size < 2 * TAIL_BYTES) return;
    const all = this.tail;
    if (this.head === undefined) this.id = idIn(all);
    this.head ??= opens(all) ? all.slice(0, HEAD_BYTES) : NONE;
    this.chunks = [all.slice(-TAIL_BYTES)];
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
    if (this.isWhole) return false;
    const text = this.tailText;
    if (this.isMessages) return hasStopped(text);
    // Of a response only the last event has counts.
    return /^data: ?\[DONE\]\s*$/m.test(text) || lastCount(this.usageText, 'input_tokens') !== undefined;
  }

  /** The tier that the upstream says it has served, if it says one. */
  tier(): string | undefined {
    const messages = this.messagesUsage();
    if (messages) return tierOf(messages);
    const text = this.tailText;
    // The request's metadata and tools, which a response repeats, are deeper.
    const found = [...text.matchAll(/[{,]\s*"service_tier"\s*:\s*"(\w{1,64})"/g)].slice(-MOST_LOOKED);
    const tiers = found.map(({ 0: member, 1: tier, index }) => {
      const rest = text.slice(index + member.length);
      return { tier, depth: -levelsOpened(this.isWhole ? rest : (/^[^\r\n]*/.exec(rest)?.[0] ?? '')) };
    });
    const least = Math.min(...tiers.map(({ depth }) => depth));
    return tiers.findLast(({ depth }) => depth === least)?.tier;
  }

  /** What the upstream says, and null where it says nothing. Undefined if it reports no usage. */
  usage(): RunUsage | undefined {
    this.known ??= { usage: this.readUsage() };
    return this.known.usage;
  }

  private readUsage(): RunUsage | undefined {
    const messages = this.messagesUsage();
    if (messages) {
      const usage = runUsageOf(messages);
      // Until it reports its whole output, a stream has reported only what its first event had.
      const isUnfinished = this.isMessages && !WHOLE_OUTPUT.test(this.tailText);
      return usage && isUnfinished ? { ...usage, output: null } : usage;
    }
    const text = this.usageText;
    const input = lastCount(text, 'prompt_tokens') ?? lastCount(text, 'input_tokens');
    if (input === undefined) return undefined;
    return {
      input,
      cached: lastCount(text, 'cached_tokens') ?? null,
      cache_writes: lastCount(text, 'cache_write_tokens') ?? null,
      output: outputOf(text, input),
    };
  }

  /**
   * Why the answer was cut short. `window`: it has filled the model's window, by Anthropic's
   * `stop_reason`, or by the `finish_reason` of servers that have taken the name over, such as
   * z.ai. `length`: some limit of tokens. Undefined if it was not cut.
   */
  cutBy(): 'window' | 'length' | undefined {
    const buffer = bufferOf(this.tail);
    if (!Object.keys(CUTS).some((reason) => buffer.includes(`"${reason}"`))) return undefined;
    // Of a whole body the last one is the answer's own, since its content comes before.
    const reason = [...this.tailText.matchAll(REASON)].at(-1)?.[1] ?? '';
    return Object.hasOwn(CUTS, reason) ? CUTS[reason] : undefined;
  }

  /** The vendor's id of the answer, of the APIs that compare a request with an earlier one. */
  answerId(): string | undefined {
    return this.head === undefined ? idIn(this.tail) : this.id;
  }

  /** What the vendor says of the request, as far as that is in what is kept. */
  verdict(): VendorVerdict | undefined {
    return verdictIn(this.isMessages ? this.messagesText : this.tailText, this.isWhole === true);
  }

  /** The error that a stream has ended with, as JSON. */
  error(): string | undefined {
    const data = [...this.tailText.matchAll(/^data: ?(.*)$/gm)].at(-1)?.[1];
    const event = asObject(parseJson(data ?? ''));
    const { error = asObject(event.response).error } = event;
    return error ? JSON.stringify({ error }) : undefined;
  }

  /** Of the cache writes, those that are kept for an hour. 0 where no lifetimes are reported. */
  hourWrites(): number {
    const messages = this.messagesUsage();
    return messages ? hourWrites(messages) : 0;
  }

  /** What is kept, as one piece from then on. */
  private get tail(): Uint8Array {
    const [only = NONE, ...more] = this.chunks;
    if (more.length === 0) return only;
    const all = concat(this.chunks);
    this.chunks = [all];
    return all;
  }

  private get tailText(): string {
    this.text ??= decoder.decode(this.tail);
    return this.text;
  }

  /** The answer's usage object as JSON; empty without one. */
  private get usageText(): string {
    this.reported ??= { json: lastUsage(this.tail, this.isWhole === true) };
    return this.reported.json ?? '';
  }

  /** Of a stream of Messages: its beginning and its end. */
  private get messagesText(): string {
    return this.head ? decoder.decode(concat([this.head, LF, this.tail])) : this.tailText;
  }

  private get isMessages(): boolean {
    return this.head === undefined ? opens(this.tail) : this.head.length > 0;
  }

  /** The usage of an answer of Messages; undefined for any other answer. */
  private messagesUsage(): Usage | undefined {
    this.messages ??= { usage: this.readMessagesUsage() };
    return this.messages.usage;
  }

  private readMessagesUsage(): Usage | undefined {
    if (this.isMessages) return streamedUsage(this.messagesText);
    const usage = asObject(parseJson(this.usageText));
    return isMessagesUsage(usage) ? usage : undefined;
  }
}

const NONE = new Uint8Array();
/** Reasons of all protocols why an answer is cut short. */
const CUTS: Readonly<Record<string, 'window' | 'length'>> = {
  model_context_window_exceeded: 'window',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
};
const REASON = /"(?:(?:stop|finish)_reason|incomplete_details"\s*:\s*\{\s*"reason)"\s*:\s*"(\w+)"/g;
/** Of a response, or of a message. */
const ID = /"id"\s*:\s*"((?:resp|msg)_[\w-]{1,128})"/;
const LF = new Uint8Array([0x0a]);

/** The event of a stream of Messages that reports its whole output. */
const WHOLE_OUTPUT = /^data: ?\{.{0,40}"message_delta".*"output_tokens"\s*:\s*\d/m;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** By its first character that is no space and no byte order mark. Undefined if there is none. */
function isObject(bytes: Uint8Array): boolean | undefined {
  const first = bytes.find((byte) => byte > SPACE && !BYTE_ORDER_MARK.includes(byte));
  return first === undefined ? undefined : first === OPEN_OBJECT;
}

function idIn(bytes: Uint8Array): string | undefined {
  return ID.exec(decoder.decode(bytes.subarray(0, OPENING_BYTES)))?.[1];
}

function opens(bytes: Uint8Array): boolean {
  return opensMessage(decoder.decode(bytes.subarray(0, OPENING_BYTES)));
}

/** How deep an answer's own usage is at most: in an event's response, or a gateway's member. */
const MOST_LEVELS = 2;
/** How many objects of the name are looked at. */
const MOST_LOOKED = 32;

/**
 * The last usage object that can be the answer's own, as JSON. A response repeats its request,
 * where the schema of a tool may hold any numbers, but deeper. In a part of an event that can't be
 * known: its line has no end, and is no JSON.
 */
function lastUsage(bytes: Uint8Array, isWhole: boolean): string | undefined {
  const body = bufferOf(bytes);
  let before = body.length;
  for (let looked = 0; looked < MOST_LOOKED && before > 0; looked++) {
    const at = body.subarray(0, before).lastIndexOf('"usage"');
    if (at < 0) return undefined;
    before = at;
    const [opening] = /^"usage"\s*:\s*\{/.exec(body.toString('latin1', at, at + LONGEST_OPENING)) ?? [];
    if (opening === undefined) continue;
    const json = objectAt(body, at + opening.length - 1);
    if (json === undefined) continue;
    const rest = body.toString('latin1', at + opening.length - 1 + json.length);
    const line = isWhole || isLine(body, rest) ? rest : /^[^\r\n]*(?=[\r\n])/.exec(rest)?.[0];
    if (line !== undefined && -levelsOpened(line) <= MOST_LEVELS) return json.toString();
  }
  return undefined;
}

/** In bytes. */
const LONGEST_OPENING = 64;

/** Whether a text ends with a line that is whole without its end. @param rest of that line */
function isLine(body: Buffer, rest: string): boolean {
  if (/[\r\n]/.test(rest)) return false;
  const line = body.toString('latin1', body.lastIndexOf('\n') + 1);
  return line.startsWith('data:') && levelsOpened(line) === 0;
}

/** The object that begins there; undefined if the text ends within it. */
function objectAt(body: Buffer, start: number): Buffer | undefined {
  try {
    return body.subarray(start, within(body, { start, end: body.length }, {}).end);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
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
