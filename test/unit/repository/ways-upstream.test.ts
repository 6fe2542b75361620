/** No way to an upstream is missing in the list of ways that callers' limits guard. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ASK_MODEL, ASK_UPSTREAM, FETCH, FETCH_UPSTREAM } from '../../support/ways-upstream.ts';

const SRC = join(import.meta.dirname, '../../../src');

/** Without the reference, whose examples are text. */
const sources = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('reference'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(SRC, file), 'utf8')] as const),
);

/** The files with such a call, without the one that defines the function. */
function filesWith(call: RegExp): string[] {
  return [...sources].flatMap(([file, text]) => (call.test(text) ? [file] : [])).sort();
}

it.each([
  ['askUpstream', /(?<!function )\baskUpstream\(/, ASK_UPSTREAM],
  ['askModel', /(?<!function )\baskModel(?:<\w+>)?\(/, ASK_MODEL],
  ['fetchUpstream', /(?<!function )\bfetchUpstream\(/, FETCH_UPSTREAM],
  // A method of the name is none, nor is a Durable Object's stub.
  ['fetch', /(?<![.\w])(?:await|return|=>) fetch\(/, FETCH],
] as const)('every call of %s is listed with what guards it', (_, call, listed) => {
  expect(filesWith(call)).toEqual(Object.keys(listed).sort());
});

it('a call that passes no limit says so', () => {
  for (const [file, before] of Object.entries(ASK_MODEL)) {
    const isFree = /askModel\([^)]*'free'/.test(sources.get(file) ?? '');
    expect([file, isFree]).toEqual([file, before !== 'limits']);
  }
});

it('no other package, and no binding, asks a model', () => {
  const importing = filesWith(
    /^import [^;]*? from '(?:openai|@anthropic-ai\/sdk|ai|undici|node:https?)(?:\/[^']*)?'/m,
  );
  // Types, and errors of the one client.
  expect(importing).toEqual(['summary/summarizer.ts', 'upstream/model-client.ts']);
  expect(filesWith(/\bnew OpenAI\(/)).toEqual(['upstream/model-client.ts']);
  expect(filesWith(/\benv\.AI\b|\bnew WebSocket\(|cloudflare:sockets/)).toEqual([]);
});
