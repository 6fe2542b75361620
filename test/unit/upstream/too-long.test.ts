import { describe, expect, it, vi } from 'vitest';
import type { Log } from '../../../src/log.ts';
import type { UpstreamAnswer } from '../../../src/upstream/fetch.ts';
import {
  type LearnedLimit,
  LearnedLimits,
  limitBetween,
  limitOfRetry,
  limitTold,
  roomIn,
} from '../../../src/upstream/learned-limits.ts';
import { openAnswer } from '../../../src/upstream/opening.ts';
import { readTooLong, type TooLong } from '../../../src/upstream/too-long.ts';
import { assistant, body, lines, step, system, user } from '../../support/conversations/chat.ts';
import { viewOf } from '../../support/laws/view-of.ts';

/** An error in OpenAI's shape. */
const openai = (message: string, code: string | number | null = null, more: object = {}): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', param: 'messages', code, ...more } });

const window = (limit?: number, prompt?: number, answer?: number): TooLong => ({
  withAnswer: true,
  ...(limit === undefined ? {} : { limit }),
  ...(prompt === undefined ? {} : { prompt }),
  ...(answer === undefined ? {} : { answer }),
});
const ofPrompt = (limit: number, prompt?: number): TooLong => ({
  ...window(limit, prompt),
  withAnswer: false,
});

