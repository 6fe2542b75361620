/**
 * Tenants and their keys (docs/design.md#7-storage). Everything derives from one secret: a tenant's
 * id is an HMAC of the caller's token, and HKDF gives each tenant one key per purpose. So a bucket
 * listing names no customer, and one tenant's ref means nothing under another's key.
 *
 * While a secret is rotated, `previous` is the same tenant under the earlier secret. Its data is
 * read and deleted, never written.
 *
 * Routes read the earlier secret's data if there is none under the current one.
 */
import { Buffer } from 'node:buffer';
import { createHmac, hash, hkdfSync } from 'node:crypto';
import { base32 } from '../lib/base32.ts';
import { TenantLru } from '../lib/lru.ts';
import { REF_PATTERN, type RefNamer } from '../memory/conversation/refs.ts';

/** What a derived key is for. */
type KeyPurpose = 'name' | 'check' | 'seal' | 'content' | 'compaction';

export interface Tenant {
  /** 32 hexadecimal characters; the prefix of all the tenant's storage keys. */
  readonly id: string;
  readonly refs: RefNamer;
  /** Id of the secret in sealed data: 8 hexadecimal characters, the same for all tenants. */
  readonly keyId: string;
  /** Whether the deployer vouches for its callers, so that the upstream need not be asked. */
  readonly isTrusted: boolean;
  /** The same caller under the earlier secret, if there is one. */
  readonly previous: Tenant | undefined;
  /** The AES-GCM key for stored content, or for compaction items. */
  key(purpose: 'content' | 'compaction'): Promise<CryptoKey>;
  /** An HMAC that only this tenant can make. */
  seal(text: string): string;
}

/** Whether a text has the form of a tenant's id. */
export function isTenantId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** The tenant, and the same caller under the earlier secret if there is one. */
export function tenantsOf(tenant: Tenant): Tenant[] {
  return tenant.previous ? [tenant, tenant.previous] : [tenant];
}

/** Reads the tenant's data, and if there is none, that under the earlier secret. */
export async function readFromEither<Value>(
  tenant: Tenant,
  read: (tenant: Tenant) => Promise<Value>,
  isNothing = (value: Value): boolean => value === null || value === undefined,
): Promise<Value> {
  const value = await read(tenant);
  if (!tenant.previous || !isNothing(value)) return value;
  const before = await read(tenant.previous);
  return isNothing(before) ? value : before;
}

/**
 * Shorter tokens are placeholders (`EMPTY`, `ollama`) that strangers share, so they identify no
 * tenant.
 */
export const SHORTEST_TOKEN = 20;

const CONTENT_CHARACTERS = 20;
const CHECK_CHARACTERS = 6;
const KEY_ID_BYTES = 4;

/** What is kept of tenants, by their ids. */
interface KnownTenants {
  /** Under an empty key. */
  readonly tenants: TenantLru<Tenant>;
  /** Refs by the digest of their content. */
  readonly names: TenantLru<string>;
  /** Refs whose check characters were right. */
  readonly checks: TenantLru<number>;
}

function allTenants(): KnownTenants {
  const all = { bytes: Number.POSITIVE_INFINITY };
  return { tenants: new TenantLru(all), names: new TenantLru(all), checks: new TenantLru(all) };
}

/** Makes tenants from callers' credentials. One per isolate and secret. */
export class Tenants {
  private readonly secret: string;
  private readonly known: KnownTenants;
  private readonly keyId: string;
  private readonly before: Tenants | undefined;
  private deployment: Tenant | undefined;

  /**
   * @param previous the secret before this one, under which data can still be read
   * @param known by default, nothing is ever forgotten
   */
  constructor(secret: string, previous?: string, known = allTenants()) {
    this.secret = secret;
    this.known = known;
    this.keyId = Buffer.from(derive(secret, '', 'id', KEY_ID_BYTES)).toString('hex');
    this.before = previous === undefined ? undefined : new Tenants(previous, undefined, known);
  }

  /** The tenant of a caller's own key. */
  ofToken(token: string): Tenant {
    return this.of(`token:${token}`, false);
  }

  /** The tenant of an access key, by the key's name: the key may change, the name stays. */
  ofName(name: string): Tenant {
    return this.of(`name:${name}`, true);
  }

  /** The tenant of all callers without a key of their own (`LOCAL_TENANT`). */
  ofLocal(name: string): Tenant {
    return this.of(`local:${name}`, true);
  }

  /** Keyed hashes of an access key that was made here: under this secret, and the one before it. */
  hashesOfKey(key: string): string[] {
    const hash = hmac(this.secret, `access-key:${key}`).toString('hex');
    return [hash, ...(this.before?.hashesOfKey(key) ?? [])];
  }

  /** What seals data of all tenants at once. No tenant has its id. */
  ofDeployment(): Tenant {
    this.deployment ??= this.make('deployment', true, this.before?.ofDeployment());
    return this.deployment;
  }

  private of(identity: string, isTrusted: boolean): Tenant {
    const id = hmac(this.secret, `tenant:${identity}`).toString('hex').slice(0, 32);
    return this.known.tenants
      .of(id)
      .remember('', () => this.make(id, isTrusted, this.before?.of(identity, isTrusted)));
  }

  private make(id: string, isTrusted: boolean, previous: Tenant | undefined): Tenant {
    const derived = new Map<KeyPurpose, Uint8Array<ArrayBuffer>>();
    const keyFor = (purpose: KeyPurpose): Uint8Array<ArrayBuffer> => {
      const key = derived.get(purpose) ?? derive(this.secret, id, purpose);
      derived.set(purpose, key);
      return key;
    };
    const keys = new Map<KeyPurpose, Promise<CryptoKey>>();
    const names = this.known.names.of(id);
    const checks = this.known.checks.of(id);
    const isOwn = (ref: string): boolean => {
      if (checks.get(ref) !== undefined) return true;
      const isRight = isChecked(keyFor('check'), ref);
      if (isRight) checks.set(ref, 1);
      return isRight;
    };
    return {
      id,
      keyId: this.keyId,
      isTrusted,
      previous,
      refs: {
        name: (key, content) =>
          names.remember(key, () => {
            const ref = nameRef(keyFor('name'), keyFor('check'), content());
            // It needs no check when a view shows it.
            checks.set(ref, 1);
            return ref;
          }),
        owns: (ref) => isOwn(ref) || (previous?.refs.owns(ref) ?? false),
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
  purpose: KeyPurpose | 'id',
  bytes = 32,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, tenant, `precis:${purpose}`, bytes));
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
}

/** SHA-256 in hexadecimal, without a key: for hashes that need no secret. */
export function sha256Hex(text: string): string {
  return hash('sha256', text);
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
