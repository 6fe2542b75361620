import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOfResult } from '../../../src/protocol/answers/tool-turn.ts';
import type { HeldResult } from '../../../src/retrieval/held-contents.ts';
import { Retriever } from '../../../src/retrieval/retriever.ts';
import type { Shelf } from '../../../src/retrieval/shelf.ts';
import { lines } from '../../support/conversations/chat.ts';
import { runs } from '../../support/laws/runs.ts';
import { counter, tenant } from '../../support/laws/view-of.ts';

const refOf = (text: string): string => tenant.refs.name(text, () => text);

/** Storage with a content. @param text absent: storage does not answer */
function shelfWith(text?: string): Shelf {
  const get = async (): ReturnType<Shelf['get']> => {
    if (text === undefined) throw new Error('no storage');
    const metadata = {
      tool_name: 'search',
      tool_call_id: 'call_1',
      content_type: 'text/plain; charset=utf-8',
      tokens: 1,
      bytes: 1,
      created: 1,
    };
    return { content: new Uint8Array(new TextEncoder().encode(text)), metadata };
  };
  return { owns: () => true, get, unknown: () => undefined, failed: () => undefined };
}

const retriever = (shelf: Shelf, room = Number.POSITIVE_INFINITY, held: readonly HeldResult[] = []) =>
  new Retriever(shelf, counter, () => true, room, held);

const argsOf = (text: string, more: object): string => JSON.stringify({ ref: refOf(text), ...more });

/** The result of a call, as an earlier answer has got it from storage. */
async function fetched(text: string, more: object, room?: number): Promise<HeldResult> {
  const args = argsOf(text, more);
  return { args, result: textOfResult(await retriever(shelfWith(text), room).answer(args)) };
}

/** The result of a call without storage; undefined if it needs storage. */
async function withoutStorage(
  text: string,
  held: readonly HeldResult[],
  more: object,
): Promise<string | undefined> {
  const found = await retriever(shelfWith(), undefined, held).find(argsOf(text, more));
  return found.ok ? textOfResult(found.value) : undefined;
}

const FILE = lines(600, 'const line');
const lineAt = (number: number): string => FILE.split('\n')[number - 1] ?? '';

