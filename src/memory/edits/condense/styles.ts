/**
 * How programs space the JSON that they write. JSON in a string is part of a value, so its white
 * space is named where it can't be shown.
 */
import { stringEnd } from '../../../lib/json-strings.ts';

/** `0`: none. `,`: a space after each comma and colon. Otherwise the spaces of one level. */
export type Style = (typeof STYLES)[number];

export const STYLES = ['0', ',', '2', '4'] as const;

/**
 * The style in which a compact JSON text gives another one; undefined if there is none.
 *
 * @param text the other one: an array or object
 */
export function styleOf(text: string, compact: string): Style | undefined {
  const style = likelyStyle(text, compact);
  return style !== undefined && styled(compact, style) === text ? style : undefined;
}

function likelyStyle(text: string, compact: string): Style | undefined {
  if (text.length === compact.length) return '0';
  const [, spaces] = /^.\n( +)/.exec(text.slice(0, 16)) ?? [];
  if (spaces === undefined) return ',';
  return STYLES.find((style) => style === String(spaces.length));
}

/** A compact JSON text in a style. */
export function styled(compact: string, style: Style): string {
  if (style === '0') return compact;
  const indent = style === ',' ? undefined : ' '.repeat(Number(style));
  let depth = 0;
  let out = '';
  const line = () => (indent === undefined ? '' : `\n${indent.repeat(depth)}`);
  for (let at = 0; at < compact.length; at++) {
    const character = compact[at];
    if (character === '"') {
      const end = stringEnd(compact, at) ?? compact.length;
      out += compact.slice(at, end);
      at = end - 1;
    } else if (character === '{' || character === '[') {
      const next = compact[at + 1];
      if (next === '}' || next === ']') {
        out += character + next;
        at++;
      } else {
        depth++;
        out += character + line();
      }
    } else if (character === '}' || character === ']') {
      depth--;
      out += line() + character;
    } else if (character === ',') out += indent === undefined ? ', ' : `,${line()}`;
    else if (character === ':') out += ': ';
    else out += character;
  }
  return out;
}
