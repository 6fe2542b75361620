/** `precis replay`: which conversations a log holds, and what is said of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Recorded, readRecorded } from '../../../inspector/read/recorded.ts';
import { longestArrays } from '../../../tools/replay/conversations.ts';
import { type Replayed, wordsOf } from '../../../tools/replay/words.ts';
import { forAll } from '../../support/laws/runs.ts';

const say = (text: string) => ({ role: 'user', content: text });

function recorded(name: string, texts: readonly string[], model = 'gpt-6-sol'): Recorded {
  return { name, field: 'messages', messages: texts.map(say), model, tools: undefined, strategy: undefined };
}

describe('the conversations of a log', () => {
  it('are the arrays that no later request continues', () => {
    const log = [
      recorded('first', ['a']),
      recorded('other', ['x']),
      recorded('second', ['a', 'b']),
      recorded('fork', ['a', 'c']),
      recorded('third', ['a', 'b', 'd']),
      recorded('again', ['a', 'b', 'd']),
      recorded('another model', ['a'], 'gpt-6-luna'),
    ];

    expect(longestArrays(log).map(({ name }) => name)).toEqual(['other', 'fork', 'third', 'another model']);
  });

  it('are found though clients move their cache marks', () => {
    const marked = (texts: readonly string[]): Recorded => {
      const log = recorded(texts.join(), texts);
      const messages = texts.map((text, at) => ({
        role: 'user',
        content: [
          { type: 'text', text, ...(at === texts.length - 1 && { cache_control: { type: 'ephemeral' } }) },
        ],
      }));
      return { ...log, messages };
    };

    expect(longestArrays([marked(['a']), marked(['a', 'b']), marked(['a', 'b', 'c'])])).toHaveLength(1);
  });

  it('have every array of the log as a beginning, and none of each other', () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 5 });
    const begins = (one: Recorded, other: Recorded): boolean =>
      one.messages.every((message, at) => JSON.stringify(message) === JSON.stringify(other.messages[at]));
    forAll(fc.array(texts, { maxLength: 12 }), (arrays) => {
      const log = arrays.map((array, at) => recorded(`${at}`, array));
      const kept = longestArrays(log);
      for (const one of log) expect(kept.some((whole) => begins(one, whole))).toBe(true);
      for (const one of kept) expect(kept.filter((whole) => begins(one, whole))).toEqual([one]);
    });
  });
});

describe('an export', () => {
  const messages = [say('hi'), { role: 'assistant', content: 'hello' }];
  const tools = [{ type: 'function', function: { name: 'read' } }];

  it.each([
    ['a batch of OpenAI', { custom_id: 'a', method: 'POST', body: { model: 'm', messages, tools } }],
    ['LiteLLM, payload', { id: 'a', model: 'm', messages, tools, response: { choices: [] } }],
    [
      'LiteLLM, spend log',
      { id: 'a', model: 'm', messages: '{}', proxy_server_request: JSON.stringify({ messages, tools }) },
    ],
    ['Langfuse, messages', { id: 'a', type: 'GENERATION', model: 'm', tools, input: messages, output: {} }],
    ['Langfuse, body in text', { id: 'a', model: 'm', input: JSON.stringify({ messages, tools }) }],
    ['Langfuse, trace', { id: 'a', input: 'hi', observations: [{ model: 'm', input: { messages, tools } }] }],
    ['OpenRouter', { data: { model: 'm', input: { messages, tools } } }],
  ])('of %s is read', (_, entry) => {
    for (const text of [
      JSON.stringify([entry, entry]),
      `${JSON.stringify(entry)}\n${JSON.stringify(entry)}\n`,
    ]) {
      const reading = readRecorded(text);
      expect(reading).toMatchObject({ ok: true, found: [{ messages, tools, model: 'm' }, { messages }] });
    }
  });

  it('has no limit but the one that is given', () => {
    const line = JSON.stringify({ messages });
    const found = (most?: number): number => {
      const reading = readRecorded(`${line}\n`.repeat(700), most);
      return reading.ok ? reading.found.length : 0;
    };

    expect([found(), found(Number.POSITIVE_INFINITY)]).toEqual([500, 700]);
  });
});

describe('the words', () => {
  const one = (name: string, without: number | undefined, price: number | undefined): Replayed => ({
    name,
    model: 'm',
    requests: 2,
    came: 2_000,
    sent: 1_000,
    moves: 1,
    without,
    price,
    largest: 1_200,
    isShortened: true,
  });

  it('begin with the answer', () => {
    const words = wordsOf([one('a', 400, 100), one('b', 12, 12.3)], 'auto');

    expect(words.split('\n')[0]).toBe(
      'Of $412 for 4 requests in 2 conversations, auto would have saved $300 (73 %). 1 would have cost more, by at most 2.5 %.',
    );
    expect(words).toMatch(/^a +2 +\$400 +\$100 +−75 %$/m);
    expect(words).toMatch(/^b +2 +\$12.00 +\$12.30 +\+2.5 %$/m);
    expect(wordsOf([one('a', 4, 2)], 'auto')).toContain('saved $2.00 (50 %). None would have cost more.');
    expect(wordsOf([one('a', 2, 3)], 'auto')).toContain('would have cost you $1.00 (50 %).');
  });

  it('say why nothing is saved where nothing would have been removed, and what that costs', () => {
    const unedited = (without: number | undefined, price: number | undefined): Replayed => {
      return { ...one('a', without, price), isShortened: false };
    };

    const below = wordsOf([unedited(4, 4.1), unedited(2, 1.9)], 'auto', { budget: 1_500 });
    expect(below.split('\n\n')[0]).toBe(
      'Nothing would have been removed by auto: the largest of 4 requests in 2 conversations has 1,200 tokens.',
    );
    expect(below).toMatch(/^a +2 +\$4.00 +\$4.10 +\+2.5 %$/m);
    expect(below).toMatch(/^a +2 +\$2.00 +\$1.90 +nothing removed$/m);
    const over = wordsOf([unedited(4, 4.4)], 'auto', { budget: 1_000 });
    expect(over.split('\n\n')[0]).toBe(
      'Nothing would have been removed by auto: the largest of 2 requests in 1 conversation has 1,200 tokens, and no edit would have freed enough for the cached prefix that it breaks. The tools that Precis adds would have cost $0.40 (10 %).',
    );
    expect(wordsOf([unedited(undefined, undefined)], 'auto')).not.toContain('--model');
  });

  it('name what has no price, what was left out, and what is not listed', () => {
    const many = Array.from({ length: 12 }, (_, at) => one(`c${at}`, undefined, undefined));
    const words = wordsOf(many, 'auto', { skipped: ['bad (why)'] });

    expect(words).toContain('Without a known price (m): of 24,000 input tokens of 24 requests');
    expect(words).toContain('Left out: bad (why).');
    expect(words).toContain('2 more with --all');
    expect(wordsOf(many, 'auto', { all: true })).not.toContain('more with');
  });
});
