import { describe, expect, it } from 'vitest';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { COUNTED_TEXTS } from '../../support/conversations/counted-texts.ts';

describe.each(['o200k_base', 'cl100k_base'] as const)('in the Worker, %s', (encoding) => {
  it.each(COUNTED_TEXTS)('counts $name as gpt-tokenizer does', async (counted) => {
    const tokenize = await loadTokenize(encoding);

    expect(tokenize(counted.text)).toBe(counted[encoding]);
  });
});
