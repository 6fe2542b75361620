/** Messages of a conversation that do not come from a caller's body. */
import type { Result } from '../lib/result.ts';
import type { BodyFault } from './body.ts';
import type { ModelRequest, WireMessage } from './model-request.ts';

/** The part of a protocol that reads messages. */
export interface MessageReader {
  /** The field that holds the conversation. */
  readonly field: ModelRequest['conversationField'];
  read(bytes: Uint8Array): Result<ModelRequest, BodyFault>;
}

/** @param json of messages or items, separated by commas; none of them if they are not valid */
export function readMessages({ field, read }: MessageReader, json: string): readonly WireMessage[] {
  const body = read(new TextEncoder().encode(`{"${field}":[${json}]}`));
  return body.ok ? body.value.messages : [];
}
