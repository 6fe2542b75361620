import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageTail } from '../../../src/protocol/answers/usage-tail.ts';
import { messageEvents, messageOf } from '../../../tools/upstream/message.ts';
import { forAll } from '../../support/laws/runs.ts';

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

  describe('of which a response repeats its request', () => {
    const forged = { usage: { input_tokens: 1, output_tokens: 0, cache_read_input_tokens: 0 } };
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', default: forged } }];
    const response = (usage: object | null) => ({
      tools,
      usage,
      user: null,
      text: { format: { schema: forged } },
    });
    const event = (type: string, usage: object | null) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, response: response(usage) })}\n\n`;
    const begun = event('response.created', null);
    const delta = 'data: {"type":"response.output_text.delta","delta":"word"}\n\n'.repeat(9);

    it.each([
      ['once it has begun', begun],
      ['while it goes on', begun + delta],
      ['in the middle of an event', begun.slice(0, begun.indexOf('0}}}'))],
      ['after a word of the forged usage', begun.slice(0, begun.indexOf('0}}}') + 2)],
      ['with a long request', event('response.created', null).replace('null', `"${'x'.repeat(90_000)}"`)],
      [
        'with many tools',
        begun.replace('"tools":[', `"tools":[${`${JSON.stringify(tools[0])},`.repeat(999)}`),
      ],
    ])('is undefined %s', (_, text) => {
      const tail = new UsageTail();
      tail.push(new TextEncoder().encode(text));

      expect([tail.usage(), tail.isOver()]).toEqual([undefined, false]);
    });

    it('is its own at its end', () => {
      expect(read(begun + delta + event('response.completed', RESPONSES.usage))).toEqual(COUNTED);
      expect(read(JSON.stringify(response(RESPONSES.usage)))).toEqual(COUNTED);
      expect(read(JSON.stringify(response(RESPONSES.usage), null, 2))).toEqual(COUNTED);
    });
  });

  it('is read after a byte order mark, and in a last line without a line end', () => {
    const streams = [CHAT, { type: 'response.completed', response: RESPONSES }].map(
      (event) => `data: {"delta":"word"}\n\ndata: ${JSON.stringify(event)}`,
    );
    for (const text of [`\uFEFF${JSON.stringify(CHAT)}`, ...streams]) {
      for (const size of [1, 7, 4_096]) expect(read(text, size)).toEqual(COUNTED);
    }
    for (const text of streams) expect(read(text.slice(0, -1))).toBeUndefined();
  });

  it('has the tier of the answer, and of nothing that it repeats of its request', () => {
    const forged = { service_tier: 'forged' };
    const response = { service_tier: 'default', metadata: forged, tools: [{ parameters: forged }] };
    const tierOf = (text: string) => {
      const tail = new UsageTail();
      tail.push(new TextEncoder().encode(text));
      return tail.tier();
    };
    for (const usage of [RESPONSES.usage, null]) {
      const whole = { ...response, usage, user: null };
      expect(tierOf(JSON.stringify(whole))).toBe('default');
      expect(tierOf(JSON.stringify(whole, null, 2))).toBe('default');
      expect(tierOf(`data: ${JSON.stringify({ response: whole })}\n\n`)).toBe('default');
      const last = `data: ${JSON.stringify({ response: { ...whole, service_tier: 'flex' } })}\n\n`;
      expect(tierOf(`data: ${JSON.stringify({ response: whole })}\n\n${last}`)).toBe('flex');
    }
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
    forAll(fc.nat(), fc.nat(), fc.nat(), (input, cached, output) => {
      const counted = read(
        JSON.stringify({ usage: { input_tokens: input, cached_tokens: cached, output_tokens: output } }),
      );
      expect(counted).toMatchObject({ output, cached: Math.min(cached, input) });
      expect((counted?.cached ?? 0) + (counted?.fresh ?? 0)).toBe(input);
    });
  });
});

describe('the usage of an answer of Messages', () => {
  const request = { model: 'claude-sonnet-5-5' };
  const usage = {
    input_tokens: 30,
    cache_creation_input_tokens: 500,
    cache_read_input_tokens: 4_000,
    cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 300 },
    output_tokens: 77,
    service_tier: 'standard',
  };
  const counted = { input: 4_530, cached: 4_000, cache_writes: 500, output: 77 };

  const readTail = (text: string, size = 4_096) => {
    const bytes = new TextEncoder().encode(text);
    const tail = new UsageTail();
    for (let at = 0; at < bytes.length; at += size) tail.push(bytes.slice(at, at + size));
    return {
      usage: tail.usage(),
      hour: tail.hourWrites(),
      tier: tail.tier(),
      isOver: tail.isOver(),
      read: tail.read(),
    };
  };
  const all = {
    usage: counted,
    hour: 300,
    tier: 'standard',
    read: { cached: 4_000, fresh: 530, output: 77 },
  };

  it.each([0, 100_000])('is the sum of its three members of input, after %d bytes of text', (length) => {
    const answer = { content: 'y'.repeat(length), usage };
    expect(readTail(JSON.stringify(messageOf(request, answer)))).toMatchObject(all);
    expect(readTail(JSON.stringify(messageOf(request, answer), null, 2))).toMatchObject(all);
    const stream = [...messageEvents(request, answer)].join('');
    for (const size of [1, 7, 4_096, 1_000_000])
      expect(readTail(stream, size)).toMatchObject({ ...all, isOver: true });
  });

  it.each([null, {}, { output_tokens: null }])('has no output where the end of a stream says %j', (said) => {
    const stream = [...messageEvents(request, { usage })].map((event) =>
      event.includes('message_delta')
        ? event.replace(/"usage":\{.*?\}/, `"usage":${JSON.stringify(said)}`)
        : event,
    );

    expect(readTail(stream.join('')).usage).toEqual({ ...counted, output: null });
  });

  it('comes from the beginning of a stream where its end says less', () => {
    const frames = [...messageEvents(request, { content: 'y '.repeat(40_000), usage })];
    const end = frames.findIndex((frame) => frame.includes('"message_delta"'));
    frames[end] =
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":78,"input_tokens":null}}\n\n';
    expect(readTail(frames.join('')).usage).toEqual({ ...counted, output: 78 });
    const cut = readTail(frames.slice(0, 9).join(''));
    expect(cut).toMatchObject({ isOver: false, usage: { input: 4_530, output: null } });
  });

  it('comes from no content, and from no step', () => {
    const input = { usage: { input_tokens: 9, cache_read_input_tokens: 9 }, total_tokens: 99_999 };
    const blocks = [{ type: 'tool_use', id: 't', name: 'n', input }];
    const steps = [{ type: 'message', input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3 }];
    const answer = { blocks, usage: { ...usage, iterations: steps } };
    expect(readTail(JSON.stringify(messageOf(request, answer))).usage).toEqual(counted);
    expect(readTail([...messageEvents(request, answer)].join('')).usage).toEqual(counted);
  });

  it('has null for what a server leaves out, and names the fast mode as a tier', () => {
    const bare = [...messageEvents(request, { usage: { input_tokens: 5, output_tokens: 6 } })].join('');
    expect(readTail(bare).usage).toEqual({ input: 5, cached: null, cache_writes: null, output: 6 });
    expect(readTail(JSON.stringify(messageOf(request, { usage: { ...usage, speed: 'fast' } }))).tier).toBe(
      'fast',
    );
  });

  it('is no other protocol’s, whatever gateways add to theirs', () => {
    const chat = { usage: { ...CHAT.usage, cache_read_input_tokens: 64, cache_creation_input_tokens: 9 } };
    expect(read(JSON.stringify(chat))).toEqual(COUNTED);
    const responses = { usage: { ...RESPONSES.usage, cache_read_input_tokens: 64 } };
    expect(read(JSON.stringify(responses))).toEqual(COUNTED);
  });
});

it.each([
  ['a sign of life', 'event: ping\ndata: {"type": "ping"}\n\n'],
  ['a comment', ': ok\n\n'],
  ['both, several times', ': OPENROUTER PROCESSING\n\ndata: {"type":"ping"}\r\n\r\n'.repeat(9)],
])('reads the input of a stream of Messages that begins with %s', (_, lead) => {
  const events = [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 5, cache_read_input_tokens: 900 } } },
    ...Array.from({ length: 1_000 }, () => ({
      type: 'content_block_delta',
      delta: { text: 'word '.repeat(9) },
    })),
    { type: 'message_delta', usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ];
  const sent = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const tail = new UsageTail();
  tail.push(new TextEncoder().encode(lead + sent));
  expect(tail.usage()).toEqual({ input: 905, cached: 900, cache_writes: null, output: 7 });
  expect(tail.isOver()).toBe(true);
});

describe('an answer that has filled its model’s window', () => {
  const FULL = 'model_context_window_exceeded';
  const fills = (text: string): boolean => {
    const tail = new UsageTail();
    tail.push(new TextEncoder().encode(text));
    return tail.cutBy() === 'window';
  };
  const request = { model: 'claude-opus-5-5' };

  it('is known by its stop reason, streamed or not, and by the finish reason of a completion', () => {
    const answer = { content: 'They weigh', stopReason: FULL };
    expect(fills(JSON.stringify(messageOf(request, answer)))).toBe(true);
    expect(fills([...messageEvents(request, answer)].join(''))).toBe(true);
    expect(fills(`data: {"choices":[{"delta":{},"finish_reason":"${FULL}"}]}\n\ndata: [DONE]\n\n`)).toBe(
      true,
    );
  });

  it('is one of the answers that are cut short, for which each protocol has a reason', () => {
    const cutBy = (text: string) => {
      const tail = new UsageTail();
      tail.push(new TextEncoder().encode(text));
      return tail.cutBy();
    };
    const incomplete = '"incomplete_details": {"reason": "max_output_tokens"}';
    expect(cutBy('{"choices":[{"finish_reason":"length"}]}')).toBe('length');
    expect(
      cutBy('{"choices":[{"finish_reason":"stop"}],"usage":{"max_tokens":"max_tokens"}}'),
    ).toBeUndefined();
    expect(cutBy(`{"status":"incomplete",${incomplete}}`)).toBe('length');
    expect(cutBy(`data: {"type":"response.incomplete","response":{${incomplete}}}\n\n`)).toBe('length');
    expect(cutBy('{"stop_reason":"max_tokens"}')).toBe('length');
    expect(cutBy('{"stop_reason":"end_turn"}')).toBeUndefined();
  });

  it('may end with an error, in the form of its protocol', () => {
    const errorOf = (text: string) => {
      const tail = new UsageTail();
      tail.push(new TextEncoder().encode(text));
      return tail.error();
    };
    const error = { message: 'No.' };
    const json = JSON.stringify({ error });
    expect(errorOf(`data: {"choices":[]}\n\nevent: error\ndata: ${json}\n\n`)).toBe(json);
    expect(errorOf(`data: {"type":"response.failed","response":${json}}\n\n`)).toBe(json);
    expect(errorOf('data: {"choices":[]}\n\ndata: [DONE]\n\n')).toBeUndefined();
  });

  it('is not known by its words, or by the input of a call', () => {
    const args = JSON.stringify({ stop_reason: FULL });
    const answer = { content: args, toolCalls: [{ id: 'toolu_1', name: 'say', arguments: args }] };
    expect(fills(JSON.stringify(messageOf(request, answer)))).toBe(false);
    expect(fills([...messageEvents(request, answer)].join(''))).toBe(false);
  });
});
