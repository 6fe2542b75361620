/** The literals of a ledger: their forms, and how they are found in texts and in calls. */
import { stringEnd } from '../../lib/json-strings.ts';
import { type LiteralRules, scanLiterals } from '../../memory/edits/literal-scanner.ts';
import { MEASURE } from '../../memory/edits/literals.ts';

/** Distinct literals of a text. A longer table has no lines that matter by themselves. */
export const MOST_LITERALS_READ = 100_000;

/** The form of a literal. */
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
const FORMS: readonly (readonly [Form, RegExp])[] = [
  ['url', /^[a-z][a-z+]{1,9}:\/\/[^/]./],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-/i],
  ['email', /^[\w.+-]+@[\w-]+\.[\w.-]+$/],
  ['hash', /^(?=[a-f]*\d)(?=\d*[a-f])[a-f\d]{7,64}$/i],
  ['amount', /^[$€£¥]\d[\d,]*(?:\.\d+)?$|^\d[\d,]*\.\d+$|^\d{1,3}(?:,\d{3})+$/],
  ['path', /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?::\d+)*(?::[\w.-]+)?$/],
  ['number', /^\d{4,}$/],
  ['measure', MEASURE],
  ['id', /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[#@]?[A-Za-z\d]+(?:[_:#.+~-]+[A-Za-z\d]+)*$/],
  ['constant', /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/],
  ['snake', /^[A-Za-z\d]+(?:_+[A-Za-z\d]+)+$/],
  ['dotted', /^\.?[A-Za-z\d]+(?:[_:#.-]+[A-Za-z\d]+)*(?:[:#.][A-Za-z\d]+)(?:[_:#.-]+[A-Za-z\d]+)*$/],
  ['camel', /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/],
];

/**
 * How a ledger finds literals. It knows fewer quotes and escapes than previews do, and no search
 * results. The weights of the ranking were fitted to words split in this way.
 */
const LEDGER_LITERALS: LiteralRules<Form> = {
  word: /https?:\/\/[^\s"'<>`()[\]{}\\]+|\\+[nrt]?|<\/[^\s"'<>`()[\]{}\\;|=]*|[^\s"'<>`()[\]{}\\;|=]+/g,
  telling: /[\d/_.:#@]|[a-z][A-Z]/,
  withComma: /^[$€£¥]?\d|:\/\//,
  punctuation: '.,:;-!?*+~',
  partsMatches: false,
  longest: 160,
  forms: FORMS,
};

/** A name with a number: `total=41`, `"port": 8080`. */
const NAMED =
  /(?<![\w.-])([A-Za-z_][\w-]{1,40})\\*["']?[ \t]?[:=][ \t]?\\*["']?([$€£¥]?-?\d[\d.,]{0,20})(?![\w/:-])/g;

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
  scanLiterals(text, LEDGER_LITERALS, add);
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
