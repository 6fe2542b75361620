/** The scanner against a plain one, which tries every word in turn and remembers nothing. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LiteralRules, LiteralScanner } from '../../../../src/memory/edits/literal-scanner.ts';
import { PREVIEW_LITERALS } from '../../../../src/memory/edits/literals.ts';
import { LEDGER_LITERALS } from '../../../../src/summary/text/ledger-literals.ts';
import { sampleTraces } from '../../../support/conversations/traces.ts';
import { forAll } from '../../../support/laws/runs.ts';

/** Rules, with their words as one expression that says all of it. */
interface Subject {
  readonly rules: LiteralRules<unknown>;
  readonly words: RegExp;
  readonly telling: RegExp;
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  previews: {
    rules: PREVIEW_LITERALS,
    words:
      /https?:\/\/[^\s"'<>`()[\]{}\\|“”‘’«»│]+|\\+(?:u[\dA-Fa-f]{4}|[nrt])?|<\/[\w:.-]*|[^\s"'<>`()[\]{}\\;|=“”‘’«»│]+/g,
    telling: /[\d/_.:#@]|[A-Za-z][A-Z]/,
  },
  ledgers: {
    rules: LEDGER_LITERALS,
    words: /https?:\/\/[^\s"'<>`()[\]{}\\]+|\\+[nrt]?|<\/[^\s"'<>`()[\]{}\\;|=]*|[^\s"'<>`()[\]{}\\;|=]+/g,
    telling: /[\d/_.:#@]|[a-z][A-Z]/,
  },
};

function trim(word: string, punctuation: string): string {
  let [start, end] = [0, word.length];
  while (end > start && punctuation.includes(word.charAt(end - 1))) end--;
  while (start < end && punctuation.includes(word.charAt(start)) && !/[.~]/.test(word.charAt(start))) start++;
  return word.slice(start, end);
}

/** The parts of a word, one after the other. */
function partsOf(word: string, { partsMatches, punctuation, longest, withComma }: LiteralRules<unknown>) {
  const rest = partsMatches ? word.replace(/^\d{1,6}:(?=\D)/, '') : word;
  const whole = trim(rest, punctuation);
  const file = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/.exec(
    whole.slice(0, longest),
  );
  if (partsMatches && file) return [file[1] ?? file[2] ?? ''];
  const isWhole = !whole.includes(',') || withComma.test(rest);
  return isWhole ? [whole] : whole.split(',').map((part) => trim(part, punctuation));
}

function plainly(text: string, { rules, words, telling }: Subject): string[] {
  const found = [...text.matchAll(words)].flatMap(([word]) =>
    word.length < 4 || /^[\\<]/.test(word) || !telling.test(word) ? [] : partsOf(word, rules),
  );
  return found.flatMap((value) => {
    if (value.length < 4 || value.length > rules.longest) return [];
    const literal = rules.forms.find(({ expression }) => expression.test(value));
    return literal ? [`${literal.form} ${value}`] : [];
  });
}

function scanned(text: string, { rules }: Subject): string[] {
  const found: string[] = [];
  new LiteralScanner(rules).each(text, (value, form) => found.push(`${form} ${value}`));
  return found;
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
    'jo.doe+1@shop.test',
    '2025-01-09T12:33:44.120Z',
    '#ff00ff',
    '€12.50',
    '62.5%',
    '~/.git/a_b',
    'HTTPServer',
    'MAX_SIZE',
    '555-123-4567',
    '24-bit',
    '“ORD-1”',
  ),
  fc.string({ unit: fc.constantFrom(...' \n\t"\'()=;|,.:/-_#@+~$€%<\\aZ09\u00a0\u2028\u3000é東”│') }),
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe.each(Object.entries(SUBJECTS))('the scanner of the literals of %s', (_, subject) => {
  const expectSame = (given: string): void =>
    expect(scanned(given, subject)).toEqual(plainly(given, subject));

  it('finds what a plain one finds, in the same order', () => {
    let found = 0;
    forAll(2_000, text, (given) => {
      found += plainly(given, subject).length;
      expectSame(given);
    });
    expect(found).toBeGreaterThan(1_000);
  });

  it.each(sampleTraces().map(({ file, messages }) => [file, messages] as const))(
    'finds it in a recorded conversation (%s)',
    (_file, messages) => {
      const all = JSON.stringify(messages);
      expectSame(all);
      expectSame(all.replaceAll('\\n', '\n'));
    },
  );

  it('finds it in long texts, with and without white space', () => {
    const id = (n: number) => `ORD-${n}/${'x'.repeat(40)}`;
    for (const separator of [' ', '\n', '\u2003', '\t'])
      for (const size of [1, 7, 5_000]) {
        const long = Array.from({ length: size }, (__, n) => id(n)).join(separator);
        expectSame(long);
        expectSame(`${'y,'.repeat(50_000)}${separator}${long}`);
      }
  });
});
