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
import type { Operation } from '../operation.ts';
import * as schemas from '../schemas/plan.ts';

const FROM_UPSTREAM = [
  'invalid_json',
  'invalid_memory_strategy',
  'invalid_messages',
  'body_too_large',
  'overloaded',
  'unsupported_media_type',
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
  'invalid_json',
  'invalid_memory_strategy',
  'invalid_messages',
  'body_too_large',
  'overloaded',
  'unsupported_media_type',
  'invalid_encrypted_content',
  'memory_budget_exceeded',
  'thread_unsupported_request',
  'rate_limited',
  'budget_exceeded',
  'model_not_allowed',
  'not_forwarded',
] as const;

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

const CLIENT = `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: \`\${HOST}/v1\`, apiKey: KEY });`;

const ANTHROPIC_CLIENT = `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: HOST, apiKey: KEY });`;

export const MODELS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    group: 'Models',
    summary: 'A chat completion, of a shorter view of its messages',
    description:
      "OpenAI's own request and answer, streaming or not. The fields of Precis are read and removed before the request is forwarded. Status, headers and body of the answer are the upstream's.",
    access: 'caller',
    headers: [...MEMORY_HEADERS, ...STREAM_HEADERS],
    body: {
      content: { 'application/json': requestOf('CreateChatCompletionRequest') },
      example: { model: 'gpt-6-sol', messages, memory_strategy, memory_report: true },
    },
    answers: {
      200: {
        description: "The upstream's answer.",
        content: {
          'application/json': answerOf('CreateChatCompletionResponse'),
          'text/event-stream': streamOf('CreateChatCompletionStreamResponse', 'ChatStreamError'),
        },
        headers: REPORT_HEADERS,
      },
    },
    errors: FROM_UPSTREAM,
    samples: [
      {
        lang: 'TypeScript',
        label: 'openai (TypeScript)',
        source: `${CLIENT}
const completion = await client.chat.completions.create({
  model: 'gpt-6-sol',
  messages, // the whole array, every time
  memory_strategy: { mode: 'auto', token_budget: 32_000 },
} as OpenAI.ChatCompletionCreateParamsNonStreaming);`,
      },
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
  {
    method: 'post',
    path: '/v1/responses',
    id: 'createResponse',
    group: 'Models',
    summary: 'A response, of a shorter view of its input',
    description:
      "OpenAI's own request and answer, streaming or not. If the upstream stores the history, the request is forwarded unchanged (`upstream_state`).",
    access: 'caller',
    headers: [...MEMORY_HEADERS, ...STREAM_HEADERS],
    body: {
      content: { 'application/json': requestOf('CreateResponse') },
      example: { model: 'gpt-6-sol', input: messages, store: false, memory_strategy },
    },
    answers: {
      200: {
        description: "The upstream's answer.",
        content: {
          'application/json': answerOf('Response'),
          'text/event-stream': streamOf('ResponseStreamEvent', 'ResponseStreamError', 'ResponseFailed'),
        },
        headers: REPORT_HEADERS,
      },
    },
    errors: FROM_UPSTREAM,
    samples: [
      {
        lang: 'TypeScript',
        label: 'openai (TypeScript)',
        source: `${CLIENT}
const response = await client.responses.create({
  model: 'gpt-6-sol',
  input, // all items, every time
  store: false,
  memory_strategy: { mode: 'auto', token_budget: 32_000 },
} as OpenAI.Responses.ResponseCreateParamsNonStreaming);`,
      },
    ],
    page: 'responses-api.md',
  },
  {
    method: 'post',
    path: '/v1/responses/compact',
    id: 'compactResponse',
    group: 'Models',
    summary: 'A conversation as one opaque item, to send back instead',
    description: 'Forwarded unchanged if the upstream stores the conversation.',
    access: 'caller',
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': requestOf('CompactResponseMethodPublicBody') },
      example: { model: 'gpt-6-sol', input: messages },
    },
    answers: {
      200: {
        description: 'Recent user messages and the item.',
        content: { 'application/json': schemas.responseCompaction },
        headers: REPORT_HEADERS,
      },
    },
    errors: [...FROM_UPSTREAM, 'store_failed'],
    samples: [
      {
        lang: 'TypeScript',
        label: 'openai (TypeScript)',
        source: `${CLIENT}
const { output } = await client.responses.compact({ model: 'gpt-6-sol', input });`,
      },
    ],
    page: 'responses-api.md#compactions',
  },
  {
    method: 'post',
    path: '/v1/responses/input_tokens',
    id: 'countInputTokens',
    group: 'Models',
    summary: "The upstream's count of the view that would be sent",
    description:
      'With the tools and messages that Precis adds. Nothing is stored for it, and no summary is made. Forwarded unchanged if the upstream stores the history.',
    access: 'caller',
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': requestOf('TokenCountsBody') },
      example: { model: 'gpt-6-sol', input: messages, memory_strategy },
    },
    answers: {
      200: {
        description: "The upstream's answer.",
        content: { 'application/json': answerOf('TokenCountsResource') },
        headers: REPORT_HEADERS,
      },
    },
    errors: FROM_UPSTREAM,
    samples: [
      {
        lang: 'TypeScript',
        label: 'openai (TypeScript)',
        source: `${CLIENT}
const { input_tokens } = await client.responses.inputTokens.count({ model: 'gpt-6-sol', input });`,
      },
    ],
    page: 'responses-api.md#counting',
  },
  {
    method: 'post',
    path: '/v1/messages',
    id: 'createMessage',
    group: 'Models',
    summary: 'A message of Anthropic’s API, of a shorter view of its messages',
    description:
      "Anthropic's own request and answer, streaming or not, with its query. The fields of Precis are read and removed before the request is forwarded.",
    access: 'caller',
    speaks: 'messages',
    headers: [...MEMORY_HEADERS, ...STREAM_HEADERS, ...MESSAGES_HEADERS],
    body: {
      content: { 'application/json': messagesOf('max_tokens') },
      example: { model: 'claude-sonnet-5-5', max_tokens: 1024, messages, memory_strategy },
    },
    answers: {
      200: {
        description: "The upstream's answer.",
        content: { 'application/json': MESSAGE, 'text/event-stream': MESSAGE_EVENTS },
        headers: REPORT_HEADERS,
      },
    },
    errors: [...FROM_UPSTREAM, 'thread_unsupported_request'],
    samples: [
      {
        lang: 'TypeScript',
        label: '@anthropic-ai/sdk (TypeScript)',
        source: `${ANTHROPIC_CLIENT}
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
  {
    method: 'post',
    path: '/v1/messages/count_tokens',
    id: 'countMessageTokens',
    group: 'Models',
    summary: "The upstream's count of the view of a message request",
    description:
      'With the tools and messages that Precis adds. Nothing is stored for it, and no summary is made.',
    access: 'caller',
    speaks: 'messages',
    headers: [...MEMORY_HEADERS, ...MESSAGES_HEADERS],
    body: {
      content: { 'application/json': messagesOf() },
      example: { model: 'claude-sonnet-5-5', messages, memory_strategy },
    },
    answers: {
      200: {
        description: "The upstream's answer.",
        content: {
          'application/json': { type: 'object', properties: { input_tokens: { type: 'integer' } } },
        },
        headers: REPORT_HEADERS,
      },
    },
    errors: [...FROM_UPSTREAM, 'thread_unsupported_request'],
    page: 'messages-api.md#the-routes',
  },
  {
    method: 'post',
    path: '/v1/compact',
    id: 'compact',
    group: 'Plans',
    summary: 'The view and the report, without a completion',
    access: 'caller',
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': COMPACT },
      example: { model: 'gpt-6-sol', messages, memory_strategy, force: true },
    },
    answers: {
      200: {
        description: 'The view, or plain turns.',
        content: { 'application/json': schemas.compaction },
        headers: REPORT_HEADERS,
      },
    },
    errors: OF_PLANS,
    samples: [
      {
        lang: 'TypeScript',
        label: 'openai (TypeScript)',
        source: `${CLIENT}
const { messages: view, memory } = await client.post('/compact', {
  body: { model: 'gpt-6-sol', messages, memory_strategy: { mode: 'auto' }, dry_run: true },
});`,
      },
    ],
    page: 'refs-and-retrieval.md#post-v1compact',
  },
  {
    method: 'post',
    path: '/v1/compress',
    id: 'compress',
    group: 'Plans',
    summary: "Shorter messages for a gateway, by Headroom's contract",
    description:
      'The same plan as `POST /v1/compact`; without a strategy, `auto`. Markers have a `hash` next to their ref. `x-headroom-bypass: true` leaves the messages unchanged.',
    access: 'caller',
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': COMPRESS },
      example: { model: 'gpt-6-sol', messages, token_budget: 32_000 },
    },
    answers: {
      200: {
        description: 'The messages, in their original form.',
        content: { 'application/json': schemas.compressed },
        headers: REPORT_HEADERS,
      },
    },
    errors: [...OF_PLANS, 'invalid_value'],
    page: 'coming-from.md#gateways-that-call-headroom',
  },
  {
    method: 'get',
    path: '/v1/retrieve/{hash}',
    id: 'retrieve',
    group: 'Plans',
    summary: 'The content of a hash',
    access: 'caller',
    parameters: [
      {
        name: 'hash',
        in: 'path',
        description: 'As a marker of `POST /v1/compress` has it.',
        schema: { type: 'string', pattern: '^[0-9a-f]{24}$' },
        example: '000000000000000000000000',
      },
      {
        name: 'query',
        in: 'query',
        description: 'Only lines that hold this text, with five around each; the whole content if none does.',
        schema: { type: 'string' },
      },
    ],
    answers: { 200: { description: 'The content.', content: { 'application/json': schemas.retrieved } } },
    errors: ['ref_not_found'],
    page: 'coming-from.md#gateways-that-call-headroom',
  },
  {
    method: 'post',
    path: '/v1/explain',
    id: 'explain',
    group: 'Plans',
    summary: 'What a strategy does with each message, and why',
    description: 'Stores nothing and asks no model.',
    access: 'caller',
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': EXPLAIN },
      example: { model: 'gpt-6-sol', messages, memory_strategy },
    },
    answers: {
      200: {
        description: 'The plan.',
        content: { 'application/json': schemas.explanation },
        headers: REPORT_HEADERS,
      },
    },
    errors: OF_PLANS,
    page: 'refs-and-retrieval.md#post-v1explain',
  },
  {
    method: 'post',
    path: '/v1/verify',
    id: 'verify',
    group: 'Plans',
    summary: 'Whether a receipt is right',
    description: 'Makes its plan again. Stores nothing and asks no model.',
    access: 'caller',
    headers: ['x-agent-type', 'x-conversation-id', 'x-memory-user'],
    body: {
      content: { 'application/json': VERIFY },
      example: { model: 'gpt-6-sol', messages, receipt },
    },
    answers: {
      200: {
        description: 'What each check has found.',
        content: { 'application/json': schemas.verification },
      },
    },
    errors: OF_PLANS,
    page: 'answers-and-errors.md#receipts',
  },
];
