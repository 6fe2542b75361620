/** The scanner against a plain one, which tries every word in turn and remembers nothing. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LiteralRules, scanLiterals } from '../../../../src/memory/edits/literal-scanner.ts';
import { sampleTraces } from '../../../support/conversations/traces.ts';

const RULES: LiteralRules<string> = {
  word: /https?:\/\/[^\s"'<>`()[\]{}\\|]+|\\+(?:u[\dA-Fa-f]{4}|[nrt])?|<\/[\w:.-]*|[^\s"'<>`()[\]{}\\;|=]+/g,
  telling: /[\d/_.:#@]|[A-Za-z][A-Z]/,
  withComma:
    /^[,:;\-!?*+]*(?:[a-z][a-z\d+.-]{1,15}:\/\/|[$€]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?[.,:;\-!?*+]*$)/i,
  punctuation: '.,:;-!?*+',
  partsMatches: true,
  longest: 60,
  forms: [
    ['url', /^[a-z][a-z\d+.-]{1,15}:\/\//i],
    ['path', /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?:[:#][\w.-]+)*$/],
    ['amount', /^[$€]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?$/],
    ['number', /^\d{4,}$/],
    ['id', /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])#?[A-Za-z\d]+(?:[_:#.+~@-]+[A-Za-z\d]+)*$/],
    ['camel', /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/],
  ],
};

const trim = (word: string): string => word.replace(/[.,:;\-!?*+]+$/, '').replace(/^[,:;\-!?*+]+/, '');

/** The parts of a word, one after the other. */
function partsOf(word: string): string[] {
  const rest = word.replace(/^\d{1,6}:(?=\D)/, '');
  const whole = trim(rest);
  const file = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/.exec(
    whole.slice(0, RULES.longest),
  );
  if (file) return [file[1] ?? file[2] ?? ''];
  return !whole.includes(',') || RULES.withComma.test(rest) ? [whole] : whole.split(',').map(trim);
}

function plainly(text: string): string[] {
  const found = [...text.matchAll(RULES.word)].flatMap(([word]) => (word.length < 4 ? [] : partsOf(word)));
  const literals = found.flatMap((value) => {
    if (value.length < 4 || value.length > RULES.longest) return [];
    const form = RULES.forms.find(([, expression]) => expression.test(value))?.[0];
    return form ? [`${form} ${value}`] : [];
  });
  return [...new Set(literals)];
}

function scanned(text: string): string[] {
  const found = new Set<string>();
  scanLiterals(text, RULES, (value, form) => found.add(`${form} ${value}`));
  return [...found];
}

const piece = fc.oneof(
  fc.constantFrom(
    'ORD-4711',
    'src/pay/charge.ts:12:5: if',
    '12: const a',
    'https://shop.test/o?a=1;b=2',
    '$1,204.50',
    '1,2,3,a/b/c.ts,',
    'chargeCustomer',
    '\\n',
    '\\u00e9',
    '</a>',
    '...',
    'word',
    '3f2a9bc',
    '2041',
  ),
  fc.string({ unit: fc.constantFrom(...' \n\t"\'()=;|,.:/-_#@aZ09\u00a0\u2028é') }),
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe('the scanner of literals', () => {
  it('finds what a plain one finds, in the same order', () => {
    let found = 0;
    fc.assert(
      fc.property(text, (given) => {
        const literals = plainly(given);
        found += literals.length;
        expect(scanned(given)).toEqual(literals);
      }),
      { numRuns: 2_000 },
    );
    expect(found).toBeGreaterThan(1_000);
  });

  it.each(sampleTraces().map(({ file, messages }) => [file, messages] as const))(
    'finds it in a recorded conversation (%s)',
    (_, messages) => {
      const all = JSON.stringify(messages);
      expect(scanned(all)).toEqual(plainly(all));
      const lines = all.replaceAll('\\n', '\n');
      expect(scanned(lines)).toEqual(plainly(lines));
    },
  );

  it('cuts no word where it cuts a long text', () => {
    const id = (n: number) => `ORD-${n}/${'x'.repeat(40)}`;
    for (const separator of [' ', '\n', '\u2003', '\t'])
      for (const size of [1, 7, 5_000]) {
        const long = Array.from({ length: size }, (__, n) => id(n)).join(separator);
        expect(scanned(long)).toEqual(plainly(long));
        const run = `${'y,'.repeat(50_000)}${separator}${long}`;
        expect(scanned(run)).toEqual(plainly(run));
      }
  });
});
