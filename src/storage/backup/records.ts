/**
 * The records of a backup, one after another in a file:
 *
 *     kind (1 byte) · length of the envelope (4, big endian) · of the attachment (4) · both
 *
 * The envelope (`tenant/envelope.ts`) is sealed under the deployment's secret. Its additional data
 * is the record's place: the kind, and a hash of all records before it. So a record only opens
 * where it is, and the last one, `E`, only after exactly the records that it was made after. An
 * attachment holds objects of R2 as they are there: envelopes of their own.
 *
 * `N` is no part of the backup, and in no hash. It holds the place where the next request goes on.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { concat } from '../../lib/bytes.ts';
import { isEnvelope, sealBytes, sealerOf, tryOpen } from '../../tenant/envelope.ts';
import type { Tenant } from '../../tenant/identity.ts';

/** The first record, all others, the last one, and where to go on. */
type RecordKind = 'H' | 'R' | 'E' | 'N';

/** A record's bytes in a file. */
export interface Framed {
  readonly kind: RecordKind;
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly attachment: Uint8Array<ArrayBuffer>;
  /** All of them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type RecordFault = 'format' | 'secret' | 'changed';

/** The hash before the first record. */
export const NO_CHAIN = '0'.repeat(64);

const KINDS = 'HREN';
const HEAD = 9;
const encoder = new TextEncoder();
const NOTHING = new Uint8Array(0);

/** @param chain the hash of all records before */
export async function sealRecord(
  deployment: Tenant,
  kind: RecordKind,
  chain: string,
  content: object,
  attachment: Uint8Array<ArrayBuffer> = NOTHING,
): Promise<Uint8Array<ArrayBuffer>> {
  const whole = { ...content, attachment: hashOf(attachment) };
  const name = nameOf(kind, chain);
  const envelope = await sealBytes(
    deployment,
    'backup',
    name,
    new Uint8Array(encoder.encode(JSON.stringify(whole))),
  );
  const head = new Uint8Array(HEAD);
  head[0] = kind.charCodeAt(0);
  const view = new DataView(head.buffer);
  view.setUint32(1, envelope.length);
  view.setUint32(5, attachment.length);
  return concat([head, envelope, attachment]);
}

/** The content of a record, or why it can't be read. @param chain the hash of all records before */
export async function openRecord(
  deployment: Tenant,
  { kind, envelope, attachment }: Framed,
  chain: string,
): Promise<unknown | RecordFault> {
  if (!isEnvelope(envelope)) return 'format';
  const sealer = sealerOf(deployment, envelope);
  if (!sealer) return 'secret';
  const plain = await tryOpen(sealer, 'backup', nameOf(kind, chain), envelope.buffer);
  if (plain instanceof Error) return 'changed';
  const content = JSON.parse(new TextDecoder().decode(plain)) as { readonly attachment: string };
  return content.attachment === hashOf(attachment) ? content : 'changed';
}

/** The hash of all records up to this one. */
export function chainAfter(chain: string, record: Uint8Array): string {
  return createHash('sha256').update(Buffer.from(chain, 'hex')).update(record).digest('hex');
}

/**
 * The records in bytes; undefined if they are none, or not whole.
 *
 * @param most after which no more are read: one takes nine bytes here, and hundreds as an object
 */
export function recordsIn(
  bytes: Uint8Array<ArrayBuffer>,
  most = Number.POSITIVE_INFINITY,
): Framed[] | undefined {
  const records: Framed[] = [];
  for (let at = 0; at < bytes.length && records.length < most; ) {
    if (at + HEAD > bytes.length) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, HEAD);
    const kind = String.fromCharCode(view.getUint8(0));
    const middle = at + HEAD + view.getUint32(1);
    const end = middle + view.getUint32(5);
    if (!KINDS.includes(kind) || end > bytes.length) return undefined;
    records.push({
      kind: kind as RecordKind,
      envelope: bytes.slice(at + HEAD, middle),
      attachment: bytes.subarray(middle, end),
      bytes: bytes.subarray(at, end),
    });
    at = end;
  }
  return records;
}

function nameOf(kind: RecordKind, chain: string): string {
  // The place to go on does not depend on what was sent before.
  return kind === 'N' ? kind : `${kind}:${chain}`;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
