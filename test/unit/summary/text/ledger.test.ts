import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../../src/memory/conversation/passage.ts';
import { splitLedger } from '../../../../src/summary/text/headings.ts';
import { collectLedger, type LedgerRoom, writeLedger } from '../../../../src/summary/text/ledger.ts';
import { anyUrl } from '../../../support/conversations/urls.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter } from '../../../support/laws/view-of.ts';

const REF = `ref_${'a'.repeat(26)}`;
const user = (index: number, text: string): Entry => ({ index, role: 'user', text, calls: [] });
const said = (
  index: number,
  text: string,
  ...calls: { id: string; name: string; input: string }[]
): Entry => ({
  index,
  role: 'assistant',
  text,
  calls,
});
const shown = (index: number, text: string, id = 'c'): Entry => ({
  index,
  role: 'tool',
  text,
  calls: [],
  tool: { id, name: 'f' },
});
const call = (name: string, input = '{}', id = 'c') => ({ id, name, input });
const ledger = (
  entries: readonly Entry[],
  { priorLedger, ...room }: { readonly priorLedger?: string } & Partial<LedgerRoom> = {},
): string =>
  writeLedger(collectLedger(entries, priorLedger), {
    maxTokens: 500,
    counter,
    alreadyIn: '',
    includeTrajectory: true,
    ...room,
  });
const rows = (count: number): string =>
  Array.from({ length: count }, (_, row) => `{"id":"row-${7_000 + row}"}`).join('\n');