describe('an error that says that the prompt is too long', () => {
  const lengthCode = 'context_length_exceeded';
  const errors: [server: string, body: string, said: TooLong, status?: number][] = [
    [
      'OpenAI',
      openai(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        lengthCode,
      ),
      window(8192, 9000),
    ],
    [
      'OpenAI with tools',
      openai(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 202868 tokens (202767 in the messages, 101 in the functions).",
        lengthCode,
      ),
      window(128000, 202868),
    ],
    [
      'OpenAI with a limit of the answer',
      openai(
        "This model's maximum context length is 32768 tokens. However, you requested 35969 tokens (9969 in the messages, 26000 in the completion).",
        lengthCode,
      ),
      window(32768, 9969, 26000),
    ],
    [
      'OpenAI of late',
      openai(
        'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens.',
      ),
      ofPrompt(272000, 289650),
    ],
    ['OpenAI without numbers', openai('Your input exceeds the context window of this model.'), window()],
    ['OpenAI by its code alone', openai('No.', lengthCode), window()],
    [
      'Azure',
      openai(
        "This model's maximum context length is 16,384 tokens. However, your messages resulted in 16,630 tokens.",
      ),
      window(16384, 16630),
    ],
    [
      'Anthropic',
      JSON.stringify({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 210000 tokens > 200000 maximum',
        },
      }),
      window(200000, 210000),
    ],
    [
      'Anthropic with a limit of the answer',
      openai('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease either'),
      window(200000, 190000, 20000),
    ],
    [
      'Gemini',
      JSON.stringify([
        {
          error: {
            code: 400,
            message:
              'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ]),
      ofPrompt(1048576, 1200000),
    ],
    [
      'vLLM',
      JSON.stringify({
        object: 'error',
        message:
          "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion).",
        type: 'BadRequestError',
        param: null,
        code: 400,
      }),
      window(16384, 9591, 10000),
    ],
    [
      'vLLM with a prompt in parts',
      openai('The decoder prompt (length 10127) is longer than the maximum model length of 8192.', 400),
      window(8192, 10127),
    ],
    [
      'vLLM of late',
      openai(
        "You passed 20001 input tokens and requested 1024 output tokens. However, the model's context length is only 16384 tokens.",
        400,
      ),
      window(16384, 20001, 1024),
    ],
    [
      'vLLM that stopped counting',
      openai(
        "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens.",
        400,
      ),
      window(262144, undefined, 128000),
    ],
    [
      'llama.cpp',
      openai('the request exceeds the available context size, try increasing it', 400, {
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      }),
      window(8192, 14429),
    ],
    [
      'llama.cpp in words',
      openai(
        'request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it',
        400,
      ),
      window(8192, 14429),
    ],
    ['llama-cpp-python', openai('Requested tokens (2285) exceed context window of 2048'), window(2048, 2285)],
    ['Ollama', openai('prompt too long; exceeded max context length by 4 tokens'), window()],
    [
      'Ollama, its own shape',
      JSON.stringify({ error: 'the input length exceeds the context length' }),
      window(),
    ],
    [
      'LM Studio',
      JSON.stringify({
        error:
          'Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens',
      }),
      window(7866, 10136),
    ],
    [
      'LM Studio of late',
      JSON.stringify({
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 8192)',
      }),
      window(8192, 9000),
    ],
    [
      'Mistral',
      JSON.stringify({
        object: 'error',
        message:
          'Prompt contains 150000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
        type: 'invalid_request_prompt',
        code: '3051',
      }),
      window(131072, 150000),
    ],
    ['Groq', openai('Please reduce the length of the messages or completion.', lengthCode), window()],
    [
      'Cerebras',
      openai(
        'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
      ),
      window(40000, 42328),
    ],
    [
      'DeepSeek',
      openai(
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
        'invalid_request_error',
      ),
      window(131072, 122942, 8192),
    ],
    [
      'xAI',
      JSON.stringify({
        code: 'Client specified an invalid argument',
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      }),
      ofPrompt(131072, 537812),
    ],
    [
      'Together',
      openai(
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`',
      ),
      window(65537, 79993, 1024),
      422,
    ],
    [
      'SGLang',
      openai("The input (61709 tokens) is longer than the model's context length (40960 tokens).", 400),
      window(40960, 61709),
    ],
    [
      'OpenRouter',
      JSON.stringify({
        error: {
          message:
            "This endpoint's maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text input).",
          code: 400,
          metadata: { provider_name: null },
        },
      }),
      window(16384, 94307),
    ],
    [
      'a server behind OpenRouter',
      JSON.stringify({
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            raw: '{"message":"prompt is too long: 210000 tokens > 200000 maximum"}',
            provider_name: 'X',
          },
        },
      }),
      window(200000, 210000),
    ],
    [
      'a server behind LiteLLM',
      openai(
        `litellm.ContextWindowExceededError: AnthropicException - {"type":"error","error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
        '400',
      ),
      window(200000, 210000),
    ],
    [
      'LiteLLM by its own name for it',
      openai('litellm.ContextWindowExceededError: litellm.BadRequestError: No.', '400', { type: 'None' }),
      window(),
    ],
    [
      'SGLang of late',
      openai(
        'Input length (61709 tokens) exceeds the maximum allowed length (40960 tokens). Use a shorter input or enable --allow-auto-truncate.',
        400,
        { type: 'BadRequestError' },
      ),
      ofPrompt(40960, 61709),
    ],
    [
      "a server that names the request's fields",
      openai(
        "This model's maximum context length is 8192 tokens, the 'messages' have 9000, see https://example.com/limits.",
      ),
      window(8192),
    ],
    ['Bedrock', JSON.stringify({ message: 'Input is too long for requested model.' }), window()],
    [
      'GitHub Copilot',
      openai('prompt token count of 130000 exceeds the limit of 128000', 'model_max_prompt_tokens_exceeded'),
      ofPrompt(128000, 130000),
    ],
    ['MiniMax', openai('invalid params, context window exceeds limit (2013)'), window()],
    [
      'Moonshot',
      openai('Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)'),
      window(262144, 291351),
    ],
    [
      'DashScope',
      openai('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]'),
      ofPrompt(30720),
    ],
    ['z.ai', openai('Prompt exceeds max length', '1261'), window()],
    ['z.ai by its code', openai('No.', 'model_context_window_exceeded'), window()],
    [
      'Cohere',
      JSON.stringify({
        message:
          'too many tokens: total number of tokens (prompt and prediction) cannot exceed 4081 - received 5000',
      }),
      window(4081, 5000),
    ],
    [
      'a gateway that calls it large',
      JSON.stringify({
        error: { type: 'request_too_large', message: 'The request has more tokens than the model takes.' },
      }),
      window(),
      413,
    ],
  ];

  it.each(errors)('%s', (_, body, said, status = 400) => {
    expect(readTooLong(status, body)).toEqual(said);
  });

  it('is one with the statuses of a bad request alone', () => {
    const body = openai("This model's maximum context length is 8192 tokens.", lengthCode);
    const statuses = [200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503];

    expect(statuses.filter((status) => readTooLong(status, body))).toEqual([400, 413, 422]);
  });
});

describe('an error that says something else', () => {
  const errors: [what: string, body: string, status?: number][] = [
    [
      'a result without its call',
      openai(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      ),
    ],
    [
      'a call without its result',
      openai(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
      ),
    ],
    [
      'a pairing error with the code of a length',
      openai(
        "'tool_calls' must be followed by tool messages, within the maximum context length",
        'context_length_exceeded',
      ),
    ],
    [
      "Anthropic's pairing error",
      openai('messages.2: `tool_use` ids were found without `tool_result` blocks: prompt is too long'),
    ],
    [
      "Groq's rate in tokens, with status 413",
      openai(
        'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 12328, please reduce the length of the messages.',
        'rate_limit_exceeded',
        { type: 'tokens' },
      ),
      413,
    ],
    ['a rate without a code', openai('Too many input tokens: 30000 tokens per min (TPM)')],
    [
      'too large an answer',
      openai('max_tokens is too large: 50000. This model supports at most 16384 completion tokens.'),
    ],
    [
      "vLLM's too large an answer",
      openai(
        "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens.",
      ),
    ],
    [
      'an answer that alone fills the context',
      openai(
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output).",
      ),
    ],
    [
      'a string that is too long',
      openai(
        "Invalid 'messages[1].content': string too long. Expected at most 10485760.",
        'string_above_max_length',
      ),
    ],
    ['an array that is too long', openai("Invalid 'messages': array too long.", 'array_above_max_length')],
    ['an unknown model', openai('The model `x` does not exist', 'model_not_found')],
    [
      "nginx' too many bytes",
      '<html><head><title>413 Request Entity Too Large</title></head><body>prompt is too long</body></html>',
      413,
    ],
    [
      "Anthropic's too many bytes",
      JSON.stringify({ error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }),
      413,
    ],
    [
      'an image whose address says so',
      openai(
        'Error while downloading https://evil.example/prompt is too long: 5000 tokens > 1000 maximum.png',
        'invalid_image_url',
      ),
    ],
    [
      'an image whose address says so, without a code',
      openai(
        'Error while downloading https://evil.example/prompt is too long: 5000 tokens > 1000 maximum.png',
      ),
    ],
    [
      'a value that says so',
      openai(
        "Invalid value: 'maximum context length is 1000 tokens'. Supported values are: 'a' and 'b'.",
        'invalid_value',
      ),
    ],
    [
      'a value that says so, without a code',
      openai("Invalid value: 'maximum context length is 1000 tokens'. Supported values are: 'a' and 'b'."),
    ],
    [
      'a value that holds quotes',
      openai(
        "Invalid value: 'x' maximum context length is 1000 tokens 'y'. Supported values are: 'a' and 'b'.",
      ),
    ],
    ['a value that is cut off', openai("Invalid value: 'maximum context length is 1000 tokens…")],
    ['a value in double quotes', openai('Invalid value: "maximum context length is 1000 tokens".')],
    ['a value in back quotes', openai('Invalid value: `maximum context length is 1000 tokens`.')],
    ['a value in curly quotes', openai('Invalid value: “maximum context length is 1000 tokens”.')],
    [
      'a value that is an error',
      openai(`Invalid value: '{"message":"prompt is too long: 5000 tokens > 1000 maximum"}'.`),
    ],
    [
      'a filter that quotes the user',
      openai('The prompt was filtered: prompt is too long: 5000 tokens > 1000 maximum', 'content_filter'),
    ],
    [
      'a filter behind a gateway',
      JSON.stringify({
        error: {
          message: 'prompt is too long: 5000 tokens > 1000 maximum',
          code: 400,
          metadata: { raw: '{"error":{"code":"content_filter","message":"prompt is too long"}}' },
        },
      }),
    ],
    ['too large an image', openai('image exceeds the maximum allowed length (4096)')],
    ['too large a schema', openai('schema exceeds the maximum allowed length (5000)')],
    ['too many stop sequences', openai('number of tokens in stop sequences cannot exceed 4')],
    [
      'a function call without its output',
      openai(
        "Missing corresponding function call output for function call 'x'. Please reduce the length of the messages",
      ),
    ],
    ['half an error', '{"error":{"message":"prompt is too long: 210000 tokens'],
    ['words alone', 'prompt is too long'],
    ['JSON that is no object', '"prompt is too long"'],
    ['nothing', ''],
    [
      'a validation error that repeats the request',
      JSON.stringify({
        detail: [
          {
            type: 'missing',
            loc: ['body', 'model'],
            msg: 'Field required',
            input: { content: 'prompt is too long' },
          },
        ],
      }),
      422,
    ],
    [
      'a validation error that repeats the request in its words',
      openai(
        "[{'type': 'missing', 'loc': ('body', 'model'), 'input': {'content': 'prompt is too long'}}]",
        400,
      ),
    ],
  ];

  it.each(errors)('%s', (_, body, status = 400) => {
    expect(readTooLong(status, body)).toBeUndefined();
  });
});

describe('the limit that a refusal tells of', () => {
  const refused = { tokens: 10_000, beside: 0, answerTokens: 0 };
  const roomAfter = (refusal: TooLong, of = refused): number =>
    roomIn(limitOfRetry(refusal, of), of.answerTokens);

  it('is counted as we count: by our count of the prompt over theirs', () => {
    expect(roomAfter(window(8_000, 10_000))).toBe(7_600);
    expect(roomAfter(window(8_000, 20_000))).toBe(3_800);
  });

  it('is not taken from counts that have nothing in common', () => {
    expect(roomAfter(window(8_000, 1_000_000))).toBe(2_533);
    expect(roomAfter(window(1_000, 100))).toBe(2_850);
  });

  it('is what was told where nothing says how they count', () => {
    expect(roomAfter(window(8_000))).toBe(7_600);
  });

  it('is less than what was refused, whatever was told', () => {
    expect(roomAfter(window(128_000))).toBe(9_000);
    expect(roomAfter(window(8_000, 3))).toBe(9_000);
    expect(roomAfter(window())).toBe(7_500);
  });

  it('is never next to nothing', () => {
    expect(roomAfter(window(16))).toBe(1_000);
    expect(roomAfter(window(), { ...refused, tokens: 600 })).toBe(1_000);
  });

  it('leaves the answer its room where it counts, as much as each request asks for', () => {
    const asked = { ...refused, answerTokens: 3_000 };
    const limit = limitOfRetry(window(12_000, 10_000, 3_000), asked);

    expect(roomIn(limit, 3_000)).toBe(8_550);
    expect(roomIn(limit, 4_000)).toBe(7_550);
    expect(roomIn(limit, 0)).toBe(11_550);
  });

  it('leaves room for an answer that the server alone has limited', () => {
    expect(roomAfter(window(12_000, 10_000, 4_000))).toBe(7_600);
  });

  it('leaves the answer out of account where the limit is of the prompt, or where it would leave nothing', () => {
    const asked = { ...refused, answerTokens: 9_000 };

    expect(roomAfter(ofPrompt(8_000, 10_000), asked)).toBe(7_600);
    expect(roomAfter(window(8_000, 10_000), asked)).toBe(7_600);
  });

  it('leaves room for the rest of the request', () => {
    expect(roomAfter(window(8_000, 10_500), { ...refused, beside: 500 })).toBe(7_100);
  });
});

describe('what a refusal states about all requests', () => {
  const refused = { tokens: 10_000, beside: 0, answerTokens: 0 };
  const limit = (tokens: number, withAnswer = true): LearnedLimit => ({ tokens, withAnswer });

  it('is the limit, counted as we count', () => {
    expect(limitTold(window(8_000, 10_000), refused)).toEqual(limit(7_600));
    expect(limitTold(ofPrompt(8_000, 20_000), refused)).toEqual(limit(3_800, false));
    expect(limitTold(window(8_000), refused)).toEqual(limit(7_600));
  });

  it('is not less because this prompt was small', () => {
    expect(limitTold(window(128_000), { ...refused, tokens: 2_000 })).toEqual(limit(121_600));
    expect(limitTold(window(128_000, 128_500), { ...refused, tokens: 128_500 })).toEqual(limit(121_600));
  });

  it('is nothing where the counts have nothing in common', () => {
    expect(limitTold(window(128_000, 200_000), { ...refused, tokens: 2_000 })).toBeUndefined();
    expect(limitTold(window(8_000, 3), refused)).toBeUndefined();
  });

  it('is nothing where it tells of no limit, or of next to nothing', () => {
    expect(limitTold(window(), refused)).toBeUndefined();
    expect(limitTold(window(16), refused)).toBeUndefined();
  });

  it('leaves room for the answer and for the rest of the request', () => {
    const asked = { tokens: 10_000, beside: 500, answerTokens: 3_000 };

    expect(limitTold(window(12_000, 10_500, 3_000), asked)).toEqual(limit(11_050));
  });
});

describe('a limit that nobody has told', () => {
  const refused = { tokens: 10_000, beside: 0, answerTokens: 0 };

  it('is less than what was refused, and not less than what was accepted', () => {
    expect(limitBetween(5_000, refused)).toEqual({ tokens: 9_000, withAnswer: false });
    expect(limitBetween(9_500, refused)).toEqual({ tokens: 9_500, withAnswer: false });
  });

  it('may be about the answer too, which such requests leave its room', () => {
    const limit = limitBetween(5_000, { ...refused, answerTokens: 3_000 });

    expect(limit && [0, 3_000].map((answer) => roomIn(limit, answer))).toEqual([12_000, 9_000]);
  });

  it('is not believed where the request was small by our count', () => {
    expect(limitBetween(1_500, { ...refused, tokens: 4_000 })).toBeUndefined();
  });
});

describe('limits that are remembered', () => {
  const HOUR = 60 * 60_000;
  const tight: LearnedLimit = { tokens: 5_000, withAnswer: false };
  const wide: LearnedLimit = { tokens: 9_000, withAnswer: false };

  it('hold for an hour', () => {
    let now = 1_000;
    const limits = new LearnedLimits(() => now);
    limits.learn('tenant', 'model', tight, 0);

    now += HOUR - 1;
    expect(limits.of('tenant', 'model')).toEqual(tight);
    now += 1;
    expect(limits.of('tenant', 'model')).toBeUndefined();
  });

  it('hold for one tenant and one model', () => {
    const limits = new LearnedLimits();
    limits.learn('tenant', 'model', tight, 0);

    expect(limits.of('tenant', 'another')).toBeUndefined();
    expect(limits.of('another', 'model')).toBeUndefined();
    expect(limits.of('tenant', undefined)).toBeUndefined();
  });

  it('give way to narrower ones, not to wider ones', () => {
    const limits = new LearnedLimits();

    const held = [wide, tight, wide].map((limit) => {
      limits.learn('tenant', 'model', limit, 0);
      return limits.of('tenant', 'model');
    });
    expect(held).toEqual([wide, tight, tight]);
  });

  it('are compared by their room for the prompt', () => {
    const limits = new LearnedLimits();
    limits.learn('tenant', 'model', tight, 5_000);

    const left = { tokens: 9_000, withAnswer: true };
    limits.learn('tenant', 'model', left, 5_000);

    expect(limits.of('tenant', 'model')).toEqual(left);
  });

  it('are not remembered under names that no model has', () => {
    const limits = new LearnedLimits();
    const name = 'm'.repeat(100_000);

    limits.learn('tenant', name, tight, 0);

    expect(limits.of('tenant', name)).toBeUndefined();
  });
});

describe('an answer that is opened', () => {
  const log = () => undefined;
  function answerOf(body: BodyInit | null): UpstreamAnswer {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_1' };
    return {
      response: new Response(body, { status: 400, statusText: 'Bad', headers }),
      abort: () => undefined,
    };
  }
  function inPieces(
    count: number,
    size: number,
    end: 'closed' | 'broken' | 'open' = 'closed',
  ): ReadableStream {
    let sent = 0;
    const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
      if (sent++ < count) return controller.enqueue(new Uint8Array(size).fill(sent));
      if (end === 'closed') return controller.close();
      // Waits until the sent bytes are read: an error discards bytes that are still queued.
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (end === 'broken') controller.error(new Error('gone'));
    };
    return new ReadableStream({ pull });
  }

  it('is whole, and still there to be read', async () => {
    const { whole, answer } = await openAnswer(answerOf('{"é":1}'), 100, 1_000, log);

    expect(new TextDecoder().decode(whole)).toBe('{"é":1}');
    expect(await answer.response.text()).toBe('{"é":1}');
    expect([answer.response.status, answer.response.statusText]).toEqual([400, 'Bad']);
    expect(answer.response.headers.get('x-request-id')).toBe('req_1');
  });

  it('is left alone where it is longer than was looked at, and loses nothing', async () => {
    const { whole, answer } = await openAnswer(answerOf(inPieces(5, 100)), 250, 1_000, log);

    expect(whole).toBeUndefined();
    const body = new Uint8Array(await answer.response.arrayBuffer());
    expect([...new Set(body)]).toEqual([1, 2, 3, 4, 5]);
    expect(body).toHaveLength(500);
  });

  it('is left alone where its body takes too long', async () => {
    const { whole, answer } = await openAnswer(answerOf(inPieces(1, 10, 'open')), 100, 20, log);

    expect(whole).toBeUndefined();
    const read = await answer.response.body?.getReader().read();
    expect(read?.value).toHaveLength(10);
  });

  it('can be read when its connection is closed', async () => {
    const { answer } = await openAnswer(answerOf(inPieces(2, 10)), 100, 1_000, log);
    answer.abort();

    expect(await answer.response.text()).toHaveLength(20);
  });

  it.each([10, 200])(
    'ends with what came where its body breaks off, after 3 times %i bytes',
    async (size) => {
      const broken = answerOf(inPieces(3, size, 'broken'));
      broken.response.headers.set('content-length', '1000');
      let aborted = 0;
      const logged = vi.fn<Log>();
      const { whole, answer } = await openAnswer({ ...broken, abort: () => aborted++ }, 500, 1_000, logged);

      expect(whole).toBeUndefined();
      expect(aborted).toBe(1);
      expect(logged.mock.lastCall?.[2]).toEqual({ code: 'upstream_unreachable', error: 'Error' });
      expect(await answer.response.text()).toHaveLength(3 * size);
      expect(answer.response.status).toBe(400);
      expect(answer.response.headers.get('x-request-id')).toBe('req_1');
      expect(answer.response.headers.has('content-length')).toBe(false);
    },
  );

  it('may have no body', async () => {
    const { whole, answer } = await openAnswer(answerOf(null), 100, 1_000, log);

    expect(whole).toBeUndefined();
    expect(await answer.response.text()).toBe('');
  });
});

describe('rolling memory within a learned limit', () => {
  const rounds = (count: number) => [
    system('You help.'),
    ...Array.from({ length: count }, (_, at) => [
      user(`question ${at}`),
      ...step(`${at}`, 'f', lines(60, `out ${at}`)),
      assistant(`answer ${at}`),
    ]).flat(),
    user('the last question'),
  ];
  const ROUND = 4;

  function rolled(
    messages: Record<string, unknown>[],
    limit: number | undefined,
    fields: object = {},
    end?: number,
  ) {
    const memory = end === undefined ? undefined : { end, text: 'What was.', ref: undefined, moved: false };
    return viewOf(body(messages), { mode: 'rolling_summary', ...fields }, { memory, limit });
  }

  it('without a memory leaves out the oldest rounds, whole, and stays within the limit', () => {
    const { plan, view } = rolled(rounds(8), 4_000);

    expect(view.tokens).toBeLessThanOrEqual(4_000);
    expect(plan.dropped.length % ROUND).toBe(0);
    expect(plan.dropped[0]).toBe(1);
    expect(plan.replay.trigger).toBe('upstream_limit');
    expect(plan.budgets).toMatchObject({ hard: 4_000, window: 4_000 });
  });

  it('without a memory keeps the last round, whatever it weighs', () => {
    const { plan } = rolled(rounds(3), 100);

    expect(plan.dropped).toHaveLength(3 * ROUND);
  });

  it('without a memory has each view begin with the one before, except where it says that it moved', () => {
    const all = rounds(10);
    const lengths = all.flatMap(({ role }, at) => (role === 'user' || role === 'tool' ? [at + 1] : []));
    const views = lengths.map((length) => rolled(all.slice(0, length), 4_000).plan);

    for (const [at, { dropped, replay }] of views.entries())
      expect(replay.moved).toBe(dropped.length !== (views[at - 1]?.dropped.length ?? 0));
    expect(views.filter(({ replay }) => replay.moved).length).toBeGreaterThan(2);
  });

  it('without a memory leaves everything as it is where it fits, or where the policy lets nothing go', () => {
    const whole = rolled(rounds(8), undefined).view.tokens;

    for (const { plan, view } of [
      rolled(rounds(8), whole),
      rolled(rounds(8), 4_000, { overflow_policy: 'truncate_summary' }),
      rolled(rounds(8), 4_000, { overflow_policy: 'error' }),
    ]) {
      expect(plan.dropped).toEqual([]);
      expect(view.tokens).toBe(whole);
    }
  });

  it('with a memory takes out more than its own budget does', () => {
    const own = rolled(rounds(8), undefined, {}, 1 + ROUND);
    const learned = rolled(rounds(8), 4_000, {}, 1 + ROUND);

    expect(own.plan.replay.trigger).toBe('turns');
    expect(learned.plan.replay.trigger).toBe('upstream_limit');
    expect(learned.view.tokens).toBeLessThanOrEqual(4_000);
    expect(own.view.tokens).toBeGreaterThan(4_000);
  });

  it('with a memory refuses nothing that its own budget lets pass', () => {
    const { view } = rolled(rounds(4), 2_000, { overflow_policy: 'error' }, 1 + ROUND);

    expect(view.tokens).toBeGreaterThan(2_000);
  });
});
