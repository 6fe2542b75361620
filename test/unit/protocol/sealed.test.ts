import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REASONING_MARK } from '../../../src/protocol/responses/reasoning.ts';
import { openedBody, ownItemsIn } from '../../../src/protocol/sealed.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { isSealed, openCompaction, SEALED_PREFIX, sealCompaction } from '../../../src/tenant/sealed-item.ts';
import { user } from '../../support/conversations/chat.ts';
import { forAllAsync } from '../../support/laws/runs.ts';
import { tenant } from '../../support/laws/view-of.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const others = new Tenants('another secret of the unit tests').ofToken('sk-another-token-of-a-caller');

const SEALED_BY_0_5_0 =
  'precis1_AbOXDf-rnoJ8PyO3hcm1PEwxR1XBvdbsmisBg8xYgsbMUClNa3TQfWg47yW6j9aPn8BmgefRLUbgAP5G-ic';
const nobody = { user: undefined, conversation: undefined };
const text = await sealCompaction(tenant, nobody, '{}');
const form = { prefix: SEALED_PREFIX, isWhole: isSealed };
const found = (body: string, field: 'messages' | 'input') =>
  ownItemsIn(encoder.encode(body), field, form, 100).sealed.map(({ text, param }) => [text, param]);

describe('a sealed item', () => {
  it('returns exactly the sealed content, and only to its tenant', () =>
    forAllAsync(30, fc.string({ unit: 'binary' }), async (held) => {
      const well = held.toWellFormed();
      const sealed = await sealCompaction(tenant, nobody, well);
      expect(sealed).toMatch(/^precis1_[\w-]+$/);
      expect(await openCompaction(tenant, nobody, sealed)).toBe(well);
      expect(await openCompaction(others, nobody, sealed)).toBeUndefined();
    }));

  it('does not open when any byte of it is another', async () => {
    const sealed = await sealCompaction(tenant, nobody, '{"role":"user","content":"Hello"}');
    for (let at = SEALED_PREFIX.length; at < sealed.length - 1; at += 7) {
      const changed = sealed[at] === 'A' ? 'B' : 'A';
      const damaged = `${sealed.slice(0, at)}${changed}${sealed.slice(at + 1)}`;
      expect(await openCompaction(tenant, nobody, damaged)).toBeUndefined();
    }
  });

  const ann = { user: 'ann', conversation: 'c1' };

  it.each([
    ['its user and conversation', ann, ann, true],
    ['another user', ann, { ...ann, user: 'bob' }, false],
    ['no user', ann, { ...ann, user: undefined }, false],
    ['another conversation', ann, { ...ann, conversation: 'c2' }, false],
    ['nobody', ann, nobody, false],
    ['user and conversation the other way round', ann, { user: 'c1', conversation: 'ann' }, false],
    [
      'names that join to the same',
      { user: 'a","b', conversation: 'c' },
      { user: 'a', conversation: 'b","c' },
      false,
    ],
    ['its user, in whatever conversation', { ...nobody, user: 'ann' }, ann, true],
    ['another user, in whatever conversation', { ...nobody, user: 'ann' }, { ...ann, user: 'bob' }, false],
    ['its conversation, by whatever user', { ...nobody, conversation: 'c1' }, ann, true],
    ['anybody, where it names nobody', nobody, ann, true],
  ])('F9: opens or not for %s', async (_, sealer, opener, opens) => {
    const sealed = await sealCompaction(tenant, sealer, '{}');
    expect(await openCompaction(tenant, opener, sealed)).toBe(opens ? '{}' : undefined);
  });

  it('F9: is known as an item of another version, and does not open', async () => {
    expect(isSealed(SEALED_BY_0_5_0)).toBe(true);
    expect(await openCompaction(tenant, nobody, SEALED_BY_0_5_0)).toBeUndefined();
  });

  it('is another each time, so that two equal ones don’t show', async () => {
    expect(await sealCompaction(tenant, nobody, '{}')).not.toBe(await sealCompaction(tenant, nobody, '{}'));
  });
});

