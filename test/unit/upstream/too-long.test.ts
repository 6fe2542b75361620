import { describe, expect, it } from 'vitest';
import { readNoRoom, readTooLong, type TooLong } from '../../../src/upstream/too-long.ts';
import { ofPrompt, openai, window } from './refusals.ts';

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
    [
      'llama.cpp with several slots',
      openai('Context size has been exceeded.', 500, { type: 'server_error' }),
      window(),
      500,
    ],
    [
      'an early llama.cpp',
      openai('the request exceeds the available context size. try increasing it', 500, {
        type: 'exceed_context_size_error',
        n_prompt_tokens: 1407,
        n_ctx: 256,
      }),
      window(256, 1407),
      500,
    ],
    [
      'llama.cpp before it stopped by itself',
      openai('context shift is disabled', 500, { type: 'server_error' }),
      window(),
      500,
    ],
    ['Ollama', openai('prompt too long; exceeded max context length by 4 tokens'), window()],
    [
      'Ollama, its own shape',
      JSON.stringify({ error: 'the input length exceeds the context length' }),
      window(),
    ],
    [
      'Ollama of late',
      openai(
        'the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the context length in settings, or use a model with a longer context length',
      ),
      window(),
    ],
    [
      'Ollama with a model of MLX',
      openai("input length (9000 tokens) exceeds the model's maximum context length (8192 tokens)", null, {
        type: 'api_error',
      }),
      window(8192, 9000),
      500,
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
      'LM Studio in a stream',
      JSON.stringify({
        error: {
          message:
            'Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens.',
        },
        message:
          'Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens.',
      }),
      window(30000, 31430),
    ],
    [
      'LM Studio in the middle of an answer',
      JSON.stringify({
        error:
          'Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.',
      }),
      window(4096),
    ],
    [
      'LM Studio with an engine of its own',
      JSON.stringify({ error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)' }),
      window(7424, 15028),
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
    ...[
      'invalid_request_invalid_args',
      'invalid_request_message_error',
      'upstream_error',
      'new_api_error',
    ].map((type): [string, string, TooLong] => [
      `Mistral, also behind a relay, of type ${type}`,
      JSON.stringify({
        object: 'error',
        message:
          'Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length',
        type,
        param: null,
        code: '3051',
      }),
      window(8192, 9000),
    ]),
    ...[
      'context_window_exceeded',
      'CONTEXT_LIMIT_EXCEEDED',
      'context_overflow',
      'maximum_context_length_exceeded',
      'model_max_prompt_tokens_exceeded',
      'ContextWindowExceededError',
      'prompt_too_long',
      'input_too_long',
    ].map((code): [string, string, TooLong] => [
      `a gateway by its code ${code}`,
      openai('No.', code),
      window(),
    ]),
    [
      'watsonx',
      JSON.stringify({
        errors: [
          {
            code: 'invalid_input_argument',
            message:
              "Invalid input argument for Model 'm': the number of input tokens 4098 cannot exceed the total tokens limit 4096 for this model",
          },
        ],
        status_code: 400,
      }),
      window(4096, 4098),
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
      'a server behind OpenRouter, in whole',
      JSON.stringify({
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}',
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
    // https://github.com/anomalyco/models.dev/pull/4422
    [
      'Workers AI',
      JSON.stringify({
        errors: [
          {
            message:
              'AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000).',
            code: 5021,
          },
        ],
        success: false,
        result: {},
        messages: [],
      }),
      window(24000),
      413,
    ],
    // https://github.com/cline/cline/issues/2115
    [
      'GitHub Models',
      openai('Request body too large for gpt-4o model. Max size: 8000 tokens.', 'tokens_limit_reached'),
      ofPrompt(8000),
      413,
    ],
    // https://github.com/earendil-works/pi/issues/4943
    [
      'Poolside behind OpenRouter',
      openai('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'),
      ofPrompt(131040, 131393),
    ],
    // https://github.com/langchain-ai/langchain/pull/25671
    [
      'DeepInfra',
      JSON.stringify({
        error: { message: 'Requested input length 99009 exceeds maximum input length 8192' },
      }),
      ofPrompt(8192, 99009),
      500,
    ],
    // https://github.com/triton-inference-server/tensorrtllm_backend/issues/565
    ['TensorRT-LLM', openai('Prompt length (200) exceeds maximum input length (100).'), ofPrompt(100, 200)],
    [
      'TensorRT-LLM of late',
      openai(
        'The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)',
        400,
        {
          type: 'BadRequestError',
        },
      ),
      ofPrompt(69632, 72417),
    ],
    // https://github.com/langgenius/dify/issues/32221
    [
      'Volcengine',
      openai('Input length 203743 exceeds the maximum length 202752. Request id: 0217', 'InvalidParameter', {
        type: 'BadRequest',
      }),
      ofPrompt(202752, 203743),
    ],
    [
      'Volcengine with images',
      openai(
        'Total tokens of image and text exceed max message tokens. Request id: 0217',
        'InvalidParameter',
        { type: 'BadRequest' },
      ),
      window(),
    ],
    [
      'Volcengine with a code of its own',
      openai('Total tokens of image and text exceed max message tokens.', 'OutofContextError', {
        type: 'BadRequest',
      }),
      window(),
    ],
    [
      'DashScope for its longest context',
      openai('Total message token length exceed model limit (10000000 tokens).', 'invalid_parameter_error'),
      window(10000000),
    ],
    // https://github.com/leookun/cursor-byok/issues/129
    [
      'SiliconFlow',
      JSON.stringify({
        code: 20015,
        message: 'number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.',
        data: null,
      }),
      ofPrompt(202752, 204703),
    ],
    [
      'SiliconFlow in other words',
      JSON.stringify({
        code: 20015,
        message: 'length of prompt_tokens (235121) must be less than max_seq_len (65536).',
        data: null,
      }),
      window(65536, 235121),
    ],
    [
      'SiliconFlow with room for the answer',
      JSON.stringify({
        code: 20015,
        message: 'max_total_tokens (73728) must be less than or equal to max_seq_len (65536)',
        data: null,
      }),
      window(65536, 73728),
    ],
    // https://github.com/PaddlePaddle/ERNIE-SDK/issues/336
    ['Qianfan', openai('Prompt tokens too long', 'tokens_too_long'), window()],
    ['Qianfan without its code', openai('prompt tokens too long.'), window()],
    // https://github.com/fw-ai/cookbook/issues/134
    [
      'Fireworks',
      openai('The prompt is too long: 40177, model maximum context length: 32767', 'invalid_request_error'),
      window(32767, 40177),
    ],
    // https://github.com/OpenHands/OpenHands/pull/9252
    [
      'SambaNova',
      openai(
        'The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request will take 39732 tokens. Please reduce the length of the messages or the specified max_completion_tokens value.',
      ),
      window(32768),
    ],
    // https://github.com/vllm-project/vllm/issues/7048
    [
      'SageMaker',
      openai('Input prompt (9762 tokens) is too long and exceeds limit of 8192'),
      window(8192, 9762),
    ],
    // https://github.com/google-gemini/gemini-cli/issues/19727
    [
      'Vertex AI',
      JSON.stringify({
        error: {
          code: 400,
          message:
            'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
          status: 'INVALID_ARGUMENT',
        },
      }),
      ofPrompt(1048576, 1251952),
    ],
    // https://github.com/anomalyco/opencode/issues/27519
    [
      'a server behind OpenCode',
      openai('The number of tokens in request more than max tokens allowed (131072).'),
      window(131072),
    ],
    // https://docs.cohere.com/v2/reference/errors
    [
      'Cohere of late',
      JSON.stringify({
        id: '1',
        message:
          'too many tokens: size limit exceeded by 168512 tokens. Try using shorter or fewer inputs. The limit for this model is 132000 tokens.',
      }),
      window(132000),
    ],
    [
      'Cohere with a limit of the prompt',
      JSON.stringify({
        message:
          'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt, or enabling prompt truncating.',
      }),
      window(4081, 4292),
    ],
    ['Moonshot without numbers', openai('Input token length too long', 'invalid_request_error'), window()],
    // The next three are known to OpenCode (https://github.com/anomalyco/opencode).
    [
      'Nova of Bedrock',
      JSON.stringify({
        message:
          'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
      }),
      { withAnswer: false },
    ],
    [
      'DwarfStar',
      openai('Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens'),
      window(256000, 5958968),
    ],
    ['z.ai in Chinese', openai('Prompt 超长', '1261'), window()],
    // https://github.com/dyad-sh/dyad/issues/1247
    [
      'LiteLLM that has begun to stream',
      openai(
        "litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.APIConnectionError: APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.",
        '503',
      ),
      window(131072),
      503,
    ],
    // https://github.com/symfony/ai
    [
      'Perplexity',
      JSON.stringify({
        error: {
          message: 'The total length of all messages is too long.',
          type: 'too_many_prompt_tokens',
          code: 400,
        },
      }),
      window(),
    ],
    // https://github.com/dyad-sh/dyad/issues/403
    [
      'Vertex AI in bytes that LiteLLM has printed',
      openai(
        String.raw`litellm.BadRequestError: VertexAIException BadRequestError - b'{\n  "error": {\n    "code": 400,\n    "message": "The input token count (1066750) exceeds the maximum number of tokens allowed (1048575).",\n    "status": "INVALID_ARGUMENT"\n  }\n}\n'`,
        '400',
      ),
      ofPrompt(1048575, 1066750),
    ],
    // https://github.com/Alishahryar1/free-claude-code/issues/391
    [
      'an error that the SDK for Python has printed',
      JSON.stringify({
        detail: `Error code: 400 - {'error': {'message': "This model's maximum context length is 196608 tokens. However, your messages resulted in 199906 tokens.", 'type': 'Bad Request', 'param': None, 'code': 400}} (request_id=req_1)`,
      }),
      window(196608, 199906),
    ],
    // https://github.com/openclaw/openclaw/issues/58839
    ['a gateway to Bedrock', openai('ValidationException: The input is too long for the model'), window()],
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

  it('is one with the statuses of a bad request, and with 500 and 503', () => {
    const body = openai("This model's maximum context length is 8192 tokens.", lengthCode);
    const statuses = [200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503];

    expect(statuses.filter((status) => readTooLong(status, body))).toEqual([400, 413, 422, 500, 503]);
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
    [
      'a rate in tokens, with status 500',
      openai('prompt too long: 30000 tokens per minute (TPM): Limit 6000', null, { type: 'server_error' }),
      500,
    ],
    ['a failure of the server', openai('Internal error', 500, { type: 'server_error' }), 500],
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
    [
      'a dictionary of Python with another code',
      JSON.stringify({
        detail: `Error code: 400 - {'error': {'message': 'prompt is too long: 5000 tokens > 1000 maximum', 'code': 'content_filter'}}`,
      }),
    ],
    ['a value that is a dictionary', openai(`Invalid value: '{'message': 'prompt is too long'}'.`)],
    ['too large an image', openai('image exceeds the maximum allowed length (4096)')],
    ['too large a schema', openai('schema exceeds the maximum allowed length (5000)')],
    ['too many stop sequences', openai('number of tokens in stop sequences cannot exceed 4')],
    [
      "Bedrock's too large an answer",
      JSON.stringify({
        message:
          'The maximum tokens you requested exceeds the model limit of 32768. Try again with a maximum tokens value that is lower than 32768.',
      }),
    ],
    [
      "Cohere's too large an answer",
      JSON.stringify({
        message:
          'too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model - received 1000000.',
      }),
    ],
    ["Bedrock's rate", openai('Too many tokens, please wait before trying again.')],
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

describe('an error about an answer that leaves no room', () => {
  it.each([
    [
      openai(
        "This model's maximum context length is 8192 tokens. However, you requested 12000 tokens (3808 in the messages, 8192 in the completion).",
        'context_length_exceeded',
      ),
      window(8192, 3808, 8192),
    ],
    [
      JSON.stringify({
        object: 'error',
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 3808 input tokens (8192 > 8192 - 3808).",
        type: 'BadRequestError',
        code: 400,
      }),
      window(8192, 3808),
    ],
  ])('states the window to a call that may limit its answer further, and to no other', (body, said) => {
    expect(readNoRoom(400, body)).toEqual(said);
    expect(readTooLong(400, body)).toBeUndefined();
  });
});
