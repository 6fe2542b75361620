import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageTail } from '../../../src/protocol/answers/usage-tail.ts';

const read = (text: string, chunkSize = text.length) => {
  const bytes = new TextEncoder().encode(text);
  const tail = new UsageTail();
  for (let at = 0; at < bytes.length; at += chunkSize) tail.push(bytes.slice(at, at + chunkSize));
  return tail.read();
};

const CHAT = {
  usage: { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 64 } },
};
const RESPONSES = {
  usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 64 }, output_tokens: 7 },
};
const COUNTED = { cached: 64, fresh: 36, output: 7 };

describe('the usage of an answer, as its upstream says it', () => {
  const usageOf = (usage: object) => {
    const tail = new UsageTail();
    tail.push(new TextEncoder().encode(JSON.stringify({ usage })));
    return tail.usage();
  };

  it('has what it says, and null for the rest', () => {
    const details = { cached_tokens: 64, cache_write_tokens: 8 };
    expect(usageOf({ prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: details })).toEqual({
      input: 100,
      cached: 64,
      cache_writes: 8,
      output: 7,
    });
    const silent = { cached: null, cache_writes: null, output: null };
    expect(usageOf({ input_tokens: 100 })).toEqual({ input: 100, ...silent });
    expect(usageOf({})).toBeUndefined();
  });

  it('counts reasoning as output where only the total has it', () => {
    const reasoning = { completion_tokens_details: { reasoning_tokens: 94 } };
    const xai = { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135, ...reasoning };
    expect(usageOf(xai)).toMatchObject({ input: 32, output: 103 });
    const openai = { prompt_tokens: 32, completion_tokens: 103, total_tokens: 135, ...reasoning };
    expect(usageOf(openai)).toMatchObject({ input: 32, output: 103 });
    expect(usageOf({ prompt_tokens: 32, completion_tokens: 9, total_tokens: 0 })).toMatchObject({
      output: 9,
    });
    expect(usageOf({ prompt_tokens: 32, total_tokens: 135 })).toMatchObject({ output: null });
  });
});

describe('the usage at the end of an answer', () => {
  it.each([CHAT, RESPONSES])('is read from a body and from a stream', (usage) => {
    const content = 'He said: {"prompt_tokens":5,"input_tokens":5,"cached_tokens":5}';
    const answer = { content, ...usage, metadata: { note: 'x'.repeat(9_000) } };
    expect(read(JSON.stringify(answer))).toEqual(COUNTED);
    expect(read(JSON.stringify(answer, null, 2))).toEqual(COUNTED);
    const stream = `data: {"content":"${'y'.repeat(90_000)}"}\n\ndata: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`;
    for (const size of [1, 7, 4_096, 100_000]) expect(read(stream, size)).toEqual(COUNTED);
  });

  it.each([
    ['none', '{"choices":[]}'],
    ['null', '{"usage":null}'],
    ['only in a content', JSON.stringify({ content: JSON.stringify(CHAT) })],
    ['no number', '{"usage":{"prompt_tokens":"100"}}'],
    ['too long a number', '{"usage":{"prompt_tokens":1000000000000000}}'],
    ['nothing', ''],
  ])('is undefined where it is %s', (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('says what the upstream says, and null where it says nothing', () => {
    const usageIn = (answer: object) => {
      const tail = new UsageTail();
      tail.push(new TextEncoder().encode(JSON.stringify(answer)));
      return [tail.usage(), tail.tier()];
    };
    expect(usageIn({ ...CHAT, service_tier: 'flex' })).toEqual([
      { input: 100, cached: 64, cache_writes: null, output: 7 },
      'flex',
    ]);
    const details = { cached_tokens: 0, cache_write_tokens: 90 };
    const usage = { input_tokens: 100, input_tokens_details: details };
    expect(usageIn({ service_tier: 'auto', usage })).toEqual([
      { input: 100, cached: 0, cache_writes: 90, output: null },
      'auto',
    ]);
    expect(usageIn({ content: '{"service_tier":"flex"}' })).toEqual([undefined, undefined]);
  });

  it('has no more cached than input, whatever the upstream says', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (input, cached, output) => {
        const counted = read(
          JSON.stringify({ input_tokens: input, cached_tokens: cached, output_tokens: output }),
        );
        expect(counted).toMatchObject({ output, cached: Math.min(cached, input) });
        expect((counted?.cached ?? 0) + (counted?.fresh ?? 0)).toBe(input);
      }),
    );
  });
});
