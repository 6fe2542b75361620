import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { sealedMessage } from '../../../src/protocol/sealed.ts';
import { openSealed } from '../../../src/request/open-sealed.ts';
import { type Tenant, Tenants } from '../../../src/tenant/identity.ts';
import { SEALED_PREFIX, sealCompaction } from '../../../src/tenant/sealed-item.ts';

const TOKEN = 'sk-a-token-of-a-caller';
const SECRET = 'a secret that is rotated by the unit tests';
const rotated = new Tenants('a secret that has taken its place', SECRET).ofToken(TOKEN);
const owner = { user: 'ann', conversation: 'c1' };

/** The tenant, and how often one of its keys is asked for. */
function counted(): { tenant: Tenant; keys: () => number } {
  let keys = 0;
  const of = (self: Tenant): Tenant => ({
    ...self,
    previous: self.previous && of(self.previous),
    key: (purpose) => {
      keys++;
      return self.key(purpose);
    },
  });
  return { tenant: of(rotated), keys: () => keys };
}

async function open(texts: readonly string[], tenant: Tenant): Promise<Uint8Array | undefined> {
  const messages = [...texts.map(sealedMessage), { role: 'user', content: 'Go on.' }];
  const read = readChatRequest(new TextEncoder().encode(JSON.stringify({ model: 'gpt-4.1', messages })));
  if (!read.ok) throw new Error('the body was not read');
  return openSealed(read.value, tenant, () => owner);
}

/** Items like Precis's, with such a head. */
const forged = (count: number, head: string): string[] =>
  Array.from({ length: count }, (_, at) => {
    const rest = Buffer.alloc(64, at).toString('hex');
    return `${SEALED_PREFIX}${Buffer.from(`${head}${rest}`, 'hex').toString('base64url')}`;
  });

const refusal = (index: number) => ({
  code: 'invalid_encrypted_content',
  param: `messages[${index}].content`,
});

describe('forged compaction items', () => {
  it.each([
    ['of an earlier version', '01', 0],
    ['of another secret', '0200000000', 0],
    ['of a version that is not known', '03', 0],
    ['of this secret', `02${rotated.keyId}`, 4],
    ['of the secret before', `02${rotated.previous?.keyId}`, 4],
  ])('cost at most the keys of one: %s', async (_, head, most) => {
    const { tenant, keys } = counted();
    const opening = open(forged(64, head), tenant);
    if (head === '03') expect(await opening).toBeUndefined();
    else await expect(opening).rejects.toMatchObject(refusal(0));
    expect(keys()).toBe(most);
  });

  it('are refused unopened beyond 64', async () => {
    const { tenant, keys } = counted();
    await expect(open(forged(19_000, '01'), tenant)).rejects.toMatchObject(refusal(64));
    expect(keys()).toBe(0);
  });

  it('end the opening where the first of them is', async () => {
    const { tenant, keys } = counted();
    const real = await sealCompaction(rotated, owner, '{"role":"user","content":"Before."}');
    await expect(open([real, ...forged(9, '01'), real], tenant)).rejects.toMatchObject(refusal(1));
    expect(keys()).toBe(1);
  });
});

describe('compaction items of the caller', () => {
  it('are opened in order, also under the secret before', async () => {
    const before = await sealCompaction(
      rotated.previous as Tenant,
      owner,
      '{"role":"user","content":"One."}',
    );
    const now = await sealCompaction(rotated, owner, '{"role":"user","content":"Two."}');
    const bytes = await open([...Array<string>(63).fill(before), now], rotated);
    const { messages } = JSON.parse(new TextDecoder().decode(bytes));
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      ...Array(63).fill('One.'),
      'Two.',
      'Go on.',
    ]);
  });
});
