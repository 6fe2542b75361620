/** Bodies that name parts of OpenAI's own document, and our fields beside them. */
import type { JsonSchema } from './shape.ts';

/** OpenAI's OpenAPI document (https://github.com/openai/openai-openapi). */
export const OPENAI_DOCUMENT = 'https://app.stainless.com/api/spec/documented/openai/openapi.documented.yml';

/** A schema of OpenAI's. */
function openai(name: string): JsonSchema {
  return { $ref: `${OPENAI_DOCUMENT}#/components/schemas/${name}` };
}

/** A schema of this document. */
export function own(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function object(properties: JsonSchema, ...required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

const objects = { type: 'array', items: { type: 'object' } } as const;

const memory = object({ memory: { ...own('Report'), description: 'With `memory_report`.' } });

/** A request of OpenAI's with our fields. */
export const requestOf = (name: string): JsonSchema => ({ allOf: [openai(name), own('MemoryFields')] });

/** An answer of OpenAI's, which has the report if it was asked for. */
export const answerOf = (name: string): JsonSchema => ({ allOf: [openai(name), memory] });

/** The events of a stream. @param errors names of the events that end it with an error */
export const streamOf = (name: string, ...errors: readonly string[]): JsonSchema => ({
  type: 'string',
  description: `Server-sent events, the data of each being \`${name}\` of OpenAI's document. An error ends the stream as ${eitherIn(errors)}. Comments keep a silent stream alive.`,
  contentMediaType: 'text/event-stream',
  contentSchema: { anyOf: [openai(name), ...errors.map(own)] },
});

function eitherIn(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(' or ');
}

const block: JsonSchema = { oneOf: [{ type: 'string' }, objects] };

/** A request of Anthropic's Messages, as far as it is read. */
export function messagesOf(...required: readonly string[]): JsonSchema {
  const message = object(
    { role: { enum: ['user', 'assistant', 'system'] }, content: block },
    'role',
    'content',
  );
  const request = object(
    {
      model: { type: 'string' },
      max_tokens: { type: 'integer', minimum: 1 },
      system: block,
      messages: { type: 'array', minItems: 1, items: message },
      tools: objects,
    },
    'model',
    'messages',
    ...required,
  );
  const description = "Anthropic's own request (https://platform.claude.com/docs/en/api/messages/create).";
  return { allOf: [{ ...request, description }, own('MemoryFields')] };
}

/** Anthropic's answer, which has the report if it was asked for. */
export const MESSAGE: JsonSchema = {
  allOf: [
    {
      ...object({
        type: { const: 'message' },
        content: objects,
        stop_reason: { type: ['string', 'null'] },
        usage: { type: 'object' },
      }),
      description: "Anthropic's own `Message`.",
    },
    memory,
  ],
};

/** The events of a streamed message. */
export const MESSAGE_EVENTS: JsonSchema = {
  type: 'string',
  description:
    "Server-sent events of Anthropic's API. The report is in the last `message_delta`; an error ends the stream as `MessagesStreamError`; `ping` keeps a silent stream alive.",
  contentMediaType: 'text/event-stream',
  contentSchema: { anyOf: [{ type: 'object' }, own('MessagesStreamError')] },
};

const list: JsonSchema = { ...objects, minItems: 1 };

/** The fields of a conversation in any protocol. */
const conversation = {
  model: { type: ['string', 'null'], description: 'The model whose window, prices and tokens apply.' },
  messages: {
    ...list,
    description:
      "As in chat completions: OpenAI's `ChatCompletionRequestMessage`. With `anthropic-version`, as in Anthropic's Messages.",
  },
  input: {
    oneOf: [{ type: 'string' }, list],
    description: 'Instead of `messages`, as in the Responses API.',
  },
  instructions: { type: 'string', description: 'Beside `input`.' },
  system: { ...block, description: "Beside `messages` of Anthropic's." },
  tools: objects,
  force: flag('Compacts as if the triggers were met.'),
} as const;

/** A conversation of any protocol, with these members. */
function ofAny(properties: JsonSchema, ...required: readonly string[]): readonly JsonSchema[] {
  return [{ oneOf: [{ required: ['messages'] }, { required: ['input'] }] }, object(properties, ...required)];
}

/** The same with our fields. */
function planned(properties: JsonSchema): JsonSchema {
  return { allOf: [own('MemoryFields'), ...ofAny(properties)] };
}

const { force: _, ...whole } = conversation;

/** A conversation of any protocol, with our fields. */
export const WHOLE = planned(whole);

const { messages, input, instructions, system } = conversation;

/** The array of a request of any protocol. */
export const ARRAY: JsonSchema = { allOf: ofAny({ messages, input, instructions, system }) };

export const EXPLAIN = planned({
  ...conversation,
  course: flag('Also lists each request of the conversation, with its price.'),
});

/** The body of a request, with its receipt. */
export const VERIFY: JsonSchema = {
  allOf: ofAny(
    { ...whole, receipt: { ...own('Receipt'), description: '`memory.receipt` of the answer.' } },
    'receipt',
  ),
};

export const COMPACT = planned({
  ...conversation,
  dry_run: flag('Nothing is stored, and no summarizer is asked.'),
  format: {
    enum: ['messages', 'conversation_memory', 'opaque'],
    default: 'messages',
    description:
      'What is returned: the view, plain turns, or one message that holds the view in sealed form.',
  },
});

/** What a gateway sends to have messages shortened. Headroom's `config` is not read. */
export const COMPRESS: JsonSchema = {
  allOf: [
    own('MemoryFields'),
    object(
      {
        model: conversation.model,
        messages: {
          ...list,
          description: "As in chat completions, or in Anthropic's Messages, which their blocks show.",
        },
        token_budget: {
          type: 'integer',
          minimum: 1,
          description: 'The budget of `auto`, if no strategy is chosen.',
        },
      },
      'messages',
    ),
  ],
};

/** Settings of a conversation. A body with a `mode` is the strategy itself. */
export const SETTINGS: JsonSchema = {
  anyOf: [
    {
      ...object({
        memory_strategy: { oneOf: [own('MemoryStrategy'), { type: 'null' }] },
        memory_injection: { oneOf: [own('MemoryInjection'), { type: 'null' }] },
      }),
      additionalProperties: false,
    },
    own('MemoryStrategy'),
  ],
};

/** A message of JSON-RPC, as the Model Context Protocol sends it. */
export const JSON_RPC = object(
  {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer', 'null'] },
    method: { type: 'string' },
    params: { type: 'object' },
    result: { type: 'object' },
    error: object({ code: { type: 'integer' }, message: { type: 'string' } }, 'code', 'message'),
  },
  'jsonrpc',
);

/** A field that is off unless it is given. */
function flag(description: string) {
  return { type: 'boolean', default: false, description } as const;
}
