/**
 * The turns of CONTRIBUTING.md's word list, and the prose of files in which they are looked for:
 * pages, the strings and comments of code, and the titles of tests.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { ROOT } from '../../../tools/worker-server.ts';

/** A turn that is not used, as a pattern, and what is written instead. */
export interface Turn {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** A place in which a turn was found. */
export interface Found {
  readonly at: string;
  readonly words: string;
  readonly instead: string;
}

/** The rows of the word list: turns with commas between them, `*` for any ending. */
export const TURNS: readonly Turn[] = turnsOf(readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8'));

function turnsOf(page: string): Turn[] {
  const [, list = ''] = page.split('\n## Words\n');
  const [section = ''] = list.split('\n## ');
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) => {
    const [, turns = '', instead = ''] = row.split('|').map((cell) => cell.trim());
    const written = turns.split(', ').map((turn) => turn.replaceAll('*', '\\w*').replaceAll(' ', '\\s+'));
    return { pattern: new RegExp(`(?<![\\w-])(?:${written.join('|')})(?![\\w-])`, 'gi'), instead };
  });
}

/** Digits of five and more without a comma, or with a space instead. */
const BARE_NUMBER = /(?<![\w.,#/:-])(?:\d{5,}|[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+)(?![\w#/:-]|[.,]\d)/g;

/** What a page says, without code, addresses and comments; its lines keep their numbers. */
export function proseOfPage(text: string): string {
  const kept = (match: string): string => match.replaceAll(/[^\n]+/g, ' ');
  return text
    .replaceAll(/^( *)```[\s\S]*?^ *```$/gm, kept)
    .replaceAll(/<!--[\s\S]*?-->/g, kept)
    .replaceAll(/`[^`]+`/g, kept)
    .replaceAll(/\]\([^)]*\)/g, kept)
    .replaceAll(/^\[[\w-]+\]:\s+\S+$/gm, kept);
}

/** Its words are names of tables, columns and states. */
const SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE) \w/;

/** The strings of several words in a file of code, its templates and the texts of its JSX. */
export function stringsOfCode(code: string, path: string): string {
  const loader = path.endsWith('.tsx') ? 'tsx' : 'ts';
  const { code: plain } = transformSync(code, { loader, jsx: 'automatic', legalComments: 'none' });
  const strings = plain.matchAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g);
  return [...strings]
    .map(([string]) => string.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll('\\n', ' '))
    .filter((string) => /\w\s+\w/.test(string) && !SQL.test(string))
    .join('\n');
}

/** What names a function that follows: the title of a test, or of what it waits for. */
const TITLE = /\(\s*(['"`])((?:\\.|(?!\1).)+)\1,\s*(?:\{[^{}]*\},\s*)?(?:async\s*)?(?:\(|\w+ =>)/g;

/** The titles in a file of tests, without code and values; lines keep their numbers. */
export function titlesOfTests(code: string): string {
  let end = 0;
  const parts: string[] = [];
  for (const { 0: call, 2: title = '', index } of code.matchAll(TITLE)) {
    parts.push(code.slice(end, index).replaceAll(/[^\n]+/g, ' '), call.match(/^\(\s*/)?.[0] ?? '');
    parts.push(title.replaceAll(/`[^`]*`|\$\{[^}]*\}|\$\w+/g, '…'));
    end = index + call.indexOf(title) + title.length;
  }
  return parts.join('');
}

/** A block, or lines one after another. In code, both come after a space. */
const COMMENT = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/ .*(?:\n\s*\/\/ .*)*)/gm;

/** The gutter of a comment, and code: indented lines, and the name of a parameter. */
const NOT_SAID = /^\s*(?:\/\*+|\* {5}.*|\*(?!\/)|\/\/)|\*\/$|(?<=@param )[\w.]+/gm;

/** What the comments in a file of code say, without names; lines keep their numbers. */
export function commentsOfCode(code: string): string {
  let end = 0;
  const parts: string[] = [];
  for (const { 0: comment, index } of code.matchAll(COMMENT)) {
    parts.push(code.slice(end, index).replaceAll(/[^\n]+/g, ' '));
    parts.push(proseOfPage(comment.replaceAll(NOT_SAID, ' ')));
    end = index + comment.length;
  }
  return parts.join('');
}

/** The turns in a file's prose. */
export function turnsIn(path: string, prose: string): Found[] {
  return TURNS.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(({ 0: words, index }) => ({
      at: `${path}:${prose.slice(0, index).split('\n').length}`,
      words: prose.slice(Math.max(0, index - 30), index + words.length + 20).replaceAll(/\s+/g, ' '),
      instead,
    })),
  );
}

/** The long numbers without commas in a file's prose. */
export function bareNumbersIn(path: string, prose: string): string[] {
  return [...prose.matchAll(BARE_NUMBER)].map(([number]) => `${path}: ${number}`);
}