describe('what a view holds of a content', () => {
  it.each([
    ['lines of a content that it holds', {}, { lines: '295-305' }, 600],
    ['matches in it', {}, { grep: lineAt(300) }, 600],
    ['all of it under another limit', {}, { max_tokens: 31_000 }, 600],
    ['a part of lines that it holds', { lines: '290-310' }, { lines: '295-305' }, 600],
    ['a single one of them', { lines: '290-310' }, { lines: '310' }, 600],
    ['lines up to the end, where the end is held', { lines: '590-700' }, { lines: '595-' }, 600],
    ['lines that a result has which was cut', { max_tokens: 300 }, { lines: '2-5' }, 600],
    ['lines of a range that was cut', { lines: '100-500', max_tokens: 300 }, { lines: '101-105' }, 600],
  ])('answers a call for %s as storage would', async (_what, before, asked, count) => {
    const text = lines(count, 'const line');
    const limit = 'max_tokens' in before ? {} : { max_tokens: 32_000 };
    const held = [await fetched(text, { ...limit, ...before })];
    expect(await withoutStorage(text, held, asked)).toBe((await fetched(text, asked)).result);
  });

  it('answers a call for a value in JSON of which it holds all', async () => {
    const text = JSON.stringify({ items: [{ id: 'a' }, { id: 'ORD-4711' }] });
    const held = [await fetched(text, {})];
    expect(await withoutStorage(text, held, { path: '$.items[1].id' })).toBe('"ORD-4711"');
  });

  it.each([
    ['lines of which some are not held', { lines: '290-310' }, { lines: '305-311' }],
    ['lines before those that are held', { lines: '290-310' }, { lines: '289' }],
    ['lines without an end, where the end is not held', { lines: '290-310' }, { lines: '295-' }],
    ['matches in a content of which a part is held', { lines: '290-310' }, { grep: lineAt(300) }],
    ['all of it, where a part is held', { lines: '1-10' }, {}],
    ['lines, where matches are held', { grep: lineAt(300) }, { lines: '300' }],
    ['more than its limit lets through', { lines: '1-100' }, { lines: '1-90', max_tokens: 20 }],
    ['what was cut for lack of room', { room: 300 }, {}],
  ])(
    'leaves to storage a call for %s',
    async (_what, { room, ...before }: Record<string, unknown>, asked) => {
      const held = [await fetched(FILE, before, room as number | undefined)];
      expect(await withoutStorage(FILE, held, asked)).toBeUndefined();
    },
  );

  it('leaves to storage a call for the line in which a result was cut', async () => {
    const text = `short\n${'word '.repeat(100)}\nlast`;
    for (const all of [{}, { lines: '1-' }]) {
      const held = [await fetched(text, { ...all, max_tokens: 50 })];
      expect(held[0]?.result).toContain('[cut in line 2 of 3; ');
      expect(await withoutStorage(text, held, { lines: '2' })).toBeUndefined();
      expect(await withoutStorage(text, held, { lines: '1' })).toBe('short');
    }
  });

  it.each([
    'Not more than 16 calls are answered at once. Ask for fewer at once.',
    'This was given above already, in this answer. Go on with it.',
    `The content of ${refOf(FILE)} is no longer kept. Continue without it.`,
    `What stood under ${refOf(FILE)} is not kept any more. Go on without it.`,
    `There is nothing under ${JSON.stringify(refOf(FILE))}. Use a ref exactly as a placeholder of this conversation has it.`,
    `There is nothing under ${JSON.stringify(refOf(FILE))}. Use a ref as it stands in a placeholder of this conversation.`,
    '(nothing)',
  ])('is nothing where the model has read: %s', async (result) => {
    const held = [{ args: argsOf(FILE, {}), result }];
    expect(await withoutStorage(FILE, held, { lines: '1' })).toBeUndefined();
    expect(await withoutStorage(FILE, held, { grep: 'n' })).toBeUndefined();
  });

  it('gives no refs that count as fetched', async () => {
    const held = [await fetched(FILE, { max_tokens: 32_000 })];
    const second = retriever(shelfWith(), undefined, held);
    await second.answer(argsOf(FILE, { lines: '1-3' }));
    expect(second.given).toEqual([]);
  });
});

describe('results in a view', () => {
  const line = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.string({ minLength: 20, maxLength: 60 }),
    fc.constantFrom(
      '',
      '(nothing)',
      '[cut after line 2 of 9; ask for lines=3-9]',
      '[cut behind line 2 of 9; ask for lines=3-9]',
      '[cut here: x]',
      '--',
    ),
  );
  const content = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 12 })
    .chain((all) => fc.boolean().map((ends) => ({ all, ends })))
    .map(({ all, ends }) => {
      const text = all.flat().join('');
      return ends ? text : text.replace(/(\r\n|\n|\r)$/, '');
    });
  const number = fc.integer({ min: 1, max: 14 });
  const range = fc.oneof(
    fc.tuple(number, number).map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
    number.map(String),
    number.map((from) => `${from}-`),
  );
  const query = fc.oneof(
    { weight: 1, arbitrary: fc.constant({}) },
    { weight: 3, arbitrary: range.map((lines) => ({ lines })) },
    { weight: 1, arbitrary: line.filter((text) => text !== '').map((grep) => ({ grep })) },
  );
  const call = fc
    .tuple(query, fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }))
    .map(([asked, max_tokens]) => ({ ...asked, max_tokens }));
  const room = fc.option(fc.integer({ min: 100, max: 130 }), { nil: undefined });

  it('answer other calls as storage would, or not at all', async () => {
    const numRuns = runs(300, 2_000);
    let answered = 0;
    const property = fc.asyncProperty(
      content,
      fc.array(fc.tuple(call, room), { minLength: 1, maxLength: 3 }),
      call,
      async (text, before, asked) => {
        const held: HeldResult[] = [];
        for (const [more, left] of before) held.push(await fetched(text, more, left));
        const found = await withoutStorage(text, held, asked);
        if (found === undefined) return;
        answered++;
        expect(found).toBe((await fetched(text, asked)).result);
      },
    );
    await fc.assert(property, { numRuns });
    expect(answered).toBeGreaterThan(numRuns / 20);
  });
});
