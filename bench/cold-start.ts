/**
 * Measures one operation in a fresh process, for `bench/plan.ts`. Reads the body from stdin, and
 * prints times in milliseconds as JSON.
 */
import { buffer } from 'node:stream/consumers';
import { loadTokenize, type Tokenize } from '../src/memory/tokens/tokens.ts';
import { createIsolate, strategyOf, viewBytes } from './pipeline.ts';
import { NONE, STRATEGIES } from './strategies.ts';

export type ColdCase = 'json' | 'none' | 'compact';

export interface ColdTimes {
  /** Loading the tokenizer's tables and counting one word; absent if no tokenizer is needed. */
  readonly tokenizer?: number;
  /** The operation itself. */
  readonly first: number;
}

async function measure(name: ColdCase, body: Uint8Array): Promise<ColdTimes> {
  if (name === 'json') {
    const text = new TextDecoder().decode(body);
    const start = performance.now();
    JSON.stringify(JSON.parse(text));
    return { first: performance.now() - start };
  }
  if (name === 'none') {
    const strategy = strategyOf(NONE);
    const start = performance.now();
    viewBytes(body, strategy, undefined);
    return { first: performance.now() - start };
  }
  const strategy = strategyOf(STRATEGIES['compact, 32k']);
  const loading = performance.now();
  const tokenize: Tokenize = await loadTokenize('o200k_base');
  tokenize('word');
  const start = performance.now();
  viewBytes(body, strategy, createIsolate(tokenize));
  return { tokenizer: start - loading, first: performance.now() - start };
}

const body = await buffer(process.stdin);
console.log(JSON.stringify(await measure(process.argv[2] as ColdCase, body)));
