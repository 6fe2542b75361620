/**
 * Whether an upstream's error says that the body has too many bytes, and the limit in it.
 *
 * Status 413 says it, unless the words are about tokens. Gateways often answer in HTML, and without
 * a number. A 400 must say it in words.
 */
import { isOfRate, ownWordsOfError, readTooLong } from './too-long.ts';

const LARGE = 413;

/**
 * Phrases for it, each with a server that uses it, where its status is not 413
 * (https://github.com/anomalyco/opencode/issues/35112,
 * https://github.com/huggingface/text-generation-inference/issues/1802,
 * https://github.com/MoonshotAI/kimi-code/issues/476).
 */
const WORDS = [
  /max(?:imum)? bytes to request body/, // Alibaba
  /request (?:body )?(?:size )?exceeds (?:the )?maximum (?:allowed )?size/, // Alibaba, Anthropic
  /request (?:body|entity|payload)? ?(?:is )?too large/, // express, nginx, GitHub Copilot
  /payload (?:is )?too large/, // OpenAI's edge, hapi
  /request body: length limit exceeded/, // axum: text-generation-inference
  /total (?:payload|request|message) size/, // Gemini, Moonshot
  /message larger than max/, // xAI (gRPC)
].map(({ source }) => new RegExp(source, 'i'));

/** A limit of one image or file says nothing about the body. */
const OF_A_PART = /\b(?:image|file|document|video|audio)s?\b[^.]*\b(?:exceed|larger|limit|maximum)/i;

/** Sizes in an error: `10485760 bytes`, `32 MB`, `max bytes to request body : 6291456`. */
const SIZES = /(?:\b(\d[\d,]*(?:\.\d+)?) ?(bytes|[km]i?b)\b)|\b(?:body ?:|exceeds limit|vs\.) ?(\d+)\b/gi;
const UNITS: Readonly<Record<string, number>> = { bytes: 1, kb: 1e3, kib: 1024, mb: 1e6, mib: 1024 ** 2 };
/** In bytes. Nobody limits a body to less. */
const LEAST = 16 * 1024;

export interface TooLarge {
  /** In bytes, if the error states it. */
  readonly limit?: number;
}

export function mayBeTooLarge(status: number | undefined): boolean {
  return status === LARGE || status === 400;
}

/** Reads an error about a body with too many bytes. Undefined if it is about something else. */
export function readTooLarge(status: number, body: string, sent: number): TooLarge | undefined {
  if (!mayBeTooLarge(status)) return undefined;
  // HTML says nothing more than its status.
  const words = ownWordsOfError(body);
  if (readTooLong(status, body) || isOfRate(words) || OF_A_PART.test(words)) return undefined;
  if (status !== LARGE && !WORDS.some((phrase) => phrase.test(words))) return undefined;
  const sizes = [...words.matchAll(SIZES)].map(([, amount = '', unit = '', bare]) =>
    bare === undefined ? Number(amount.replaceAll(',', '')) * (UNITS[unit.toLowerCase()] ?? 0) : Number(bare),
  );
  const limits = sizes.filter((size) => size >= LEAST && size < sent);
  return limits.length > 0 ? { limit: Math.floor(Math.min(...limits)) } : {};
}
