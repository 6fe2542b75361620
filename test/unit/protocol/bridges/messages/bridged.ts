/** Bodies and answers of the bridge to Messages, as objects. */
import { createHash } from 'node:crypto';
import type {
  AnswerReader,
  BridgedBody,
  BridgeOptions,
  ChatBody,
  KeptOutput,
} from '../../../../../src/protocol/bridges/bridge.ts';
import { messagesBridge } from '../../../../../src/protocol/bridges/messages/body.ts';

export type Json = Record<string, unknown>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const OPTIONS: BridgeOptions = {
  showsReasoning: false,
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
};

interface Bridged extends Omit<BridgedBody, 'body'> {
  readonly body: Json;
}

type Kept = (index: number) => KeptOutput | undefined;

/** A body of chat as it is sent, by default one of a model that thinks only if it is asked to. */
export function bridged(chat: Json, options?: Partial<BridgeOptions>, kept?: Kept): Bridged {
  const made = madeOf(chat, options, kept);
  return { ...made, body: parsed(made.body) };
}

/** The same in its bytes. */
export function sentOf(...given: Parameters<typeof bridged>): string {
  return decoder.decode(madeOf(...given).body);
}

function madeOf(chat: Json, options: Partial<BridgeOptions> = {}, kept: Kept = () => undefined): BridgedBody {
  const whole = { model: 'claude-opus-4-8', messages: [{ role: 'user', content: 'Hi.' }], ...chat };
  const made = messagesBridge.body(whole as ChatBody, kept, { ...OPTIONS, ...options });
  if ('message' in made) throw new Error(made.message);
  return made;
}

/** What reads the answer to a body. */
export function readerOf(chat: Json = {}, options: Partial<BridgeOptions> = {}): AnswerReader {
  return bridged(chat, options).reader;
}

export function parsed(bytes: Uint8Array): Json {
  return JSON.parse(decoder.decode(bytes)) as Json;
}

export function bytesOf(value: unknown): Uint8Array {
  return encoder.encode(typeof value === 'string' ? value : JSON.stringify(value));
}

export const user = (content: unknown): Json => ({ role: 'user', content });
export const says = (content: unknown, more: Json = {}): Json => ({ role: 'assistant', content, ...more });
export const result = (tool_call_id: string, content: unknown = 'ok'): Json => ({
  role: 'tool',
  tool_call_id,
  content,
});

/** An answer that calls tools. */
export function calls(...given: readonly (readonly [id: string, input: string, name?: string])[]): Json {
  const tool_calls = given.map(([id, input, name = 'read']) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  return says(null, { tool_calls });
}

export const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
