import { describe, expect, it } from 'vitest';
import type { Receipt } from '../../../src/memory/plan/receipt-schema.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { isSigned, signatureOf } from '../../../src/view/receipt.ts';

const HASH = 'a'.repeat(64);
const hashes = {
  array: HASH,
  text: HASH,
  request: HASH,
  strategy: HASH,
  prices: HASH,
  plan: HASH,
  view: HASH,
  words: null,
};
const RECEIPT: Omit<Receipt, 'signature'> = {
  version: 1,
  precis: '1.0.0',
  issued_at: 1,
  protocol: 'chat',
  observed: false,
  strategy: { mode: 'none' },
  limit: null,
  hashes,
};
const KEY = 'sk-a-key-of-a-test-0123456789';
const before = new Tenants('the secret of last year');
const after = new Tenants('the secret of this year', 'the secret of last year');
const signed = (tenants: Tenants): Receipt => ({
  ...RECEIPT,
  signature: signatureOf(RECEIPT, tenants.ofToken(KEY)),
});

describe("a receipt's signature", () => {
  it('is known under the secret that made it, and under the one that follows', () => {
    expect(isSigned(signed(before), before.ofToken(KEY))).toBe(true);
    expect(isSigned(signed(before), after.ofToken(KEY))).toBe(true);
    expect(isSigned(signed(after), before.ofToken(KEY))).toBe(false);
  });

  it('is nothing under another key', () => {
    expect(isSigned(signed(after), after.ofToken(`${KEY}1`))).toBe(false);
    expect(isSigned(signed(after), after.ofName('alice'))).toBe(false);
  });
});