describe('a ledger', () => {
  it('holds ids, paths, URLs, hashes, amounts and numbers with their names', () => {
    const text = ledger([
      shown(
        0,
        'order "#W4711001" by mia_kim_4397, https://shop.test/o?id=7, src/pay/charge.ts:41, commit 3f2a9bc, sum $1,204.50, {"port": 8080, "total":41} total_rows=9',
      ),
    ]);
    for (const literal of [
      '#W4711001',
      'mia_kim_4397',
      'https://shop.test/o?id=7',
      'src/pay/charge.ts:41',
      '3f2a9bc',
      '$1,204.50',
      'port=8080',
      'total=41',
      'total_rows=9',
    ])
      expect(text).toContain(literal);
    expect(text).toMatch(/^## Ledger\n/);
  });

  it('finds literals that JSON inside JSON escapes', () => {
    const text = ledger([shown(0, JSON.stringify({ out: 'id:\nORD-4711\nthen\t"usr_9f3"' }))]);
    expect(text).toMatch(/(?<!\w)ORD-4711/);
    expect(text).toMatch(/(?<!\w)usr_9f3/);
  });

  it('holds no plain words and no closing tags', () => {
    expect(ledger([shown(0, '<dependency>The quick brown fox jumps.</dependency>')])).toBe('');
  });

  it('leaves out what the text before it says', () => {
    const entries = [user(0, 'Compare ORD-4711 with ORD-4712.')];
    expect(ledger(entries, { alreadyIn: 'See ORD-4711.' })).toBe('## Ledger\nORD-4712');
    expect(ledger(entries, { alreadyIn: 'See ORD-4711 and ORD-4712.' })).toBe('');
  });

  it('says no literal twice, nor inside of another', () => {
    const text = ledger([
      shown(0, 'src/pay/charge.ts'),
      shown(1, 'in src/pay: charge.ts, src/pay/charge.ts'),
    ]);
    expect(text).toBe('## Ledger\nsrc/pay/charge.ts');
  });

  describe('with little room prefers', () => {
    /** Whether a literal is in a ledger that has room for only a few of hundreds. */
    const kept = (literal: string, entries: readonly Entry[]): boolean =>
      ledger(entries, { maxTokens: 60, includeTrajectory: false }).includes(literal);
    const before = [shown(1, rows(200)), shown(2, rows(200))];

    it('what the user wrote', () => {
      expect(kept('row-7150', before)).toBe(false);
      expect(kept('row-7150', [user(0, 'It is about row-7150.'), ...before])).toBe(true);
    });

    it('what the assistant put into a call', () => {
      expect(kept('row-7150', [...before, said(3, '', call('get', '{"id":"row-7150"}'))])).toBe(true);
    });

    it('a whole argument over a part of one', () => {
      const calling = (at: number, input: object) => said(at, '', call('get', JSON.stringify(input)));
      const parts = Array.from({ length: 60 }, (_, at) => calling(at, { note: `see row-${7_000 + at}` }));
      expect(kept('row-7150', [...parts, calling(99, { note: 'see row-7150' })])).toBe(false);
      expect(kept('row-7150', [...parts, calling(99, { id: 'row-7150' })])).toBe(true);
      const quoted = { note: 'a "quoted" word', ids: ['row-7150'] };
      expect(kept('row-7150', [...parts, calling(99, quoted)])).toBe(true);
    });

    it('the names of things over times and sizes', () => {
      const measures = Array.from({ length: 60 }, (_, at) => shown(at, `${at + 1}.25s ${at + 100}ms`));
      expect(kept('row-7150', [...measures, shown(99, 'made row-7150')])).toBe(true);
    });

    it('what is alone in an output over a row of hundreds', () => {
      expect(kept('row-9999', [...before, shown(3, 'created "row-9999"')])).toBe(true);
    });
  });

  describe('and the ledger before it', () => {
    it('stay candidates', () => {
      const prior = splitLedger(ledger([user(0, 'Order ORD-4711.'), said(1, '', call('get'))])).ledger;
      const text = ledger([user(2, 'And ORD-4712.'), said(3, '', call('put'))], { priorLedger: prior });
      expect(text).toContain('ORD-4711');
      expect(text).toContain('ORD-4712');
      expect(text).toContain('- from 0: get\n- from 2: put');
    });

    it('keep their literals through many rounds', () => {
      let prior = splitLedger(ledger([user(0, 'Order ORD-4711, account acc_77f1.')])).ledger;
      for (let round = 1; round <= 20; round++)
        prior = splitLedger(ledger([shown(round, rows(60))], { priorLedger: prior, maxTokens: 120 })).ledger;
      expect(prior).toContain('ORD-4711');
      expect(prior).toContain('acc_77f1');
    });
  });

  describe('and its trajectory', () => {
    it('says for each turn which tools were invoked, how often, and under which refs their outputs are kept', () => {
      const marker = `⟦removed: tool output for search (call_id=a); reason=context_compaction; ref=${REF}; tokens=900⟧`;
      const text = ledger([
        user(4, 'find'),
        said(5, '', call('search', '{}', 'a'), call('search', '{}', 'b')),
        shown(6, marker, 'a'),
        said(7, '', call('read')),
        user(9, 'thanks'),
        said(10, 'done'),
        user(11, 'more'),
        said(12, '', call('write')),
      ]);
      expect(text).toContain(`- from 4: search ×2, read; refs ${REF}\n- from 11: write`);
      expect(text).not.toContain('from 9');
    });

    it('believes no ref outside of a marker', () => {
      expect(ledger([user(0, 'go'), said(1, '', call('read')), shown(2, `see ${REF}`)])).not.toContain(
        'refs',
      );
    });

    it('can be left out', () => {
      expect(ledger([user(0, 'go'), said(1, '', call('read'))], { includeTrajectory: false })).toBe('');
    });

    it('keeps the latest turns when there is no room for all', () => {
      const entries = Array.from({ length: 80 }, (_, turn) => [
        user(2 * turn, 'go'),
        said(2 * turn + 1, '', call('read')),
      ]).flat();
      const text = ledger(entries, { maxTokens: 100 });
      expect(text).toContain('- from 158: read');
      expect(text).not.toContain('- from 0: read');
    });

    it('counts the calls of a turn that began before', () => {
      expect(ledger([said(7, '', call('read')), said(8, '', call('read'))])).toContain('- from 7: read ×2');
    });
  });

  it('cannot close its block in the view', () => {
    const name = '</session_summary>';
    expect(ledger([said(0, '', call(name))])).not.toContain(name);
    expect(ledger([said(0, '', call('f'))], { priorLedger: `- from 0: ${name}` })).not.toContain(name);
  });

  it('is plain data before it is written', () => {
    const facts = collectLedger([user(0, 'ORD-4711'), said(1, '', call('f'))]);
    expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
  });

  it.each(['a', '.', '/a', 'a=', 'a.', '1,', '\\', '"', 'aB', '</'])(
    'is collected in one pass over a long run of %j',
    (unit) => {
      expect(collectLedger([shown(0, `ORD-4711 ${unit.repeat(200_000)}`)]).literals).toContain('ORD-4711');
    },
  );

  it.each(['\\"', '\\\\', '\\n', '"', '",', 'a'])(
    'finds the arguments of a call in one pass over a long run of %j',
    (unit) => {
      const entries = [said(0, '', call('get', `{"id":"ORD-4711","note":"${unit.repeat(1_000_000)}`))];
      expect(collectLedger(entries).literals).toContain('ORD-4711');
    },
  );

  it('stays within its tokens, and is the same for the same entries', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 120 }),
      fc.constantFrom(
        rows(30),
        'ORD-4711',
        'src/a/b.ts',
        '"port": 8080',
        'x'.repeat(300),
        '12345'.repeat(40),
      ),
      anyUrl,
      fc.uuid(),
    );
    const entries = fc
      .array(
        fc.record({ text, input: text, role: fc.constantFrom<Entry['role']>('user', 'assistant', 'tool') }),
        {
          maxLength: 8,
        },
      )
      .map((shapes) =>
        shapes.map(({ text, input, role }, index) =>
          role === 'assistant'
            ? said(index, text, call(input.slice(0, 20), input))
            : { ...user(index, text), role },
        ),
      );
    forAll(entries, text, fc.integer({ min: 0, max: 300 }), (entries, priorLedger, maxTokens) => {
      const written = ledger(entries, { priorLedger, maxTokens });
      expect(ledger(entries, { priorLedger, maxTokens })).toBe(written);
      expect(counter.text(written)).toBeLessThanOrEqual(maxTokens);
      expect(written === '' || written.startsWith('## Ledger\n')).toBe(true);
      expect(written.isWellFormed()).toBe(true);
    });
  });
});
