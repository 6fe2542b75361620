/** Checks for every run of a command-line client that reads a book through Precis. */
import { expect } from 'vitest';
import { chapter, hasTools, reading, textOf } from '../support/clients/reading-model.ts';
import type { Deployment } from '../support/deployment/deployment.ts';
import type { Ended } from './command-line.ts';

type Json = Record<string, unknown>;

/**
 * How a user chooses a strategy without changing a client: a base URL, or headers if the client's
 * configuration supports them.
 */
export interface Naming {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly chapters: number;
}

/** Chapters have about 3,300 tokens each; instructions and tools take up to 12,000. */
export const BY_HEADER: Naming = {
  path: '/v1',
  headers: {
    'x-memory-strategy': JSON.stringify({ mode: 'auto', token_budget: 26_000, min_reclaim_tokens: 0 }),
  },
  chapters: 10,
};

export const NAMINGS: readonly (readonly [name: string, naming: Naming])[] = [
  ['the agent of its base URL', { path: '/agents/coding/v1', headers: {}, chapters: 36 }],
  ['a header', BY_HEADER],
];

/** One step per chapter. */
export const stepsOf = (chapters: number): number[][] =>
  Array.from({ length: chapters }, (_, at) => [at + 1]);

const outputsOf = ({ input, messages }: Json): string[] =>
  ((input ?? messages) as Json[])
    .filter(({ type, role }) => role === 'tool' || /^(function|custom_tool)_call_output$/.test(String(type)))
    .map(({ output, content }) => textOf(output ?? content));

export interface Read {
  readonly ended: Ended;
  /** The answer that the client shows. */
  readonly said: string;
  readonly book: string;
  readonly chapters: number;
  /** Whether the model has looked up the first removed chapter. */
  readonly lookedUp?: boolean;
}

const wordsIn = (said: string): string[] => said.split(/[ ,.]+/).toSorted();

/**
 * Expects that the client ended with the right answer, contacted only Precis, and was answered at
 * every step; and that old outputs were sent as placeholders and can be fetched.
 */
export async function expectRead(
  { ended, said, book, chapters, lookedUp = false }: Read,
  deployment: Deployment,
): Promise<void> {
  expect(ended.code, ended.stderr).toBe(0);
  const read = stepsOf(chapters).flat();
  expect(wordsIn(said), ended.stderr).toEqual(wordsIn(reading(book, ...read, ...(lookedUp ? [1] : []))));
  expect(ended.asked).toEqual([]);

  const asked = deployment.upstream.requests.filter(
    ({ path, body }) => /\/(responses|chat\/completions)$/.test(path) && hasTools(body),
  );
  // A refused request would have been repeated.
  expect(asked).toHaveLength(chapters + 1 + (lookedUp ? 1 : 0));
  const last = asked.at(-1);
  if (!last) throw new Error('nothing was asked');
  const removed = outputsOf(last.body).filter((output) => output.startsWith('⟦removed: tool output for '));
  expect(removed.length).toBeGreaterThan(1);
  expect(last.rawBody.length).toBeLessThan(asked.length * chapter(book, 1).length);
  for (const [at, output] of removed.entries()) {
    const response = await deployment.fetch(`/v1/refs/${/ref=(ref_\w+)/.exec(output)?.[1]}`);
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining(`The word of chapter ${at + 1} is `),
    ]);
  }
}
