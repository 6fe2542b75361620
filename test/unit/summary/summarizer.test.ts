import type OpenAI from 'openai';
import { expect, it, vi } from 'vitest';
import { plus } from '../../../src/lib/sums.ts';
import { askSummarizer, LONGEST_ANSWER, NO_USAGE } from '../../../src/summary/summarizer.ts';
import { NO_LIMITS } from '../../../src/upstream/call-guard.ts';

const target = {
  baseUrl: 'http://summarizer.test/v1',
  headers: {},
  model: 'a-model',
  window: 400_000,
  timeoutMs: 60_000,
  guard: NO_LIMITS,
};

it('keeps the name of the error by which a call has failed, and its code', async () => {
  vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('no route'));
  const unreached = await askSummarizer(target, { system: 'Sum up.', user: 'All of it.' }, 100);
  expect(unreached).toEqual({ ok: false, reason: { code: 'unreachable', again: true, cause: 'TypeError' } });

  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('no', { status: 403 }));
  const refused = await askSummarizer(target, { system: 'Sum up.', user: 'All of it.' }, 100);
  expect(refused).toEqual({ ok: false, reason: { code: 'refused', again: false, cause: 'Error' } });
});

it('counts reasoning as output where only the total has it', async () => {
  const answered = {
    choices: [{ message: { content: 'Summed up.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
  };
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json(answered));
  const answer = await askSummarizer(target, { system: 'Sum up.', user: 'All of it.' }, 100);
  expect(answer).toMatchObject({ value: { usage: { completion_tokens: 103, total_tokens: 135 } } });
});

it('prices each call by itself, and knows no price where no usage is reported', async () => {
  const schedule = {
    family: 'a-model',
    fresh: 1,
    cached: 1,
    written: 1,
    output: 2,
    step: { above: 200_000, input: 2, output: 2 },
    hits: 'prefix-128' as const,
    lifetimeMs: 1,
  };
  const call = async (usage: object | undefined) => {
    const choices = [{ message: { content: 'Summed up.' }, finish_reason: 'stop' }];
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({ choices, usage }));
    const answer = await askSummarizer({ ...target, schedule }, { system: 'Sum up.', user: 'All.' }, 100);
    return answer.ok ? answer.value.usage : undefined;
  };
  const long = await call({ prompt_tokens: 150_000, completion_tokens: 1_000, total_tokens: 151_000 });
  if (!long) throw new Error('the summarizer has not answered');
  expect(long.cost).toBe(152_000_000);
  expect(plus(plus(NO_USAGE, long), long)).toMatchObject({ prompt_tokens: 300_000, cost: 304_000_000 });
  expect(await call(undefined)).toMatchObject({ cost: null });
});

it.each([200, 400, 500])(
  'F29: reads no more of an answer than a summary may have, with %i',
  async (status) => {
    let sent = 0;
    const chunk = new Uint8Array(256 * 1024).fill(32);
    const headers = { 'content-type': 'application/json' };
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => {
      const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          sent += chunk.length;
          if (sent > 20 * LONGEST_ANSWER) controller.close();
          else controller.enqueue(chunk);
        },
      });
      return new Response(endless, { status, headers });
    });
    const answer = await askSummarizer(target, { system: 'Sum up.', user: 'All of it.' }, 100);
    expect(answer.ok).toBe(false);
    expect(sent).toBeLessThanOrEqual(LONGEST_ANSWER + 8 * chunk.length);
  },
);

