import { expect, it } from 'vitest';
import { summaryOf } from '../../../bench/summary.ts';
import { validateSummary } from '../../../src/summary/text/validation.ts';
import { counter } from '../../support/laws/view-of.ts';

it("accepts the summary of the benchmarks' summarizer, so that they do not measure its failure", () => {
  const text = summaryOf('The agent has read files and fixed an error.');
  const userTexts = ['In src/shop.ts the price is wrong. Please find out why, and fix it.'];
  const answer = { text, finishReason: 'stop', toolCalls: 0 };

  expect(validateSummary(answer, { maxTokens: 1_000, counter, userTexts })).toEqual({
    ok: true,
    value: text,
  });
});
