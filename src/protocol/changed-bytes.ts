/** Compares the conversation of a body with the conversation that was sent for it. */
import { Buffer } from 'node:buffer';
import { COMPACTED_MARK } from './chat/message.ts';
import { topField } from './json/spans.ts';
import type { ModelRequest } from './model-request.ts';
import { REASONING_MARK } from './responses/reasoning.ts';

/** Precis's marks, which are cut out of a conversation in every mode. */
const MARKS = [COMPACTED_MARK, REASONING_MARK].map((mark) => `"${mark}"`);

/**
 * How many bytes of the conversation differ in a body that was sent: those between the first
 * difference and the last. 0 for a conversation with Precis's marks, which are cut out.
 */
export function changedBytes(
  { bytes, conversationField }: Pick<ModelRequest, 'bytes' | 'conversationField'>,
  sent: Uint8Array,
): number {
  if (bytes.buffer === sent.buffer && bytes.length === sent.length) return 0;
  const came = conversationIn(bytes, conversationField);
  const went = conversationIn(sent, conversationField);
  if (Buffer.compare(came, went) === 0 || MARKS.some((mark) => came.includes(mark))) return 0;
  const shorter = Math.min(came.length, went.length);
  let start = 0;
  while (start < shorter && came[start] === went[start]) start++;
  let end = 0;
  while (end < shorter - start && came[came.length - 1 - end] === went[went.length - 1 - end]) end++;
  return Math.max(came.length, went.length) - start - end;
}

function conversationIn(body: Uint8Array, field: string): Buffer {
  const span = topField(body, field);
  return Buffer.from(body.buffer, body.byteOffset, body.length).subarray(span?.start ?? 0, span?.end ?? 0);
}
