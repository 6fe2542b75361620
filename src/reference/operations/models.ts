/** The routes that ask a model, and those that only plan. */
import {
  answerOf,
  COMPACT,
  COMPRESS,
  EXPLAIN,
  MESSAGE,
  MESSAGE_EVENTS,
  messagesOf,
  requestOf,
  streamOf,
  VERIFY,
} from '../bodies.ts';
import { MEMORY_HEADERS, MESSAGES_HEADERS, REPORT_HEADERS, STREAM_HEADERS } from '../headers.ts';
import {
  type Answer,
  BODY_ERRORS,
  clientSample,
  inPath,
  json,
  type Operation,
  query,
  routes,
  sent,
} from '../operation.ts';
import * as schemas from '../schemas/plan.ts';
import type { Shape } from '../shape.ts';

const OF_ARRAYS = ['invalid_json', 'invalid_memory_strategy', 'invalid_messages', ...BODY_ERRORS] as const;

const FROM_UPSTREAM = [
  ...OF_ARRAYS,
  'invalid_encrypted_content',
  'upstream_refused',
  'rate_limit_exceeded',
  'rate_limited',
  'budget_exceeded',
  'model_not_allowed',
  'upstream_unreachable',
  'upstream_timeout',
  'answer_too_large',
  'memory_budget_exceeded',
  'not_forwarded',
] as const;

const OF_PLANS = [
  ...OF_ARRAYS,
  'invalid_encrypted_content',
  'memory_budget_exceeded',
  'thread_unsupported_request',
  'rate_limited',
  'budget_exceeded',
  'model_not_allowed',
  'not_forwarded',
] as const;

const model = 'gpt-6-sol';
const messages = [{ role: 'user', content: 'What is left to do?' }];
const memory_strategy = { mode: 'auto', token_budget: 32_000 };

const sha256 = '0'.repeat(64);
const receipt = {
  version: 1,
  precis: '0.10.0',
  issued_at: 1_790_000_000,
  protocol: 'chat',
  observed: false,
  strategy: memory_strategy,
  limit: null,
  hashes: {
    array: sha256,
    text: sha256,
    request: sha256,
    strategy: sha256,
    prices: sha256,
    plan: sha256,
    view: sha256,
    words: null,
  },
  signature: sha256,
};

/** The upstream's answer, or what has its headers. */
const reported = (schema: Shape, events?: Shape): Answer => ({
  description: "The upstream's answer.",
  content: { 'application/json': schema, ...(events && { 'text/event-stream': events }) },
  headers: REPORT_HEADERS,
});

