/** Light colors for texts of tools: the kinds of their parts, which together are the text. */

export type ColorKind = 'plain' | 'key' | 'string' | 'value' | 'added' | 'removed' | 'place';

export interface Colored {
  readonly kind: ColorKind;
  readonly text: string;
}

/** In characters. The rest of a longer text stays plain. */
const MOST_COLORED = 20_000;

const JSON_PARTS =
  /("(?:[^"\\\n]|\\.)*")(\s*:)?|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b(?:true|false|null)\b/g;

export function coloredOf(text: string): Colored[] {
  const part = text.slice(0, MOST_COLORED);
  const rest = text.slice(MOST_COLORED);
  const all = isDiff(part) ? diffOf(part) : /^\s*[[{]/.test(part) ? jsonOf(part) : [plain(part)];
  return rest === '' ? all : [...all, plain(rest)];
}

function isDiff(text: string): boolean {
  return /^(?:diff --git |@@ -\d|--- \S[^\n]*\n\+\+\+ )/m.test(text);
}

function diffOf(text: string): Colored[] {
  return text.split(/(?<=\n)/).map((line) => {
    if (/^(?:@@|diff |index |--- |\+\+\+ )/.test(line)) return { kind: 'place', text: line };
    if (line.startsWith('+')) return { kind: 'added', text: line };
    return line.startsWith('-') ? { kind: 'removed', text: line } : plain(line);
  });
}

function jsonOf(text: string): Colored[] {
  const parts: Colored[] = [];
  let last = 0;
  for (const match of text.matchAll(JSON_PARTS)) {
    const [whole, string, colon] = match;
    if (match.index > last) parts.push(plain(text.slice(last, match.index)));
    const kind = string === undefined ? 'value' : colon === undefined ? 'string' : 'key';
    parts.push({ kind, text: whole });
    last = match.index + whole.length;
  }
  if (last < text.length) parts.push(plain(text.slice(last)));
  return parts;
}

function plain(text: string): Colored {
  return { kind: 'plain', text };
}
