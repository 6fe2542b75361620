import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openedBody, sealedIn } from '../../src/protocol/sealed.ts';
import { openCompaction, SEALED_PREFIX, sealCompaction } from '../../src/storage/compaction-item.ts';
import { Tenants } from '../../src/storage/tenant.ts';
import { tenant } from '../support/view-of.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const others = new Tenants('another secret of the unit tests').ofToken('sk-another-token-of-a-caller');

const text = `${SEALED_PREFIX}abc`;
const found = (body: string, field: 'messages' | 'input') =>
  sealedIn(encoder.encode(body), field, SEALED_PREFIX, 100).map(({ text, param }) => [text, param]);

describe('a sealed item', () => {
  it('gives back exactly what was put in, to its tenant alone', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (held) => {
        const well = held.toWellFormed();
        const sealed = await sealCompaction(tenant, well);
        expect(sealed).toMatch(/^precis1_[\w-]+$/);
        expect(await openCompaction(tenant, sealed)).toBe(well);
        expect(await openCompaction(others, sealed)).toBeUndefined();
      }),
      { numRuns: 30 },
    ));

  it('does not open when any byte of it is another', async () => {
    const sealed = await sealCompaction(tenant, '{"role":"user","content":"Hello"}');
    for (let at = SEALED_PREFIX.length; at < sealed.length - 1; at += 7) {
      const changed = sealed[at] === 'A' ? 'B' : 'A';
      const damaged = `${sealed.slice(0, at)}${changed}${sealed.slice(at + 1)}`;
      expect(await openCompaction(tenant, damaged)).toBeUndefined();
    }
  });

  it('is another each time, so that two equal ones don’t show', async () => {
    expect(await sealCompaction(tenant, '{}')).not.toBe(await sealCompaction(tenant, '{}'));
  });
});

describe('a body', () => {
  const item = JSON.stringify({ type: 'compaction', id: 'cmp_1', encrypted_content: text });
  const message = JSON.stringify({
    role: 'user',
    content: JSON.stringify({ type: 'compaction', content: text }),
  });

  it('has its items found by their place', () => {
    expect(found(`{"input":[{"role":"user","content":"Hi"},${item}]}`, 'input')).toEqual([
      [text, 'input[1].encrypted_content'],
    ]);
    expect(found(`{"messages":[${message}]}`, 'messages')).toEqual([[text, 'messages[0].content']]);
  });

  it.each([
    ['a text about them', `{"input":[{"role":"user","content":"${text}"}]}`],
    ['one of the upstream’s', item.replace(text, `gAAAA${text}`)],
    ['an assistant that writes one', `{"input":[${message.replace('user', 'assistant')}]}`],
    [
      'a tool that prints one',
      `{"input":[{"type":"function_call_output","call_id":"a","output":${JSON.stringify(item)}}]}`,
    ],
    ['no list', `{"input":${JSON.stringify(item)}}`],
    ['no JSON', `{"input":[${item}`],
    ['another field', `{"messages":[${item}]}`],
  ])('has none in %s', (_, body) => {
    expect(found(body, 'input')).toEqual([]);
  });

  it('has what they hold in their place, and keeps every other byte', () => {
    const body = encoder.encode(`{"n":1.0, "input":[{"x":12345678901234567890}, ${item} ,{"y":1.0}]}`);
    const sealed = sealedIn(body, 'input', SEALED_PREFIX, 100);
    expect(decoder.decode(openedBody(body, sealed, ['{"z":1.0},{"w":2.0}']))).toBe(
      '{"n":1.0, "input":[{"x":12345678901234567890}, {"z":1.0},{"w":2.0} ,{"y":1.0}]}',
    );
  });

  it('keeps what a client has put into the same message', () => {
    const parts = [
      { type: 'text', text: JSON.stringify({ type: 'compaction', content: text }) },
      { type: 'text', text: 'Go on.' },
    ];
    const body = encoder.encode(JSON.stringify({ messages: [{ role: 'user', name: 'x', content: parts }] }));
    const opened = openedBody(body, sealedIn(body, 'messages', SEALED_PREFIX, 100), ['{"role":"user"}']);
    expect(JSON.parse(decoder.decode(opened))).toEqual({
      messages: [{ role: 'user' }, { role: 'user', name: 'x', content: [parts[1]] }],
    });
  });
});
