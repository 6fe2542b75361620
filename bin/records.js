/**
 * The records of a backup's file: kind (1 byte), bytes of the envelope (4, big endian) and of the
 * attachment (4), and both. This program opens none of them: they are sealed under PRECIS_SECRET.
 */
import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';

const HEAD = 9;
const KINDS = 'HREN';

/** The hash before the first record. */
export const NO_CHAIN = '0'.repeat(64);

/** The hash of all records up to this one. */
export function chainAfter(chain, record) {
  return createHash('sha256').update(Buffer.from(chain, 'hex')).update(record).digest('hex');
}

/**
 * The records of an open file: kind, first byte, number of bytes.
 *
 * @param from the first byte of the first of them
 * @returns these, and how many bytes at the end are no whole record
 */
export function recordsOf(file, from = 0) {
  const { size } = fstatSync(file);
  const records = [];
  const head = Buffer.alloc(HEAD);
  let at = from;
  while (at < size && readSync(file, head, 0, HEAD, at) === HEAD) {
    const kind = String.fromCharCode(head[0]);
    const bytes = HEAD + head.readUInt32BE(1) + head.readUInt32BE(5);
    if (!KINDS.includes(kind) || at + bytes > size) break;
    records.push({ kind, at, bytes });
    at += bytes;
  }
  return { records, rest: size - at };
}

/** The bytes of a record. */
export function bytesOf(file, { at, bytes }) {
  const record = Buffer.alloc(bytes);
  readSync(file, record, 0, bytes, at);
  return record;
}
