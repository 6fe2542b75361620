/**
 * What a stored object looks like: everything but its length is encrypted.
 *
 *     version (1 byte) · nonce (12) · AES-256-GCM( length of metadata (4, big endian) · metadata (JSON) · content )
 *
 * Tenant, ref and purpose are additional data: an object that is moved to another key does not open there.
 */
import { z } from 'zod';
import type { Tenant } from './tenant.ts';

const VERSION = 1;
const NONCE_BYTES = 12;
const LENGTH_BYTES = 4;

const metadataSchema = z.object({
  tool_name: z.string(),
  tool_call_id: z.string(),
  content_type: z.string(),
  tokens: z.number(),
  bytes: z.number(),
  /** Seconds since the epoch. */
  created: z.number(),
  conversation: z.string().optional(),
});

/** What is kept beside a content. */
export type Metadata = z.infer<typeof metadataSchema>;

export interface Opened {
  readonly metadata: Metadata;
  readonly content: Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function sealEnvelope(
  tenant: Tenant,
  ref: string,
  metadata: Metadata,
  content: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const head = encoder.encode(JSON.stringify(metadata));
  const plain = new Uint8Array(LENGTH_BYTES + head.length + content.length);
  new DataView(plain.buffer).setUint32(0, head.length);
  plain.set(head, LENGTH_BYTES);
  plain.set(content, LENGTH_BYTES + head.length);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const key = await tenant.contentKey();
  const sealed = await crypto.subtle.encrypt(algorithm(tenant, ref, nonce), key, plain);
  const envelope = new Uint8Array(1 + NONCE_BYTES + sealed.byteLength);
  envelope[0] = VERSION;
  envelope.set(nonce, 1);
  envelope.set(new Uint8Array(sealed), 1 + NONCE_BYTES);
  return envelope;
}

/** @throws when the object is damaged, of another version, or of another tenant, ref or purpose */
export async function openEnvelope(tenant: Tenant, ref: string, envelope: ArrayBuffer): Promise<Opened> {
  const bytes = new Uint8Array(envelope);
  if (bytes[0] !== VERSION) throw new Error(`stored object of unknown version ${bytes[0]}`);
  const nonce = bytes.slice(1, 1 + NONCE_BYTES);
  const key = await tenant.contentKey();
  const plain = await crypto.subtle.decrypt(
    algorithm(tenant, ref, nonce),
    key,
    bytes.subarray(1 + NONCE_BYTES),
  );
  const headLength = new DataView(plain).getUint32(0);
  const head = decoder.decode(new Uint8Array(plain, LENGTH_BYTES, headLength));
  return {
    metadata: metadataSchema.parse(JSON.parse(head)),
    content: new Uint8Array(plain, LENGTH_BYTES + headLength),
  };
}

function algorithm(tenant: Tenant, ref: string, iv: Uint8Array<ArrayBuffer>): SubtleCryptoEncryptAlgorithm {
  return { name: 'AES-GCM', iv, additionalData: encoder.encode(`precis:content:${tenant.id}:${ref}`) };
}
