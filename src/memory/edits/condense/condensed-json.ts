/**
 * JSON in fewer characters, by its source: numbers and strings keep their spelling, keys their
 * order, and keys that stand twice stay twice.
 *
 *     {"a": 1.0}                              {"a":1.0}
 *     [{"id": 1, "ok": true}, {"id": 2, …}]   @table{"columns":["id","ok"],"rows":[[1,true],[2,…]]}
 *     {"text": "{\"a\": 1}"}                  {"text":@text,{"a":1}}
 *
 * `@table` is the array of the objects that its rows are. `@text` is the string that holds the JSON
 * behind it, without white space; `@text2` and `@text4` indent it by so many spaces, and `@text,`
 * has a space after each comma and colon. No JSON text has an `@` outside of its strings, so both
 * can be undone: the result is the source without its white space, character by character.
 */
import { stringEnd } from '../../../lib/json-strings.ts';
import { styleOf } from './styles.ts';

/** A condensed text, and which of the forms it uses. */
export interface CondensedJson {
  readonly text: string;
  readonly hasTables: boolean;
  readonly hasTexts: boolean;
}

/** In characters. Longer texts are not read. */
const LONGEST = 1_000_000;
/** Levels of arrays and objects, through strings too. */
const DEEPEST = 64;

/**
 * The condensed form of a JSON array or object, or of a string that holds one.
 *
 * @returns undefined if the text is none, or if the form would not be shorter
 */
export function condenseJson(text: string): CondensedJson | undefined {
  if (text.length > LONGEST || !/^\s{0,64}(?:[[{]|"\s{0,8}[[{])/.test(text)) return undefined;
  const reader = new Reader(text, 0);
  const value = reader.whole();
  if (value === undefined || value.condensed.length >= text.trim().length) return undefined;
  return { text: value.condensed, hasTables: reader.hasTables, hasTexts: reader.hasTexts };
}

/** A value, written in two ways. */
interface Value {
  /** The source without white space. */
  readonly compact: string;
  readonly condensed: string;
  /** Of an object with keys: these as they are written, and its condensed values. */
  readonly record?: { readonly keys: string; readonly cells: readonly string[] };
}

const WHITE_SPACE = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class Reader {
  hasTables = false;
  hasTexts = false;
  private readonly source: string;
  private readonly outer: number;
  private at = 0;

  /** @param outer levels around the text */
  constructor(source: string, outer: number) {
    this.source = source;
    this.outer = outer;
  }

  /** The value that is all of the text. */
  whole(): Value | undefined {
    const value = this.value(this.outer);
    this.skip();
    return this.at === this.source.length ? value : undefined;
  }

  private value(depth: number): Value | undefined {
    this.skip();
    const first = this.source[this.at];
    if (first === '"') return this.string(depth);
    if (first === '{' || first === '[')
      return depth < DEEPEST ? (first === '{' ? this.object(depth + 1) : this.array(depth + 1)) : undefined;
    const scalar = this.match(SCALAR);
    return scalar === '' ? undefined : { compact: scalar, condensed: scalar };
  }

  private object(depth: number): Value | undefined {
    const keys: string[] = [];
    const values: Value[] = [];
    this.at++;
    if (this.takes('}')) return { compact: '{}', condensed: '{}' };
    do {
      this.skip();
      const key = this.rawString();
      if (key === undefined || !this.takes(':')) return undefined;
      const value = this.value(depth);
      if (!value) return undefined;
      keys.push(key);
      values.push(value);
    } while (this.takes(','));
    if (!this.takes('}')) return undefined;
    const written = (form: 'compact' | 'condensed'): string =>
      `{${keys.map((key, index) => `${key}:${values[index]?.[form]}`).join(',')}}`;
    const cells = values.map(({ condensed }) => condensed);
    return {
      compact: written('compact'),
      condensed: written('condensed'),
      record: { keys: keys.join(','), cells },
    };
  }

  private array(depth: number): Value | undefined {
    const values: Value[] = [];
    this.at++;
    if (this.takes(']')) return { compact: '[]', condensed: '[]' };
    do {
      const value = this.value(depth);
      if (!value) return undefined;
      values.push(value);
    } while (this.takes(','));
    if (!this.takes(']')) return undefined;
    const compact = `[${values.map((value) => value.compact).join(',')}]`;
    const list = `[${values.map(({ condensed }) => condensed).join(',')}]`;
    const table = tableOf(values);
    if (table === undefined || table.length >= list.length) return { compact, condensed: list };
    this.hasTables = true;
    return { compact, condensed: table };
  }

  private string(depth: number): Value | undefined {
    const compact = this.rawString();
    if (compact === undefined) return undefined;
    return { compact, condensed: this.textForm(compact, depth) ?? compact };
  }

  /** The form of a string that holds JSON, if it can be written back in the same characters. */
  private textForm(raw: string, depth: number): string | undefined {
    if (raw[1] !== '{' && raw[1] !== '[') return undefined;
    const text: string = JSON.parse(raw);
    // An escaped half of a character would have to be written without its escape.
    if (!text.isWellFormed() || JSON.stringify(text) !== raw) return undefined;
    const reader = new Reader(text, depth);
    const value = reader.whole();
    if (!value) return undefined;
    const style = styleOf(text, value.compact);
    if (style === undefined) return undefined;
    const condensed = `@text${style === '0' ? '' : style}${value.condensed}`;
    if (condensed.length >= raw.length) return undefined;
    this.hasTexts = true;
    this.hasTables ||= reader.hasTables;
    return condensed;
  }

  private rawString(): string | undefined {
    const end = this.source[this.at] === '"' ? stringEnd(this.source, this.at) : undefined;
    if (end === undefined) return undefined;
    const raw = this.source.slice(this.at, end);
    this.at = end;
    return raw;
  }

  private takes(character: string): boolean {
    this.skip();
    if (this.source[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private skip(): void {
    this.match(WHITE_SPACE);
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source)?.[0] ?? '';
    this.at += found.length;
    return found;
  }
}

/** The table of objects with the same keys in the same order. */
function tableOf(values: readonly Value[]): string | undefined {
  const keys = values[0]?.record?.keys;
  if (keys === undefined || values.length < 2) return undefined;
  const rows: string[] = [];
  for (const { record } of values) {
    if (record?.keys !== keys) return undefined;
    rows.push(`[${record.cells.join(',')}]`);
  }
  return `@table{"columns":[${keys}],"rows":[${rows.join(',')}]}`;
}
