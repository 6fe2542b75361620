/**
 * The contract of Headroom's compression service, which gateways call before they ask a model
 * (https://docs.litellm.ai/docs/proxy/headroom): a gateway looks for `hash=` and 24 hexadecimal
 * digits in the texts of the answer, gives its model a tool that takes one, and asks for its
 * content.
 *
 * A hash is the first 96 bits of a ref, so nothing is stored for it, and a hash names one content.
 */
import type { View } from '../memory/plan/view.ts';
import { fieldOf, scanObject } from './json/spans.ts';
import type { ModelRequest } from './model-request.ts';

/** A hash alone. */
export const HASH_PATTERN = /^[0-9a-f]{24}$/;

const REF_IN_MARKER = /; ref=(ref_([a-z2-7]{20})[a-z2-7]{6})(?=[;⟧])/g;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const BITS = 5;
/** Bits of a ref's content that its hash lacks. */
const BEYOND = 4n;

/** The hash of a ref. */
export function hashOfRef(ref: string): string {
  const content = ref.slice('ref_'.length, 'ref_'.length + 20);
  const bits = [...content].reduce((sum, one) => (sum << BigInt(BITS)) | BigInt(BASE32.indexOf(one)), 0n);
  return (bits >> BEYOND).toString(16).padStart(24, '0');
}

/** What all refs of a hash begin with: all but the last 4 bits of the content are known. */
export function refStartOf(hash: string): string {
  const bits = BigInt(`0x${hash}`) << BEYOND;
  const characters = Array.from(
    { length: 19 },
    (_, index) => BASE32[Number((bits >> BigInt(BITS * (19 - index))) & 31n)],
  );
  return `ref_${characters.join('')}`;
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
  const body = request.write(view);
  const field = request.conversationField;
  const root = scanObject(body, { fields: new Map([[field, {}]]) });
  const messages = root && fieldOf(root, field)?.value;
  if (!messages) throw new Error('a view was written that can not be read');
  const hashes = new Set<string>();
  const json = new TextDecoder()
    .decode(body.subarray(messages.start, messages.end))
    .replace(REF_IN_MARKER, (marked, ref: string) => {
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
