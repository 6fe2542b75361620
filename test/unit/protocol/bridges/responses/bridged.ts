/** What the tests of the bridge to Responses share. */
import { createHash } from 'node:crypto';
import { Frame } from '../../../../../src/protocol/answers/sse.ts';
import type { BridgedBody, BridgeOptions, SentOutput } from '../../../../../src/protocol/bridges/bridge.ts';
import { responsesBridge } from '../../../../../src/protocol/bridges/responses/body.ts';

export type Json = Record<string, unknown>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const parsed = (bytes: Uint8Array): Json => JSON.parse(decoder.decode(bytes));
export const bytesOf = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

interface Asking extends Partial<BridgeOptions> {
  /** By index of a message. */
  readonly kept?: ReadonlyMap<number, SentOutput>;
}

/** The body that a chat body becomes; throws where it is refused. */
export function bridged(chat: Json, { kept, ...options }: Asking = {}): BridgedBody {
  const body = responsesBridge.body(
    { model: 'gpt-6.1-sol', messages: [{ role: 'user', content: 'Go.' }], ...chat },
    (index) => kept?.get(index),
    { showsReasoning: false, sha256, ...options },
  );
  if (!('reader' in body)) throw new Error(body.message);
  return body;
}

/** The same, decoded. */
export const bodyOf = (chat: Json, asking?: Asking): Json => parsed(bridged(chat, asking).body);

/** The items of `input` that messages become. */
export const inputOf = (messages: readonly Json[], asking?: Asking): Json[] =>
  bodyOf({ messages }, asking).input as Json[];

/** The chat answer to an answer in JSON. */
export function answered(response: Json, chat: Json = {}, asking?: Asking) {
  const { body, fault: _, ...answer } = bridged(chat, asking).reader.answer(bytesOf(response));
  return { ...answer, body: parsed(body) };
}

/** A stream of events, and the frames of chat that they become. */
export function streamed(events: readonly Json[], chat: Json = {}, asking?: Asking) {
  const stream = bridged({ stream: true, ...chat }, asking).reader.stream();
  const written = events.map((event) => stream.push(Frame.of(JSON.stringify(event), String(event.type))));
  const frames = written.join('').match(/.+?\n\n/gs) ?? [];
  const data = frames.map((frame) => /^data: (.*)\n\n$/.exec(frame)?.[1] ?? '');
  const isDone = data.at(-1) === '[DONE]';
  const chunks: Json[] = data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one));
  return { frames, chunks, isDone, kept: stream.kept };
}

/** The choices of chunks, one each. */
export const choicesOf = (chunks: readonly Json[]): Json[] =>
  chunks.flatMap(({ choices }) => (choices as Json[] | undefined) ?? []);

/** The deltas of chunks that say something. */
export const deltasOf = (chunks: readonly Json[]): Json[] =>
  choicesOf(chunks)
    .map(({ delta }) => delta as Json)
    .filter((delta) => Object.keys(delta).length > 0);
