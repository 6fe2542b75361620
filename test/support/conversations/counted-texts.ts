/**
 * Texts, and how many tokens they have. A unit test compares the numbers with gpt-tokenizer, whose
 * tables take seconds to load in the Worker's tests.
 */
import { lines } from './chat.ts';

const rows = Array.from({ length: 100 }, (_, at) => ({ id: `row-${at}`, value: at / 7 }));
const scripts = "Don't stop — съешь ещё этих булок, 漢字仮名交じり文。 ¿Qué? 👩‍👧 \ud800";

export const COUNTED_TEXTS = [
  { name: 'a log', text: lines(200), o200k_base: 1_871, cl100k_base: 1_871 },
  { name: 'JSON', text: JSON.stringify({ rows }), o200k_base: 1_535, cl100k_base: 1_534 },
  { name: 'several scripts', text: scripts, o200k_base: 30, cl100k_base: 42 },
  {
    name: 'the spelling of a special token',
    text: 'an <|endoftext|> in the text',
    o200k_base: 11,
    cl100k_base: 10,
  },
];
