/**
 * The contract of Headroom's compression service, which gateways call before they ask a model
 * (https://docs.litellm.ai/docs/proxy/headroom): a gateway looks for `hash=` and 24 hexadecimal
 * digits in the texts of the answer, gives its model a tool that takes one, and asks for its
 * content.
 *
 * A hash is the first 96 bits of a ref, so nothing is stored for it, and a hash names one content.
 */
import { Buffer } from 'node:buffer';
import { base32, bytesOfBase32 } from '../lib/base32.ts';
import { REF_START } from '../memory/conversation/refs.ts';
import type { View } from '../memory/plan/view.ts';
import type { ModelRequest } from './model-request.ts';

/** A hash alone. */
export const HASH_PATTERN = /^[0-9a-f]{24}$/;

const REF_IN_MARKER = /; ref=(ref_[a-z2-7]{26})(?=[;⟧])/g;

/** Characters of a ref that hold the bits of its hash, and those that hold nothing else. */
const CHARACTERS = 20;
const WHOLE_CHARACTERS = 19;

/** The hash of a ref. */
export function hashOfRef(ref: string): string {
  const content = ref.slice(REF_START.length, REF_START.length + CHARACTERS);
  return Buffer.from(bytesOfBase32(content)).toString('hex');
}

/** What all refs of a hash begin with. */
export function refStartOf(hash: string): string {
  return REF_START + base32(Buffer.from(hash, 'hex'), WHOLE_CHARACTERS);
}

/** The messages of a view as JSON, with the hash of each of its refs in markers. */
export interface CompressedMessages {
  readonly json: string;
  readonly hashes: readonly string[];
}

/** @param owns whether a ref is the caller's */
export function compressedMessages(
  request: ModelRequest,
  view: View | undefined,
  owns: (ref: string) => boolean,
): CompressedMessages {
  const messages = request.writtenArray(view);
  if (!messages) throw new Error('a view was written that cannot be read');
  const hashes = new Set<string>();
  const json = new TextDecoder().decode(messages).replace(REF_IN_MARKER, (marked, ref: string) => {
    if (!owns(ref)) return marked;
    const hash = hashOfRef(ref);
    hashes.add(hash);
    return `${marked}; hash=${hash}`;
  });
  return { json, hashes: [...hashes] };
}

/** A quote inside of a string is escaped, so no text is taken for a block. */
const BLOCK = /"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking)"/;

/** Whether messages have blocks that Anthropic's form alone has. */
export function hasAnthropicBlocks(body: Uint8Array): boolean {
  return BLOCK.test(new TextDecoder().decode(body));
}
