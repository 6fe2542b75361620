/** The fenced blocks of the pages, and the regions of files that some of them repeat. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../tools/worker-server.ts';

export interface Snippet {
  readonly page: string;
  /** The page and the line of its fence: `docs/modes.md:12`. */
  readonly place: string;
  /** What follows the opening fence; empty if nothing. */
  readonly language: string;
  readonly code: string;
  /** `examples/openai.ts#call`, where a comment before the fence names the source. */
  readonly source: string | undefined;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Every page with code that a reader may copy. */
export const PAGES: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** All of them, in the order of the pages. */
export const SNIPPETS: readonly Snippet[] = PAGES.flatMap(snippetsOf);

/** Place and snippet of those in a language, as `it.each` takes them. */
export function inLanguage(...languages: string[]): [place: string, snippet: Snippet][] {
  return SNIPPETS.filter(({ language }) => languages.includes(language)).map((each) => [each.place, each]);
}

function snippetsOf(page: string): Snippet[] {
  const text = read(page);
  const fences = /(?:^ *<!-- (\S+#\S+) -->\n\n?)?^( *)```([^\n]*)\n([\s\S]*?)^\2```$/gm;
  return [...text.matchAll(fences)].map((match) => {
    const { 0: whole, 1: source, 2: indent = '', 3: language = '', 4: code = '', index } = match;
    const at = index + whole.indexOf('```');
    return {
      page,
      place: `${page}:${text.slice(0, at).split('\n').length}`,
      language,
      code: dedented(code, indent),
      source,
    };
  });
}

function dedented(code: string, indent: string): string {
  return code.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}

/** How many lines of a page are fences, open or closed. */
export function fencesOf(page: string): number {
  return read(page).match(/^ *```/gm)?.length ?? 0;
}

/**
 * The lines between `#region NAME` and `#endregion`, without their common indentation. A region may
 * have several parts, as imports and what uses them.
 *
 * @param source `path#name`; the name `file` is the whole file
 */
export function regionOf(source: string): string {
  const [path = '', name = ''] = source.split('#');
  const text = read(path);
  if (name === 'file') return text;
  const opening = new RegExp(`^ *(?://|#) #region ${name}\\n([\\s\\S]*?)^ *(?://|#) #endregion$`, 'gm');
  const parts = [...text.matchAll(opening)].map(([, part = '']) => part);
  if (parts.length === 0) throw new Error(`${path} has no region '${name}'`);
  return parts.map(withoutIndent).join('\n');
}

/** Lines without the indentation that all of them have. */
function withoutIndent(text: string): string {
  const indents = [...text.matchAll(/^( *)\S/gm)].map(([, indent = '']) => indent.length);
  return text.replaceAll(new RegExp(`^ {${Math.min(...indents)}}`, 'gm'), '');
}
