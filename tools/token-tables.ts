/**
 * Writes the tables of tokens that the Worker counts with (`npm run prepare`, part of `npm ci`),
 * from the ranks that gpt-tokenizer comes with. `src/memory/tokens/ranks.ts` describes the format.
 */
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as modules from '../src/memory/tokens/tables.ts';

const { resolve } = createRequire(import.meta.url);
const GENERATED = join(import.meta.dirname, '../generated');

const NAMES = ['o200k_base', 'cl100k_base'] as const;
type Name = (typeof NAMES)[number];

const pathOf = (name: Name): string => join(GENERATED, `${name}.bin`);

/** The tables for programs in Node, as the Worker's modules have them. */
export const TABLES: typeof modules.TABLES = {
  o200k_base: () => readTable('o200k_base'),
  cl100k_base: () => readTable('cl100k_base'),
};

async function readTable(name: Name): Promise<{ default: ArrayBuffer }> {
  const { buffer } = new Uint8Array(await readFile(pathOf(name)));
  return { default: buffer };
}

/**
 * Writes the tables that are missing, or older than what makes them. Called by vitest before the
 * first file.
 */
export async function setup(): Promise<void> {
  await mkdir(GENERATED, { recursive: true });
  await Promise.all(NAMES.map(writeTable));
}

async function writeTable(name: Name): Promise<void> {
  const source = resolve(`gpt-tokenizer/data/${name}.tiktoken`);
  if (await isNewer(pathOf(name), [source, import.meta.filename])) return;
  const table = tableOf(await readFile(source, 'latin1'));
  // Renamed when it is whole, since other processes may read it or write it at the same time.
  const draft = `${pathOf(name)}.${process.pid}`;
  await writeFile(draft, table);
  await rename(draft, pathOf(name));
}

/** Whether a file is there, and was written after all of these have changed, or were installed. */
async function isNewer(path: string, sources: readonly string[]): Promise<boolean> {
  const written = await stat(path).catch(() => undefined);
  const changed = await Promise.all(sources.map(async (source) => (await stat(source)).ctimeMs));
  return written !== undefined && changed.every((time) => time < written.ctimeMs);
}

/**
 * @param ranks in the format of tiktoken: a line for each token, with its bytes in base64 and its
 *   rank
 */
function tableOf(ranks: string): Buffer {
  const tokens = ranks
    .trimEnd()
    .split('\n')
    .map((line, index) => {
      const [bytes = '', rank] = line.split(' ');
      if (Number(rank) !== index) throw new Error(`line ${index} has rank ${rank}`);
      return Buffer.from(bytes, 'base64');
    });
  const count = Buffer.alloc(4);
  count.writeUInt32LE(tokens.length);
  const lengths = tokens.map(({ length }) => length);
  if (lengths.some((length) => length > 255)) throw new Error('a token is longer than its length can say');
  return Buffer.concat([count, Buffer.from(lengths), ...tokens]);
}

if (import.meta.main) await setup();
