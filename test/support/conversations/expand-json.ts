/** Undoes what `condenseJson` does: the JSON source without its white space. */
import { stringEnd } from '../../../src/lib/json-strings.ts';
import { STYLES, styled } from '../../../src/memory/edits/condense/styles.ts';

export function expandJson(condensed: string): string {
  const expander = new Expander(condensed);
  const json = expander.value();
  if (expander.at !== condensed.length) throw new Error(`unread text at ${expander.at}`);
  return json;
}

const TABLE = '@table{"columns":[';
const ROWS = '],"rows":[';
const TEXT = '@text';

class Expander {
  at = 0;
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  value(): string {
    const { source } = this;
    if (this.takes(TABLE)) return this.table();
    if (this.takes(TEXT)) {
      const style = STYLES.find((one) => one !== '0' && this.takes(one)) ?? '0';
      return JSON.stringify(styled(this.value(), style));
    }
    const start = this.at;
    if (source[start] === '"') return this.string();
    if (this.takes('[')) return `[${this.list(']', () => this.value()).join(',')}]`;
    if (this.takes('{'))
      return `{${this.list('}', () => {
        const key = this.string();
        if (!this.takes(':')) throw new Error('no colon');
        return `${key}:${this.value()}`;
      }).join(',')}}`;
    const scalar = /[^,\]}]+/y;
    scalar.lastIndex = start;
    const found = scalar.exec(source)?.[0];
    if (found === undefined) throw new Error(`no value at ${start}`);
    this.at += found.length;
    return found;
  }

  private table(): string {
    const keys = this.list(ROWS, () => this.string());
    const rows = this.list(']', () => {
      if (!this.takes('[')) throw new Error('no row');
      return this.list(']', () => this.value());
    });
    if (!this.takes('}')) throw new Error('the table does not end');
    return `[${rows.map((cells) => `{${keys.map((key, at) => `${key}:${cells[at]}`).join(',')}}`).join(',')}]`;
  }

  /** @param end what follows the list */
  private list<Item>(end: string, read: () => Item): Item[] {
    const found: Item[] = [];
    while (!this.takes(end)) {
      if (found.length > 0 && !this.takes(',')) throw new Error(`no comma at ${this.at}`);
      found.push(read());
    }
    return found;
  }

  private string(): string {
    const end = stringEnd(this.source, this.at);
    if (this.source[this.at] !== '"' || end === undefined) throw new Error(`no string at ${this.at}`);
    const raw = this.source.slice(this.at, end);
    this.at = end;
    return raw;
  }

  private takes(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }
}
