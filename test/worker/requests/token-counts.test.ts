import * as cl100k from 'gpt-tokenizer/encoding/cl100k_base';
import * as o200k from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { lines } from '../../support/conversations/chat.ts';

const TEXTS = {
  'a log': lines(200),
  JSON: JSON.stringify({
    rows: Array.from({ length: 100 }, (_, at) => ({ id: `row-${at}`, value: at / 7 })),
  }),
  'several scripts': "Don't stop — съешь ещё этих булок, 漢字仮名交じり文。 ¿Qué? 👩‍👧 \ud800",
  'the spelling of a special token': 'an <|endoftext|> in the text',
};

describe.each([
  ['o200k_base', o200k],
  ['cl100k_base', cl100k],
] as const)('in the Worker, %s', (name, library) => {
  it.each(Object.entries(TEXTS))('counts %s as gpt-tokenizer does', async (_, text) => {
    const tokenize = await loadTokenize(name);

    expect(tokenize(text)).toBe(library.countTokens(text, { disallowedSpecial: new Set() }));
  });
});
