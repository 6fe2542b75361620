/** The literals of a ledger: their forms, and how they are found in texts and in calls. */
import { stringEnd } from '../../lib/json-strings.ts';
import { type LiteralForm, type LiteralRules, LiteralScanner } from '../../memory/edits/literal-scanner.ts';
import { MEASURE } from '../../memory/edits/literals.ts';

/** Distinct literals of a text. A longer table has no lines that matter by themselves. */
export const MOST_LITERALS_READ = 100_000;

export type Form =
  | 'url'
  | 'uuid'
  | 'email'
  | 'hash'
  | 'amount'
  | 'path'
  | 'number'
  | 'measure'
  | 'id'
  | 'constant'
  | 'snake'
  | 'dotted'
  | 'camel'
  | 'named';

/** The first matching form counts. */
const FORMS: readonly LiteralForm<Form>[] = [
  { form: 'url', expression: /^[a-z][a-z+]{1,9}:\/\/[^/]./, has: ':/' },
  { form: 'uuid', expression: /^[0-9a-f]{8}-[0-9a-f]{4}-/i, has: '-' },
  { form: 'email', expression: /^[\w.+-]+@[\w-]+\.[\w.-]+$/, of: 'A0_.+-@', has: '@.' },
  { form: 'hash', expression: /^(?=[a-f]*\d)(?=\d*[a-f])[a-f\d]{7,64}$/i, of: 'A0', has: 'a0' },
  {
    form: 'amount',
    expression: /^[$€£¥]\d[\d,]*(?:\.\d+)?$|^\d[\d,]*\.\d+$|^\d{1,3}(?:,\d{3})+$/,
    of: '$0,.',
    has: '0',
  },
  {
    form: 'path',
    expression: /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?::\d+)*(?::[\w.-]+)?$/,
    of: 'A0_@.~+:-/',
    has: '/',
  },
  { form: 'number', expression: /^\d{4,}$/, of: '0', has: '0' },
  { form: 'measure', expression: MEASURE, of: 'A0.', has: 'a0' },
  {
    form: 'id',
    expression: /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[#@]?[A-Za-z\d]+(?:[_:#.+~-]+[A-Za-z\d]+)*$/,
    of: 'A0_:#.+~@-',
    has: 'a0',
  },
  { form: 'constant', expression: /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/, of: 'A0_', has: 'A_' },
  { form: 'snake', expression: /^[A-Za-z\d]+(?:_+[A-Za-z\d]+)+$/, of: 'A0_', has: '_' },
  {
    form: 'dotted',
    expression: /^\.?[A-Za-z\d]+(?:[_:#.-]+[A-Za-z\d]+)*(?:[:#.][A-Za-z\d]+)(?:[_:#.-]+[A-Za-z\d]+)*$/,
    of: 'A0_:#.-',
  },
  { form: 'camel', expression: /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/, of: 'A0', has: 'A' },
];

/**
 * How a ledger finds literals. It knows fewer quotes and escapes than previews do, and no search
 * results. The weights of the ranking were fitted to words split in this way.
 */
export const LEDGER_LITERALS: LiteralRules<Form> = {
  ends: '"\'<>`()[]{}\\;|=',
  inUrls: ';|=',
  noWord: /\\+[nrt]?|<\/[^\s"'<>`()[\]{}\\;|=]*/y,
  distinctive: '0/_.:#@',
  capital: /[a-z][A-Z]/,
  withComma: /^[$€£¥]?\d|:\/\//,
  punctuation: '.,:;-!?*+~',
  partsMatches: false,
  longest: 160,
  forms: FORMS,
};

/** A name with a number: `total=41`, `"port": 8080`. */
const NAMED =
  /(?<![\w.-])([A-Za-z_][\w-]{1,40})\\*["']?[ \t]?[:=][ \t]?\\*["']?([$€£¥]?-?\d[\d.,]{0,20})(?![\w/:-])/g;

const scanner = new LiteralScanner(LEDGER_LITERALS);

/** A literal with its form. */
export interface Word {
  readonly value: string;
  readonly form: Form;
}

/** The distinct literals of a text, in order; of too many, the first. */
export function literalsOf(text: string): Word[] {
  const found = new Map<string, Word>();
  const add = (value: string, form: Form): void => {
    if (found.size < MOST_LITERALS_READ && !found.has(value)) found.set(value, { value, form });
  };
  scanner.each(text, add);
  for (const [, name = '', digits = ''] of text.matchAll(NAMED))
    add(`${name}=${digits.replace(/[.,]+$/, '')}`, 'named');
  return [...found.values()];
}

/** The strings in the JSON of a call that may be literals. Other inputs may have none. */
export function stringsIn(input: string): ReadonlySet<string> {
  const strings = new Set<string>();
  for (let at = input.indexOf('"'); at >= 0 && strings.size < MOST_LITERALS_READ; ) {
    const end = stringEnd(input, at);
    if (end === undefined) break;
    if (end - at <= LEDGER_LITERALS.longest) strings.add(input.slice(at + 1, end - 1));
    at = input.indexOf('"', end);
  }
  return strings;
}
