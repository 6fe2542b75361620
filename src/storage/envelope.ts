/**
 * What a stored object looks like: everything but its length is encrypted.
 *
 *     version (1 byte) · nonce (12) · AES-256-GCM( plaintext )
 *
 * The plaintext of a ref is the length of its metadata (4, big endian) · metadata (JSON) · content; that of a pack of archived messages is
 * the pack. Tenant, name and purpose are additional data: an object that is moved to another key does not open there.
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

/** What is sealed: a removed content, a pack of archived messages, or a compaction item, which has a key of its own. */
type Purpose = 'content' | 'archive' | 'compaction';

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
  return sealBytes(tenant, 'content', ref, plain);
}

/** @throws when the object is damaged, of another version, or of another tenant, ref or purpose */
export async function openEnvelope(tenant: Tenant, ref: string, envelope: ArrayBuffer): Promise<Opened> {
  const plain = await openBytes(tenant, 'content', ref, envelope);
  const headLength = new DataView(plain).getUint32(0);
  const head = decoder.decode(new Uint8Array(plain, LENGTH_BYTES, headLength));
  return {
    metadata: metadataSchema.parse(JSON.parse(head)),
    content: new Uint8Array(plain, LENGTH_BYTES + headLength),
  };
}

/** Encrypts the plaintext of the object of this name. */
export async function sealBytes(
  tenant: Tenant,
  purpose: Purpose,
  name: string,
  plain: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const key = await tenant.key(keyOf(purpose));
  const sealed = await crypto.subtle.encrypt(algorithm(tenant, purpose, name, nonce), key, plain);
  const envelope = new Uint8Array(1 + NONCE_BYTES + sealed.byteLength);
  envelope[0] = VERSION;
  envelope.set(nonce, 1);
  envelope.set(new Uint8Array(sealed), 1 + NONCE_BYTES);
  return envelope;
}

/** The plaintext. @throws when the object is damaged, of another version, or of another tenant, name or purpose */
export async function openBytes(
  tenant: Tenant,
  purpose: Purpose,
  name: string,
  envelope: ArrayBuffer,
): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(envelope);
  if (bytes[0] !== VERSION) throw new Error(`stored object of unknown version ${bytes[0]}`);
  const nonce = bytes.slice(1, 1 + NONCE_BYTES);
  const key = await tenant.key(keyOf(purpose));
  return crypto.subtle.decrypt(algorithm(tenant, purpose, name, nonce), key, bytes.subarray(1 + NONCE_BYTES));
}

function keyOf(purpose: Purpose): 'content' | 'compaction' {
  return purpose === 'compaction' ? 'compaction' : 'content';
}

function algorithm(
  tenant: Tenant,
  purpose: Purpose,
  name: string,
  iv: Uint8Array<ArrayBuffer>,
): SubtleCryptoEncryptAlgorithm {
  return { name: 'AES-GCM', iv, additionalData: encoder.encode(`precis:${purpose}:${tenant.id}:${name}`) };
}
