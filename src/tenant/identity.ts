/**
 * Tenants and their keys (docs/design.md#7-storage). One secret is the root of all: the tenant's id
 * is an HMAC of the caller's token, and each tenant has a key of its own for each purpose, derived
 * by HKDF. So a bucket's listing names no customer, and a ref of one tenant means nothing under the
 * key of another.
 *
 * While a secret is rotated, a tenant has an earlier self: what is kept under the secret before. It
 * is read and deleted, never written.
 */
import { Buffer } from 'node:buffer';
import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { textBytes } from '../lib/copy.ts';
import { Lru, TenantLru } from '../lib/lru.ts';
import { REF_PATTERN, type RefNamer } from '../memory/edits/placeholder.ts';

/**
 * What a derived key is for. `ref` is the key of versions up to 0.5.0, under which names, checks
 * and seals were made alike.
 */
export type Purpose = 'ref' | 'name' | 'check' | 'seal' | 'content' | 'compaction';

export interface Tenant {
  /** 32 hexadecimal characters; the prefix of every key in storage. */
  readonly id: string;
  readonly refs: RefNamer;
  /**
   * Names the secret in what is sealed under it: 8 hexadecimal characters, the same for all
   * tenants.
   */
  readonly keyId: string;
  /** The same caller under the earlier secret; undefined where there is none. */
  readonly previous: Tenant | undefined;
  /** The AES-GCM key of what is stored, or of what callers hold for us. */
  key(purpose: 'content' | 'compaction'): Promise<CryptoKey>;
  /** A digest that only this tenant can make. */
  seal(text: string): string;
}

/** A tenant, and its self under the earlier secret where there is one. */
export function selvesOf(tenant: Tenant): Tenant[] {
  return tenant.previous ? [tenant, tenant.previous] : [tenant];
}

/** What a tenant has; where that is nothing, what its earlier self has. */
export async function fromEither<Value>(
  tenant: Tenant,
  read: (self: Tenant) => Promise<Value>,
  isNothing = (value: Value): boolean => value === null || value === undefined,
): Promise<Value> {
  const value = await read(tenant);
  if (!tenant.previous || !isNothing(value)) return value;
  const before = await read(tenant.previous);
  return isNothing(before) ? value : before;
}

/**
 * Tokens shorter than this are placeholders (`EMPTY`, `ollama`), shared by strangers: no tenant can
 * be told by them.
 */
export const SHORTEST_TOKEN = 20;

const CONTENT_CHARACTERS = 20;
const CHECK_CHARACTERS = 6;
const KEY_ID_BYTES = 4;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Names of contents, over all tenants of an isolate: about 15 000. */
const REMEMBERED_NAMES = { bytes: 4 * 1024 * 1024, sizeOf: textBytes };
/** About 1 000. */
const REMEMBERED_TENANTS = { bytes: 2 * 1024 * 1024, sizeOf: () => 2_000 };

/** Makes tenants from what callers present; one per isolate and secret. */
export class Tenants {
  private readonly secret: string;
  private readonly tenants = new Lru<Tenant>(REMEMBERED_TENANTS);
  private readonly names = new TenantLru<string>(REMEMBERED_NAMES);
  private readonly keyId: string;
  private readonly before: Tenants | undefined;

  /** @param previous the secret before this one, while what is kept under it is still to be read */
  constructor(secret: string, previous?: string) {
    this.secret = secret;
    this.keyId = Buffer.from(derive(secret, '', 'id', KEY_ID_BYTES)).toString('hex');
    this.before = previous === undefined ? undefined : new Tenants(previous);
  }

  /** The tenant behind a caller's own key. */
  ofToken(token: string): Tenant {
    return this.of(`token:${token}`);
  }

  /** The tenant behind a named access key; the key may change, the name stays. */
  ofName(name: string): Tenant {
    return this.of(`name:${name}`);
  }

  private of(identity: string): Tenant {
    const id = hmac(this.secret, `tenant:${identity}`).toString('hex').slice(0, 32);
    return this.tenants.remember(id, () => this.make(id, this.before?.of(identity)));
  }

  private make(id: string, previous: Tenant | undefined): Tenant {
    const derived = new Map<Purpose, Uint8Array<ArrayBuffer>>();
    const keyFor = (purpose: Purpose): Uint8Array<ArrayBuffer> => {
      const key = derived.get(purpose) ?? derive(this.secret, id, purpose);
      derived.set(purpose, key);
      return key;
    };
    const keys = new Map<Purpose, Promise<CryptoKey>>();
    const names = this.names.of(id);
    return {
      id,
      keyId: this.keyId,
      previous,
      refs: {
        name: (key, content) =>
          names.remember(key, () => nameRef(keyFor('name'), keyFor('check'), content())),
        owns: (ref) =>
          isChecked(keyFor('check'), ref) ||
          isChecked(keyFor('ref'), ref) ||
          (previous?.refs.owns(ref) ?? false),
      },
      key: (purpose) => {
        const key = keys.get(purpose) ?? importKey(keyFor(purpose));
        keys.set(purpose, key);
        return key;
      },
      seal: (text) => hmac(keyFor('seal'), text).toString('hex'),
    };
  }
}

function derive(
  secret: string,
  tenant: string,
  purpose: Purpose | 'id',
  bytes = 32,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, tenant, `precis:${purpose}`, bytes));
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
}

/**
 * In hexadecimal. It names the messages that a summary stands for, and the labels in markers
 * without a caller's text. It has no key.
 */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function nameRef(nameKey: Uint8Array, checkKey: Uint8Array, content: string): string {
  const name = base32(hmac(nameKey, content), CONTENT_CHARACTERS);
  return `ref_${name}${checkOf(checkKey, name)}`;
}

function isChecked(key: Uint8Array, ref: string): boolean {
  if (!REF_PATTERN.test(ref)) return false;
  const name = ref.slice('ref_'.length, 'ref_'.length + CONTENT_CHARACTERS);
  return checkOf(key, name) === ref.slice('ref_'.length + CONTENT_CHARACTERS);
}

function checkOf(key: Uint8Array, name: string): string {
  return base32(hmac(key, name), CHECK_CHARACTERS);
}

function hmac(key: string | Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}

/** RFC 4648 base32 in lower case, cut to `length` characters. */
function base32(bytes: Uint8Array, length: number): string {
  let text = '';
  let bits = 0;
  let buffered = 0;
  for (const byte of bytes) {
    buffered = (buffered << 8) | byte;
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += BASE32[(buffered >>> bits) & 31];
    }
    buffered &= (1 << bits) - 1;
  }
  return text;
}