const OF_MODELS = routes(
  { group: 'Models', access: 'caller', errors: FROM_UPSTREAM },
  {
    'post /v1/chat/completions': {
      id: 'createChatCompletion',
      summary: 'A chat completion, of a shorter view of its messages',
      description:
        "OpenAI's own request and answer, streaming or not. The fields of Precis are read and removed before the request is forwarded. Status, headers and body of the answer are the upstream's.",
      headers: [...MEMORY_HEADERS, ...STREAM_HEADERS],
      body: sent(requestOf('CreateChatCompletionRequest'), {
        model,
        messages,
        memory_strategy,
        memory_report: true,
      }),
      answers: {
        200: reported(
          answerOf('CreateChatCompletionResponse'),
          streamOf('CreateChatCompletionStreamResponse', 'ChatStreamError'),
        ),
      },
      samples: [
        ...clientSample(`const completion = await client.chat.completions.create({
  model: 'gpt-6-sol',
  messages, // the whole array, every time
  memory_strategy: { mode: 'auto', token_budget: 32_000 },
} as OpenAI.ChatCompletionCreateParamsNonStreaming);`),
        {
          lang: 'Python',
          label: 'openai (Python)',
          source: `client = OpenAI(base_url=f"{HOST}/v1", api_key=KEY)
completion = client.chat.completions.create(
    model="gpt-6-sol",
    messages=messages,  # the whole array, every time
    extra_body={"memory_strategy": {"mode": "auto", "token_budget": 32_000}},
)`,
        },
      ],
      page: 'getting-started.md',
    },
    'post /v1/responses': {
      id: 'createResponse',
      summary: 'A response, of a shorter view of its input',
      description:
        "OpenAI's own request and answer, streaming or not. If the upstream stores the history, the request is forwarded unchanged (`upstream_state`).",
      headers: [...MEMORY_HEADERS, ...STREAM_HEADERS],
      body: sent(requestOf('CreateResponse'), { model, input: messages, store: false, memory_strategy }),
      answers: {
        200: reported(
          answerOf('Response'),
          streamOf('ResponseStreamEvent', 'ResponseStreamError', 'ResponseFailed'),
        ),
      },
      samples: clientSample(`const response = await client.responses.create({
  model: 'gpt-6-sol',
  input, // all items, every time
  store: false,
  memory_strategy: { mode: 'auto', token_budget: 32_000 },
} as OpenAI.Responses.ResponseCreateParamsNonStreaming);`),
      page: 'responses-api.md',
    },
    'post /v1/responses/compact': {
      id: 'compactResponse',
      summary: 'A conversation as one opaque item, to send back instead',
      description: 'Forwarded unchanged if the upstream stores the conversation.',
      headers: MEMORY_HEADERS,
      body: sent(requestOf('CompactResponseMethodPublicBody'), { model, input: messages }),
      answers: {
        200: json('Recent user messages and the item.', schemas.responseCompaction, REPORT_HEADERS),
      },
      errors: [...FROM_UPSTREAM, 'store_failed'],
      samples: clientSample(
        "const { output } = await client.responses.compact({ model: 'gpt-6-sol', input });",
      ),
      page: 'responses-api.md#compactions',
    },
    'post /v1/responses/input_tokens': {
      id: 'countInputTokens',
      summary: "The upstream's count of the view that would be sent",
      description:
        'With the tools and messages that Precis adds. Nothing is stored for it, and no summary is made. Forwarded unchanged if the upstream stores the history.',
      headers: MEMORY_HEADERS,
      body: sent(requestOf('TokenCountsBody'), { model, input: messages, memory_strategy }),
      answers: { 200: reported(answerOf('TokenCountsResource')) },
      samples: clientSample(
        "const { input_tokens } = await client.responses.inputTokens.count({ model: 'gpt-6-sol', input });",
      ),
      page: 'responses-api.md#counting',
    },
    'post /v1/messages': {
      id: 'createMessage',
      summary: 'A message of Anthropic’s API, of a shorter view of its messages',
      description:
        "Anthropic's own request and answer, streaming or not, with its query. The fields of Precis are read and removed before the request is forwarded.",
      speaks: 'messages',
      headers: [...MEMORY_HEADERS, ...STREAM_HEADERS, ...MESSAGES_HEADERS],
      body: sent(messagesOf('max_tokens'), {
        model: 'claude-sonnet-5-5',
        max_tokens: 1024,
        messages,
        memory_strategy,
      }),
      answers: { 200: reported(MESSAGE, MESSAGE_EVENTS) },
      errors: [...FROM_UPSTREAM, 'thread_unsupported_request'],
      samples: [
        {
          lang: 'TypeScript',
          label: '@anthropic-ai/sdk (TypeScript)',
          source: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: HOST, apiKey: KEY });
const message = await client.messages.create({
  model: 'claude-sonnet-5-5',
  max_tokens: 1024,
  messages, // the whole array, every time
  memory_strategy: { mode: 'auto', token_budget: 32_000 },
} as Anthropic.MessageCreateParamsNonStreaming);`,
        },
      ],
      page: 'messages-api.md',
    },
    'post /v1/messages/count_tokens': {
      id: 'countMessageTokens',
      summary: "The upstream's count of the view of a message request",
      description:
        'With the tools and messages that Precis adds. Nothing is stored for it, and no summary is made.',
      speaks: 'messages',
      headers: [...MEMORY_HEADERS, ...MESSAGES_HEADERS],
      body: sent(messagesOf(), { model: 'claude-sonnet-5-5', messages, memory_strategy }),
      answers: { 200: reported({ type: 'object', properties: { input_tokens: { type: 'integer' } } }) },
      errors: [...FROM_UPSTREAM, 'thread_unsupported_request'],
      page: 'messages-api.md#the-routes',
    },
  },
);

const PLANS = routes(
  { group: 'Plans', access: 'caller', headers: MEMORY_HEADERS, errors: OF_PLANS },
  {
    'post /v1/compact': {
      id: 'compact',
      summary: 'The view and the report, without a completion',
      body: sent(COMPACT, { model, messages, memory_strategy, force: true }),
      answers: { 200: json('The view, or plain turns.', schemas.compaction, REPORT_HEADERS) },
      samples: clientSample(`const { messages: view, memory } = await client.post('/compact', {
  body: { model: 'gpt-6-sol', messages, memory_strategy: { mode: 'auto' }, dry_run: true },
});`),
      page: 'refs-and-retrieval.md#post-v1compact',
    },
    'post /v1/compress': {
      id: 'compress',
      summary: "Shorter messages for a gateway, by Headroom's contract",
      description:
        'The same plan as `POST /v1/compact`; without a strategy, `auto`. Markers have a `hash` next to their ref. `x-headroom-bypass: true` leaves the messages unchanged.',
      body: sent(COMPRESS, { model, messages, token_budget: 32_000 }),
      answers: { 200: json('The messages, in their original form.', schemas.compressed, REPORT_HEADERS) },
      errors: [...OF_PLANS, 'invalid_value'],
      page: 'coming-from.md#gateways-that-call-headroom',
    },
    'get /v1/retrieve/{hash}': {
      id: 'retrieve',
      summary: 'The content of a hash',
      parameters: [
        inPath(
          'hash',
          'As a marker of `POST /v1/compress` has it.',
          { type: 'string', pattern: '^[0-9a-f]{24}$' },
          '0'.repeat(24),
        ),
        query(
          'query',
          'Only lines that hold this text, with five around each; the whole content if none does.',
          { type: 'string' },
        ),
      ],
      headers: [],
      answers: { 200: json('The content.', schemas.retrieved) },
      errors: ['ref_not_found'],
      page: 'coming-from.md#gateways-that-call-headroom',
    },
    'post /v1/explain': {
      id: 'explain',
      summary: 'What a strategy does with each message, and why',
      description: 'Stores nothing and asks no model.',
      body: sent(EXPLAIN, { model, messages, memory_strategy }),
      answers: { 200: json('The plan.', schemas.explanation, REPORT_HEADERS) },
      page: 'refs-and-retrieval.md#post-v1explain',
    },
    'post /v1/verify': {
      id: 'verify',
      summary: 'Whether a receipt is right',
      description: 'Makes its plan again. Stores nothing and asks no model.',
      headers: ['x-agent-type', 'x-conversation-id', 'x-memory-user'],
      body: sent(VERIFY, { model, messages, receipt }),
      answers: { 200: json('What each check has found.', schemas.verification) },
      page: 'answers-and-errors.md#receipts',
    },
  },
);

export const MODELS: readonly Operation[] = [...OF_MODELS, ...PLANS];