describe('a body with sealed items', () => {
  const item = JSON.stringify({ type: 'compaction', id: 'cmp_1', encrypted_content: text });
  const message = JSON.stringify(user(JSON.stringify({ type: 'compaction', content: text })));

  const looksLike = (content: string, change: (held: string) => unknown = (held) => held) =>
    JSON.stringify({
      input: [user(change(JSON.stringify({ type: 'compaction', content })))],
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
    ['F9: a text that looks like one', looksLike(`${SEALED_PREFIX}AAAA`)],
    ['F9: one that is cut', looksLike(text.slice(0, 20))],
    ['F9: one with something behind it', looksLike(`${text}!`)],
    ['F9: one within prose', looksLike(text, (held) => `Why is this here: ${held}`)],
    ['F9: one that says more', looksLike(text, (held) => held.replace('}', ',"x":1}'))],
    ['F9: one in other white space', looksLike(text, (held) => held.replace(':', ': '))],
    ['F9: an object that says more', looksLike(text, (held) => [{ ...JSON.parse(held), x: 1 }])],
    ['no list', `{"input":${JSON.stringify(item)}}`],
    ['no JSON', `{"input":[${item}`],
    ['another field', `{"messages":[${item}]}`],
  ])('has none in %s', (_, body) => {
    expect(found(body, 'input')).toEqual([]);
  });

  it('has what they hold in their place, and keeps every other byte', () => {
    const body = encoder.encode(`{"n":1.0, "input":[{"x":12345678901234567890}, ${item} ,{"y":1.0}]}`);
    const sealed = ownItemsIn(body, 'input', form, 100);
    expect(decoder.decode(openedBody(body, sealed, ['{"z":1.0},{"w":2.0}']))).toBe(
      '{"n":1.0, "input":[{"x":12345678901234567890}, {"z":1.0},{"w":2.0} ,{"y":1.0}]}',
    );
  });

  it('has those after a place alone, if none can precede it', () => {
    const bytes = encoder.encode(`{"input":[{"n":1.0},${item}]}`);
    const at = decoder.decode(bytes).indexOf(item);
    const of = (from: number) => ownItemsIn(bytes, 'input', form, 100, from).sealed.map(({ param }) => param);
    expect(of(at)).toEqual(['input[1].encrypted_content']);
    expect(of(bytes.length - 2)).toEqual([]);
  });

  const REASONING = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"${REASONING_MARK}"}`;
  const withoutMarked = (body: string): string => {
    const bytes = encoder.encode(body);
    return decoder.decode(openedBody(bytes, ownItemsIn(bytes, 'input', form, 100), []));
  };

  it.each([
    ['the only one', `{"input":[${REASONING}]}`, '{"input":[]}'],
    ['first', `{"input":[${REASONING}, {"n":1.0}]}`, '{"input":[{"n":1.0}]}'],
    ['last', `{"input":[{"n":1.0} ,${REASONING}],"x":1}`, '{"input":[{"n":1.0}],"x":1}'],
    [
      'between others, and twice',
      `{"input":[{"n":1.0}, ${REASONING},${REASONING} ,{"m":2.0},${REASONING}]}`,
      '{"input":[{"n":1.0}, {"m":2.0}]}',
    ],
  ])('F24: has marked reasoning cut out where it is %s', (_, body, cut) => {
    expect(withoutMarked(body)).toBe(cut);
  });

  it('F24: has marked reasoning cut out beside an item that is opened', () => {
    const body = encoder.encode(`{"input":[${REASONING},${item},${REASONING},{"n":1.0}]}`);
    const opened = openedBody(body, ownItemsIn(body, 'input', form, 100), ['{"z":1.0}']);
    expect(decoder.decode(opened)).toBe('{"input":[{"z":1.0},{"n":1.0}]}');
  });

  it.each([
    ['reasoning of the upstream’s', REASONING.replace(REASONING_MARK, `gAAA${REASONING_MARK}`)],
    ['reasoning with more than the mark', REASONING.replace(REASONING_MARK, `${REASONING_MARK}_`)],
    ['a text about it', `{"role":"user","content":${JSON.stringify(REASONING)}}`],
    ['an item of another kind', REASONING.replace('"reasoning"', '"message"')],
  ])('F24: keeps %s', (_, kept) => {
    const body = `{"input":[{"role":"user","content":"Hi"},${kept}]}`;
    expect(withoutMarked(body)).toBe(body);
    expect(found(body, 'input')).toEqual([]);
  });

  it('keeps what a client has put into the same message', () => {
    const parts = [
      { type: 'text', text: JSON.stringify({ type: 'compaction', content: text }) },
      { type: 'text', text: 'Go on.' },
    ];
    const body = encoder.encode(JSON.stringify({ messages: [{ role: 'user', name: 'x', content: parts }] }));
    const opened = openedBody(body, ownItemsIn(body, 'messages', form, 100), ['{"role":"user"}']);
    expect(JSON.parse(decoder.decode(opened))).toEqual({
      messages: [{ role: 'user' }, { role: 'user', name: 'x', content: [parts[1]] }],
    });
  });
});
