/** Nothing that people read has a turn of CONTRIBUTING.md's word list. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import {
  bareNumbersIn,
  commentsOfCode,
  proseOfPage,
  stringsOfCode,
  TURNS,
  titlesOfTests,
  turnsIn,
} from '../../support/documents/words.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

function below(folder: string, ending: RegExp): string[] {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => ending.test(path)).map((path) => join(folder, path));
}

/** Texts that a model reads, whose words change what is cached and counted. */
const FOR_MODELS = /^src\/(?:retrieval|summary)\/|^src\/protocol\/messages\/compaction\.ts$/;

/** This file, whose examples have turns. */
const OWN = 'test/unit/repository/words.test.ts';

interface Texts {
  readonly paths: readonly string[];
  /** What people read of a file. */
  prose(path: string): string;
}

/** Whatever people read. A further kind of file, or of text in a file, is a row. */
const READ: Readonly<Record<string, Texts>> = {
  'the pages': {
    paths: ['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'docs/llms.txt', ...below('docs', /\.md$/)],
    prose: (path) => proseOfPage(read(path)),
  },
  'other documents': {
    paths: ['src/storage/storage-schema.md', 'test/support/README.md', 'examples/README.md'],
    prose: (path) => proseOfPage(read(path)),
  },
  'CONTRIBUTING.md around its word list': {
    paths: ['CONTRIBUTING.md'],
    prose: (path) => proseOfPage(read(path).replace(/(?<=\n## Words\n)[\s\S]*?(?=\n## )/, '')),
  },
  'the newest section of CHANGELOG.md': {
    paths: ['CHANGELOG.md'],
    prose: (path) => proseOfPage(read(path).split('\n## ').slice(0, 2).join('\n')),
  },
  'the strings of code': {
    paths: ['src', 'inspector', 'bin', 'demo']
      .flatMap((folder) => below(folder, /\.(?:ts|tsx|js)$/))
      .filter((path) => !FOR_MODELS.test(path)),
    prose: (path) => stringsOfCode(read(path), path),
  },
  'the comments of code': {
    paths: ['src', 'inspector', 'bin', 'demo', 'tools', 'bench', 'examples', 'test']
      .flatMap((folder) => below(folder, /\.(?:ts|tsx|js)$/))
      .filter((path) => path !== OWN),
    prose: (path) => commentsOfCode(read(path)),
  },
  'the titles of tests': {
    paths: below('test', /\.test\.tsx?$/).filter((path) => path !== OWN),
    prose: (path) => titlesOfTests(read(path)),
  },
};

describe.each(Object.entries(READ))('%s', (_, { paths, prose }) => {
  const texts = paths.map((path) => ({ path, text: prose(path) }));

  it('have no turn of the word list', () => {
    expect(texts.some(({ text }) => text.length > 100)).toBe(true);
    expect(texts.flatMap(({ path, text }) => turnsIn(path, text))).toEqual([]);
  });

  it('group the digits of long numbers with commas', () => {
    expect(texts.flatMap(({ path, text }) => bareNumbersIn(path, text))).toEqual([]);
  });
});

describe('the word list', () => {
  const found = (text: string): string[] => turnsIn('a.md', proseOfPage(text)).map(({ words }) => words);

  it('is found in prose, over the end of a line and with other endings', () => {
    expect(TURNS.length).toBeGreaterThan(10);
    for (const text of [
      'A mark of\nours.',
      'It STANDS alone.',
      'They summarised it.',
      'See [those of it](a.md).',
    ])
      expect(found(text), text).toHaveLength(1);
  });

  it('is not looked for in code, addresses and parts of words', () => {
    for (const text of ['`told`', '```sh\ntold\n```', '[a](behind.md)', 'Understands its stand-in.'])
      expect(found(text), text).toEqual([]);
  });

  it('is looked for in strings of several words, and not in names, codes and comments', () => {
    const code = "// told\nconst told = 'told';\nconst error = 'was told';\n";
    expect(turnsIn('a.ts', stringsOfCode(code, 'a.ts'))).toHaveLength(1);
  });

  it('is looked for in comments, but in no name, string or code', () => {
    const block = '/**\n * A mark of\n * ours.\n *     told\n * @param told `told`\n */\n';
    const code =
      "function told(told = '/told/*') {\n  // Is told\n  // why.\n  told(); // It\n  // stands.\n}\n";
    const found = turnsIn('a.ts', commentsOfCode(block + code));
    expect(found.map(({ at }) => at)).toEqual(['a.ts:2', 'a.ts:8', 'a.ts:11']);
  });

  it('is looked for in titles of tests, but not in their values', () => {
    const code =
      "it('goes up', () => {});\nit.each(a)('is told %s', async (x) => told('told'));\nit('has $ours', () => {});\n";
    const found = turnsIn('a.test.ts', titlesOfTests(code));
    expect(found.map(({ at }) => at).toSorted()).toEqual(['a.test.ts:1', 'a.test.ts:2']);
  });

  it('has numbers as 1,234', () => {
    const found = bareNumbersIn(
      'a.md',
      proseOfPage('20 000 of 25000, 1,000 and 2026 in `10000` bytes of 2026-11-28'),
    );
    expect(found).toEqual(['a.md: 20 000', 'a.md: 25000']);
  });
});
