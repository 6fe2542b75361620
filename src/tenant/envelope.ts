/**
 * The format of stored objects. Everything but the length is encrypted.
 *
 *     2 (1 byte) · key id (4) · nonce (12) · AES-256-GCM( plaintext )
 *
 * The key id names the secret, so that an object sealed under an earlier secret can be
 * distinguished from a damaged one.
 *
 * The plaintext of a ref is the length of its metadata (4 bytes, big endian) · metadata (JSON) ·
 * content. The plaintext of an archive pack is the pack, and of a round its messages. Tenant, name
 * and purpose are additional data, so an object copied to another key does not open there.
 */
import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { isFault } from '../log.ts';
import { type Tenant, tenantsOf } from './identity.ts';

const VERSION = 2;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const HEAD_BYTES = 1 + KEY_ID_BYTES;

/** In bytes. */
const SHORTEST_ENVELOPE = HEAD_BYTES + NONCE_BYTES + TAG_BYTES;

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

/** Metadata stored with a content. */
export type Metadata = z.infer<typeof metadataSchema>;

export interface Opened {
  readonly metadata: Metadata;
  readonly content: Uint8Array<ArrayBuffer>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Kind of plaintext: a ref's content, its metadata alone, a pack of archived messages, messages of
 * kept rounds, the output of an answer, a record of a backup, a sign-in, or a compaction item,
 * which has its own key.
 */
export type EnvelopePurpose =
  | 'content'
  | 'metadata'
  | 'archive'
  | 'rounds'
  | 'answer'
  | 'backup'
  | 'session'
  | 'compaction';

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

/** @throws if the object is damaged, of another version, or of another tenant, ref or purpose */
export async function openEnvelope(tenant: Tenant, ref: string, envelope: ArrayBuffer): Promise<Opened> {
  const plain = await openBytes(tenant, 'content', ref, envelope);
  const headLength = new DataView(plain).getUint32(0);
  const head = decoder.decode(new Uint8Array(plain, LENGTH_BYTES, headLength));
  return {
    metadata: metadataSchema.parse(JSON.parse(head)),
    content: new Uint8Array(plain, LENGTH_BYTES + headLength),
  };
}

/** The metadata of a ref alone, in base64, for listings. */
export async function sealMetadata(tenant: Tenant, ref: string, metadata: Metadata): Promise<string> {
  const plain = new Uint8Array(encoder.encode(JSON.stringify(metadata)));
  return Buffer.from(await sealBytes(tenant, 'metadata', ref, plain)).toString('base64');
}

/** @throws as `openEnvelope` */
export async function openMetadata(tenant: Tenant, ref: string, sealed: string): Promise<Metadata> {
  const bytes = new Uint8Array(Buffer.from(sealed, 'base64'));
  const plain = await openBytes(tenant, 'metadata', ref, bytes.buffer);
  return metadataSchema.parse(JSON.parse(decoder.decode(plain)));
}

/** Encrypts an object of this name. */
export async function sealBytes(
  tenant: Tenant,
  purpose: EnvelopePurpose,
  name: string,
  plain: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const key = await tenant.key(keyOf(purpose));
  const sealed = await crypto.subtle.encrypt(algorithm(tenant, purpose, name, nonce), key, plain);
  const envelope = new Uint8Array(HEAD_BYTES + NONCE_BYTES + sealed.byteLength);
  envelope[0] = VERSION;
  envelope.set(Buffer.from(tenant.keyId, 'hex'), 1);
  envelope.set(nonce, HEAD_BYTES);
  envelope.set(new Uint8Array(sealed), HEAD_BYTES + NONCE_BYTES);
  return envelope;
}

/** Whether bytes look like an envelope, of any secret and tenant. */
export function isEnvelope(bytes: Uint8Array): boolean {
  return bytes[0] === VERSION && bytes.length >= SHORTEST_ENVELOPE;
}

/** Whether bytes may be an envelope of this version or of one before, which nothing reads. */
export function isAnyEnvelope(bytes: Uint8Array): boolean {
  const [version = 0] = bytes;
  return version >= 1 && version <= VERSION && bytes.length >= SHORTEST_ENVELOPE;
}

/** Whether a tenant's secret may have sealed an envelope. Derives no key. */
function isUnderSecretOf({ keyId }: Tenant, envelope: Uint8Array): boolean {
  return Buffer.from(envelope.subarray(1, HEAD_BYTES)).toString('hex') === keyId;
}

/** The tenant, under this secret or the one before, whose secret may have sealed an envelope. */
export function sealerOf(tenant: Tenant, envelope: Uint8Array): Tenant | undefined {
  return tenantsOf(tenant).find((one) => isUnderSecretOf(one, envelope));
}

/**
 * Decrypts an object.
 *
 * @throws if it is damaged, of another version, or of another secret, tenant, name or purpose
 */
export async function openBytes(
  tenant: Tenant,
  purpose: EnvelopePurpose,
  name: string,
  envelope: ArrayBuffer,
): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(envelope);
  if (bytes[0] !== VERSION) throw new Error(`stored object of unknown version ${bytes[0]}`);
  if (!isUnderSecretOf(tenant, bytes)) throw new Error('stored object of another secret');
  const nonce = bytes.slice(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
  const key = await tenant.key(keyOf(purpose));
  const sealed = bytes.subarray(HEAD_BYTES + NONCE_BYTES);
  return crypto.subtle.decrypt(algorithm(tenant, purpose, name, nonce), key, sealed);
}

/** As `openBytes`, but returns why an object does not open. */
export async function tryOpen(
  ...sealed: Parameters<typeof openBytes>
): Promise<Uint8Array<ArrayBuffer> | Error> {
  try {
    return new Uint8Array(await openBytes(...sealed));
  } catch (error) {
    if (!(error instanceof Error) || isFault(error)) throw error;
    return error;
  }
}

/** A text, encrypted, in characters of base64url. */
export async function sealText(tenant: Tenant, purpose: EnvelopePurpose, name: string, text: string) {
  const envelope = await sealBytes(tenant, purpose, name, new Uint8Array(Buffer.from(text)));
  return Buffer.from(envelope).toString('base64url');
}

/**
 * Decrypts a text that was sealed under this secret or the one before.
 *
 * @param names under which it may be sealed
 * @returns undefined if it is damaged, or of another tenant, name or purpose
 */
export async function openText(
  tenant: Tenant,
  purpose: EnvelopePurpose,
  names: readonly string[],
  sealed: string,
): Promise<string | undefined> {
  const envelope = new Uint8Array(Buffer.from(sealed, 'base64url'));
  const sealer = isEnvelope(envelope) ? sealerOf(tenant, envelope) : undefined;
  if (!sealer) return undefined;
  for (const name of names) {
    const text = await tryOpen(sealer, purpose, name, envelope.buffer);
    if (!(text instanceof Error)) return decoder.decode(text);
  }
  return undefined;
}

function keyOf(purpose: EnvelopePurpose): 'content' | 'compaction' {
  return purpose === 'compaction' ? 'compaction' : 'content';
}

function algorithm(
  tenant: Tenant,
  purpose: EnvelopePurpose,
  name: string,
  iv: Uint8Array<ArrayBuffer>,
): SubtleCryptoEncryptAlgorithm {
  const additionalData = encoder.encode(`precis2:${purpose}:${tenant.id}:${name}`);
  return { name: 'AES-GCM', iv, additionalData };
}