const OPENAI = { ...target, baseUrl: 'https://api.openai.com/v1' };
const answered = {
  choices: [{ message: { content: 'Summed up.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

/** The bodies of the calls for one summary. @param refused answers the calls until none is left */
async function bodiesOf(to: typeof target, maxTokens: number, ...refused: Response[]) {
  const bodies: Record<string, unknown>[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    bodies.push(await new Request(input, init).json());
    return refused.shift() ?? Response.json(answered);
  });
  const answer = await askSummarizer(to, { system: 'Sum up.', user: 'All of it.' }, maxTokens);
  return { answer, bodies: bodies.map(({ messages: _, model: __, ...rest }) => rest) };
}

it.each([
  ['gpt-6-luna', 'none', 25_000],
  ['gpt-6-sol', 'none', 25_000],
  ['gpt-5.6-luna', 'none', 25_000],
  ['gpt-5.1', 'none', 25_000],
  ['ft:gpt-6-luna:acme::id', 'none', 25_000],
  ['gpt-6.2-sol', undefined, 25_000],
  ['gpt-5.1-codex-max', undefined, 25_000],
  ['gpt-5.4-pro', undefined, 25_000],
  ['gpt-5-mini', undefined, 25_000],
  ['o4-mini', undefined, 25_000],
  ['gpt-4.1-mini', undefined, 8_000],
  ['a-model', undefined, 8_000],
])('asks %s on the host of OpenAI with the effort %s and %i tokens', async (model, effort, tokens) => {
  const { bodies } = await bodiesOf({ ...OPENAI, model }, 2_000);
  const asked = effort === undefined ? {} : { reasoning_effort: effort };
  expect(bodies).toEqual([{ max_completion_tokens: tokens, ...asked }]);
});

it('asks other servers with no effort, whatever the model', async () => {
  const { bodies } = await bodiesOf({ ...target, model: 'openai/gpt-6-luna' }, 2_000);
  expect(bodies).toEqual([{ max_tokens: 25_000 }]);
});

/** Tokens that a model thinks before it writes; more than most summaries need. */
const THOUGHT = 12_000;

/** A model that reasons unless the request forbids it. Its thinking counts against the limit. */
async function reasoningModel(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const body: OpenAI.ChatCompletionCreateParams = await new Request(input, init).json();
  const limit = body.max_completion_tokens ?? body.max_tokens ?? 0;
  const thought = body.reasoning_effort === 'none' ? 0 : THOUGHT;
  const isWhole = thought + 2_000 <= limit;
  const content = isWhole ? 'Summed up.' : '';
  const usage = { prompt_tokens: 10, completion_tokens: Math.min(limit, thought + 2_000) };
  return Response.json({
    choices: [{ message: { content }, finish_reason: isWhole ? 'stop' : 'length' }],
    usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
  });
}

it.each([
  [OPENAI.baseUrl, 'gpt-6-luna', 2_000],
  [OPENAI.baseUrl, 'gpt-6.2-sol', 2_000 + THOUGHT],
  [OPENAI.baseUrl, 'gpt-5-mini', 2_000 + THOUGHT],
  ['https://openrouter.ai/api/v1', 'openai/gpt-6-luna', 2_000 + THOUGHT],
])('gets a whole summary from a model that reasons: at %s from %s', async (baseUrl, model, tokens) => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(reasoningModel);
  const prompt = { system: 'Sum up.', user: 'All of it.' };
  const answer = await askSummarizer({ ...target, baseUrl, model }, prompt, 2_000);
  expect(answer).toMatchObject({
    ok: true,
    value: { text: 'Summed up.', finishReason: 'stop', usage: { completion_tokens: tokens } },
  });
});

it('asks once more without the effort if that is refused, and only then', async () => {
  const refusal = (message: string) => Response.json({ error: { message } }, { status: 400 });
  const to = { ...OPENAI, model: 'gpt-6-luna' };
  const words = "Unsupported value: 'reasoning_effort' does not support 'none' with this model.";
  const again = await bodiesOf(to, 10_000, refusal(words));
  expect(again.bodies).toEqual([
    { max_completion_tokens: 40_000, reasoning_effort: 'none' },
    { max_completion_tokens: 40_000 },
  ]);
  expect(again.answer.ok).toBe(true);

  const twice = await bodiesOf(to, 100, refusal(words), refusal(words));
  expect(twice.bodies).toHaveLength(2);
  expect(twice.answer).toMatchObject({ ok: false, reason: { code: 'refused' } });
  const other = await bodiesOf(to, 100, refusal('Too long.'));
  expect(other.bodies).toHaveLength(1);
  expect(other.answer.ok).toBe(false);
});

it('names the limit of an answer as a server asks for it that refuses the other name', async () => {
  const refusal = (message: string) => Response.json({ error: { message } }, { status: 400 });
  const words = (name: string, other: string) =>
    `Unsupported parameter: '${name}' is not supported with this model. Use '${other}' instead.`;
  const azure = { ...target, baseUrl: 'https://acme.openai.azure.com/openai/v1', model: 'our-deployment' };
  const again = await bodiesOf(azure, 100, refusal(words('max_tokens', 'max_completion_tokens')));
  expect(again.bodies).toEqual([{ max_tokens: 4_096 }, { max_completion_tokens: 4_096 }]);
  expect(again.answer.ok).toBe(true);
  const other = await bodiesOf(azure, 100, refusal('max_tokens is too large: 4096'));
  expect(other.bodies).toHaveLength(1);
});

it('reads the texts of a content in parts, and none of its thinking', async () => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'What matters?' }] };
  const content = [thinking, { type: 'text', text: 'Summed ' }, { type: 'text', text: 'up.' }];
  const choices = [{ message: { content }, finish_reason: 'stop' }];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({ ...answered, choices }));
  const answer = await askSummarizer(target, { system: 'Sum up.', user: 'All of it.' }, 100);
  expect(answer).toMatchObject({ ok: true, value: { text: 'Summed up.' } });
});

const MESSAGES = { ...target, baseUrl: 'https://api.anthropic.com/v1', speaks: 'messages' as const };
const REFUSED = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'output_config: Extra inputs' },
};

it.each([
  ['claude-opus-5-5', { effort: 'low' }, 25_000],
  ['claude-fable-5-2', { effort: 'low' }, 25_000],
  ['claude-haiku-4-5-20251001', undefined, 8_000],
  ['a-model', undefined, 8_000],
])(
  'asks %s over Messages with the configuration %o and %i tokens',
  async (model, output_config, max_tokens) => {
    const asked = { system: 'Sum up.', max_tokens, ...(output_config ? { output_config } : {}) };
    expect((await bodiesOf({ ...MESSAGES, model }, 2_000)).bodies).toEqual([asked]);
  },
);

it('asks a server of Messages again without the configuration that it refuses', async () => {
  const refused = Response.json(REFUSED, { status: 400 });
  const { bodies, answer } = await bodiesOf({ ...MESSAGES, model: 'claude-opus-5-5' }, 2_000, refused);
  expect(bodies.map(({ output_config }) => output_config)).toEqual([{ effort: 'low' }, undefined]);
  expect(answer.ok).toBe(true);
});

it('reads the texts of a message, and counts all of its input', async () => {
  const content = [
    { type: 'thinking', thinking: '', signature: 's' },
    { type: 'text', text: 'Summed ' },
    { type: 'text', text: 'up.' },
  ];
  const usage = {
    input_tokens: 5,
    cache_read_input_tokens: 90,
    cache_creation_input_tokens: 7,
    output_tokens: 3,
  };
  const said = { content, stop_reason: 'end_turn', usage };
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json(said));
  const answer = await askSummarizer(MESSAGES, { system: 'Sum up.', user: 'All of it.' }, 100);
  expect(answer).toMatchObject({
    value: {
      text: 'Summed up.',
      finishReason: 'stop',
      usage: { prompt_tokens: 102, completion_tokens: 3, cached_tokens: 90, cache_write_tokens: 7 },
    },
  });
});
