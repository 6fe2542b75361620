import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { termsOf } from '../../../../src/memory/models/terms.ts';
import { type ReceiptFacts, receiptHashes, signedText } from '../../../../src/memory/plan/receipt.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { forAll } from '../../../support/laws/runs.ts';

const FACTS: ReceiptFacts = {
  array: [{ role: 'user', content: 'Hi' }],
  sent: [{ role: 'user', content: 'H' }],
  text: { array: '[{"role":"user","content":"Hi"}]' },
  model: 'gpt-4.1',
  tools: [{ type: 'function' }],
  answerTokens: 0,
  strategy: { mode: 'auto', token_budget: 1_000 },
  terms: termsOf(undefined),
  measure: 'o200k_base',
  limit: null,
  rounds: undefined,
  reasoning: undefined,
  report: {
    trigger: 'token_budget',
    frontier: { unit: 3, moved: true },
    tokens: { before: 2_000, budget: 1_000, window: 8_000 },
  },
  view: undefined,
};
const KEPT = { answers: [{ message: 1, tokens: 9, bytes: 40, blocks: 1 }], from: 0, isUnknown: false };
const hashes = (facts: ReceiptFacts) => receiptHashes(facts, sha256Hex);

describe('the hashes of a receipt', () => {
  it.each<[string, Partial<ReceiptFacts>, string[]]>([
    ['array', { array: [] }, ['array']],
    ['view', { sent: [] }, ['view']],
    ['text', { text: { array: '[ {"role":"user","content":"Hi"}]' } }, ['text']],
    ['text of the tools', { text: { ...FACTS.text, tools: '[]' } }, ['text']],
    ['model', { model: 'gpt-4' }, ['request']],
    ['tools', { tools: undefined }, ['request']],
    ['limit of the answer', { answerTokens: 1 }, ['request']],
    ['strategy', { strategy: { mode: 'auto', token_budget: 1_001 } }, ['strategy']],
    [
      'price',
      { terms: { ...termsOf(undefined), prices: { ...termsOf(undefined).prices, cached: 0.25 } } },
      ['prices'],
    ],
    ['measure', { measure: 'cl100k_base' }, ['prices']],
    ['limit', { limit: { tokens: 5, with_answer: true } }, ['prices']],
    ['frontier', { report: { ...FACTS.report, frontier: { unit: 4, moved: true } } }, ['plan']],
    ['trigger', { report: { ...FACTS.report, trigger: 'turns' } }, ['plan']],
    ['words', { report: { ...FACTS.report, summary: { text: 'a' } } }, ['words']],
    ['kept reasoning', { reasoning: KEPT }, ['reasoning']],
  ])('tell of another %s, and of nothing else', (_, change, differ) => {
    const [before, after] = [hashes(FACTS), hashes({ ...FACTS, ...change })];
    const names = Object.keys({ ...before, ...after }) as (keyof typeof before)[];
    expect(names.filter((name) => before[name] !== after[name])).toEqual(differ);
  });

  it('are the same strategy’s, in whatever order it is written', () => {
    const strategy = { token_budget: 1_000, mode: 'auto' };
    expect(hashes({ ...FACTS, strategy })).toEqual(hashes(FACTS));
  });
});

describe('the text that is signed', () => {
  const receipt = {
    version: 1 as const,
    precis: '1.0.0',
    issued_at: 1,
    protocol: 'chat' as const,
    observed: false,
    strategy: { mode: 'auto' },
    limit: null,
    hashes: hashes(FACTS),
  };

  it('does not depend on the order of members, nor on the signature', () => {
    const turned = Object.fromEntries(Object.entries(receipt).toReversed()) as typeof receipt;
    expect(signedText({ ...turned, signature: 'x' })).toBe(signedText(receipt));
  });

  it('is another one for any other value', () => {
    forAll(
      fc.constantFrom(...(Object.keys(receipt) as (keyof typeof receipt)[])),
      fc.json(),
      (name, json) => {
        const value = JSON.parse(json);
        fc.pre(JSON.stringify(value) !== JSON.stringify(receipt[name]));
        expect(signedText({ ...receipt, [name]: value })).not.toBe(signedText(receipt));
      },
    );
  });
});
