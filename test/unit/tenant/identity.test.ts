/**
 * Tenants: separate keys for each purpose, and the rotation of the secret.
 */
import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { openEnvelope, sealEnvelope } from '../../../src/tenant/envelope.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { openCompaction, sealCompaction } from '../../../src/tenant/sealed-item.ts';

const SECRET = 'a secret for tests only';
const TOKEN = 'sk-a-key-of-a-test-0123456789';
const tenant = new Tenants(SECRET).ofToken(TOKEN);
const stranger = new Tenants(SECRET).ofToken('sk-another-key-of-a-test-012345');
const nobody = { user: undefined, conversation: undefined };

/** The tenant id of version 0.5.0 for this secret and token, and a ref that it has named. */
const FIRST_ID = '8906eeefd71c47c5a7a462e791c29f35';
const FIRST_REF = 'ref_nplt3uhp3fynkcvhsctv25khmo';

const nameOf = (content: string, of = tenant) => of.refs.name(`key of ${content}`, () => content);
const decoder = new TextDecoder();

describe('a tenant', () => {
  it('F11: names and checks under two keys: no name of a content is the check of another', () => {
    const name = nameOf('The content of an output.').slice('ref_'.length, -6);
    expect(tenant.refs.owns(`ref_${name}${nameOf(name).slice('ref_'.length).slice(0, 6)}`)).toBe(false);
    expect(tenant.refs.owns(nameOf('The content of an output.'))).toBe(true);
  });

  it('F11: seals under a third', () => {
    const sealed = Buffer.from(tenant.seal('The content of an output.'), 'hex');
    const named = nameOf('seal:The content of an output.').slice('ref_'.length);
    expect(base32(sealed).slice(0, 20)).not.toBe(named.slice(0, 20));
    expect(base32(sealed).slice(0, 20)).not.toBe(nameOf('The content of an output.').slice(4, 24));
  });

  it('F11: is who it was in all versions, and owns no ref of 0.5.0', () => {
    expect(tenant.id).toBe(FIRST_ID);
    expect(tenant.refs.owns(FIRST_REF)).toBe(false);
  });
});

describe('an envelope', () => {
  const metadata = {
    tool_name: 'search',
    tool_call_id: 'call_1',
    content_type: 'text/plain',
    tokens: 1,
    bytes: 7,
    created: 1,
  };
  const seal = (ref: string) => sealEnvelope(tenant, ref, metadata, new TextEncoder().encode('content'));

  it('F11: names the secret, the same for all tenants, and opens for its own tenant alone', async () => {
    const ref = nameOf('content');
    const envelope = await seal(ref);
    expect(envelope[0]).toBe(2);
    expect(Buffer.from(envelope.subarray(1, 5)).toString('hex')).toBe(tenant.keyId);
    expect(stranger.keyId).toBe(tenant.keyId);
    expect(new Tenants('another secret of the tests').ofToken(TOKEN).keyId).not.toBe(tenant.keyId);
    expect(decoder.decode((await openEnvelope(tenant, ref, envelope.buffer)).content)).toBe('content');
    await expect(openEnvelope(stranger, ref, envelope.buffer)).rejects.toThrow();
  });

  it('F11: does not open as one of the first version', async () => {
    const ref = nameOf('content');
    const envelope = await seal(ref);
    const older = new Uint8Array([1, ...envelope.subarray(5)]);
    await expect(openEnvelope(tenant, ref, older.buffer)).rejects.toThrow();
  });

  it.each([0, 1, 5, 20, 40])('F11: does not open when byte %i of it is another', async (at) => {
    const ref = nameOf('content');
    const envelope = await seal(ref);
    envelope[at] = (envelope[at] ?? 0) ^ 1;
    await expect(openEnvelope(tenant, ref, envelope.buffer)).rejects.toThrow();
  });
});

describe('the rotation of the secret', () => {
  const rotated = new Tenants('a secret that has taken its place', SECRET).ofToken(TOKEN);

  it('F11: makes another tenant, which still owns the earlier refs', () => {
    expect(rotated.id).not.toBe(tenant.id);
    expect(rotated.previous?.id).toBe(tenant.id);
    expect(rotated.refs.owns(nameOf('content'))).toBe(true);
    expect(rotated.refs.owns(nameOf('content', stranger))).toBe(false);
    expect(tenant.refs.owns(nameOf('content', rotated))).toBe(false);
  });

  it('F11: opens the items of the secret before, and makes none', async () => {
    const before = await sealCompaction(tenant, { ...nobody, user: 'ann' }, 'before');
    expect(await openCompaction(rotated, { ...nobody, user: 'ann' }, before)).toBe('before');
    expect(await openCompaction(rotated, nobody, before)).toBeUndefined();
    const now = await sealCompaction(rotated, nobody, 'now');
    expect(await openCompaction(rotated, nobody, now)).toBe('now');
    expect(await openCompaction(tenant, nobody, now)).toBeUndefined();
  });

  it('F11: ends with the variable', async () => {
    const alone = new Tenants('a secret that has taken its place').ofToken(TOKEN);
    expect(alone.id).toBe(rotated.id);
    expect(alone.previous).toBeUndefined();
    expect(alone.refs.owns(nameOf('content'))).toBe(false);
    expect(alone.refs.owns(nameOf('content', rotated))).toBe(true);
    expect(await openCompaction(alone, nobody, await sealCompaction(tenant, nobody, '{}'))).toBeUndefined();
  });

  it('F11: goes by the name of an access key too', () => {
    const named = new Tenants('a secret that has taken its place', SECRET).ofName('alice');
    expect(named.previous?.id).toBe(new Tenants(SECRET).ofName('alice').id);
  });
});

function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? [])
    .map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(five, 2)])
    .join('');
}
