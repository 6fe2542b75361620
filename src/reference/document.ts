/**
 * The OpenAPI document of this version (https://spec.openapis.org/oas/v3.1.1.html).
 *
 * Zod's own `z.toJSONSchema` makes the schemas. `@hono/zod-openapi` would replace `Hono` and the
 * checks of requests, whose errors name what would be right; `hono-openapi` would put a middleware
 * before each handler. A table beside the app changes no request.
 */
import * as z from 'zod';
import { MODE_NAMES, MODES } from '../memory/modes/meanings.ts';
import type { Mode } from '../memory/modes/table.ts';
import { warningSchema } from '../memory/plan/report-schema.ts';
import { WARNINGS } from '../memory/plan/warnings.ts';
import { FAILED_CODES } from '../protocol/responses/failed-codes.ts';
import { ERRORS, type ErrorCode } from '../request/error-codes.ts';
import { OPENAI_DOCUMENT, own } from './bodies.ts';
import { BLOCKS_FIELDS, INJECTION_FIELDS, OWN_FIELDS, STRATEGY_FIELDS } from './fields.ts';
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './headers.ts';
import { Components, mapValues, nullable } from './json-schema.ts';
import { withoutLinks } from './links.ts';
import { type Answer, type Method, type Operation, samplesOf } from './operation.ts';
import * as errors from './schemas/errors.ts';
import { refFacts } from './schemas/stored.ts';
import type { JsonSchema } from './shape.ts';
import { OPERATIONS } from './table.ts';

/**
 * Parts of the document that model requests run. They are handed over, since a module that is
 * imported from here would be loaded late for all.
 */
export interface ApiParts {
  readonly version: string;
  readonly modes: Readonly<Record<Mode, { readonly schema: z.ZodType }>>;
  readonly memoryInjection: z.ZodType;
  readonly memoryBlocks: z.ZodType;
  readonly memorySummary: z.ZodType;
  /** The body of `PUT /v1/conversations/{id}/memory`. */
  readonly sentMemory: z.ZodType;
}

export type DocumentedOperation = ReturnType<typeof documented>;
export type DocumentedAnswer = ReturnType<typeof answerOf>;
export type ApiDocument = ReturnType<typeof apiDocument>;

const ABOUT = `Precis is a proxy between a client of OpenAI's or Anthropic's API and that API. It forwards a shorter view of long conversations.

Routes are matched at the end of a path, those below \`/v1\` also without it, and all of them below \`/agents/{agent}\`, with that agent's defaults. \`HEAD\` works on each route with \`GET\`. A wrong method on a route of Precis is a 405 (\`method_not_allowed\`). Other paths below \`/v1\` are forwarded unchanged; see OpenAI's own document. Errors have OpenAI's shape; on the routes of Anthropic's API, Anthropic's.`;

const GROUPS: Readonly<Record<Operation['group'], string>> = {
  Models: "OpenAI's and Anthropic's routes, with the fields of Precis added.",
  Plans: 'What a strategy does to an array, without a completion.',
  Conversations: 'Settings, summaries and archives of named conversations.',
  Users: "What a user's conversations know about each other.",
  Refs: 'Contents that were removed from a view.',
  'Memory blocks': 'Short texts under labels, which agents share.',
  Deployment: 'The deployment itself, and this reference.',
};

/** Errors of all routes with an access. */
const COMMON: Readonly<Record<Operation['access'], readonly ErrorCode[]>> = {
  caller: [
    'invalid_value',
    'invalid_api_key',
    'key_not_checked',
    'caller_disabled',
    'forbidden_origin',
    'unknown_agent',
    'store_failed',
    'misconfigured',
    'internal_error',
  ],
  metrics: ['invalid_api_key', 'misconfigured', 'internal_error'],
  admin: ['invalid_api_key', 'misconfigured', 'internal_error'],
  none: [],
};

export function apiDocument(parts: ApiParts) {
  const components = new Components();
  addStrategies(components, parts);
  addFields(components, parts);
  for (const schema of [...Object.values(errors), warningSchema, refFacts]) components.of(schema);
  const paths = pathsOf(components);
  components.describe('Warning', listOf(WARNINGS));
  components.describe('ErrorCode', listOf(meaningsOf(errors.errorCode.options)));
  components.describe('ResponseFailedCode', listOf(FAILED_CODES));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Precis',
      version: parts.version,
      summary: 'A memory proxy for the OpenAI API and for Anthropic’s Messages.',
      description: ABOUT,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      { url: '/', description: 'This deployment.' },
      {
        url: '/agents/{agent}',
        description: "With an agent's defaults.",
        variables: { agent: { default: 'coding', description: 'The key of an agent.' } },
      },
    ],
    tags: Object.entries(GROUPS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas,
      parameters: mapValues(
        REQUEST_HEADERS,
        (header, name): JsonSchema => ({ name, in: 'header', ...inWords(header) }),
      ),
      headers: mapValues(RESPONSE_HEADERS, inWords),
      securitySchemes: {
        caller: {
          type: 'http',
          scheme: 'bearer',
          description: "The caller's own key for the upstream, or an access key of the deployment.",
        },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: "The same, as clients of Anthropic's API send it.",
        },
        metrics: { type: 'http', scheme: 'bearer', description: '`METRICS_TOKEN` of the deployment.' },
        admin: { type: 'http', scheme: 'bearer', description: '`ADMIN_TOKEN` of the deployment.' },
      },
    },
    externalDocs: { description: "OpenAI's own document", url: OPENAI_DOCUMENT },
  };
}

/** Described without links: they lead to pages from the folder of the pages. */
function inWords<Described extends { readonly description: string }>(one: Described): Described {
  return { ...one, description: withoutLinks(one.description) };
}

/** Codes with what they mean, in paragraphs. */
function listOf(codes: Readonly<Record<string, string>>): string {
  return Object.entries(codes)
    .map(([code, meaning]) => `\`${code}\`: ${withoutLinks(meaning)}`)
    .join('\n\n');
}

function pathsOf(components: Components) {
  const paths: Record<string, Partial<Record<Method, DocumentedOperation>>> = {};
  for (const operation of OPERATIONS)
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method]: documented(operation, components),
    };
  return paths;
}

function documented(operation: Operation, components: Components) {
  const { id, group, summary, description, access, body, page, parameters = [], headers = [] } = operation;
  return {
    operationId: id,
    tags: [group] as readonly string[],
    summary,
    ...(description === undefined ? {} : { description }),
    externalDocs: { url: `/docs/${page.replace('.md', '')}` },
    security: access === 'none' ? [] : [{ [access]: [] }, ...(access === 'caller' ? [{ apiKey: [] }] : [])],
    parameters: [
      ...parameters.map((one): JsonSchema => ({ ...one, required: one.in === 'path' })),
      ...headers.map((name): JsonSchema => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: mapValues(body.content, (shape) => ({
          schema: components.of(shape),
          example: body.example,
        })),
      },
    }),
    responses: {
      ...mapValues(operation.answers, (answer) => answerOf(answer, components)),
      ...errorsOf(operation),
    },
    'x-codeSamples': samplesOf(operation),
  };
}

function answerOf({ description, content, headers = [] }: Answer, components: Components) {
  return {
    description,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    }),
    ...(content && { content: mapValues(content, (shape) => ({ schema: components.of(shape) })) }),
  };
}

/** Of each status, the codes with it. */
function errorsOf({ access, speaks, errors = [] }: Operation): Record<string, DocumentedAnswer> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...COMMON[access], ...errors])) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const answers = [...byStatus].map(([status, codes]) => [status, errorAnswer(codes, speaks)] as const);
  return Object.fromEntries(answers);
}

/** When each of the codes is answered. */
function meaningsOf(codes: readonly ErrorCode[]): Record<string, string> {
  return Object.fromEntries(codes.map((code) => [code, ERRORS[code].when]));
}

function errorAnswer(codes: readonly ErrorCode[], speaks: Operation['speaks']): DocumentedAnswer {
  const ofCodes = { properties: { error: { properties: { code: { enum: codes } } } } };
  return {
    description: listOf(meaningsOf(codes)),
    content: {
      'application/json': { schema: { allOf: [own(speaks ? 'MessagesError' : 'Error'), ofCodes] } },
    },
  };
}

function addStrategies(components: Components, { modes }: ApiParts): void {
  const schemas = MODE_NAMES.map((mode) => {
    const name = `${mode.replace(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase())}Strategy`;
    const schema = describedMembers(components.convert(modes[mode].schema, 'input'), STRATEGY_FIELDS);
    components.add(name, { ...schema, description: MODES[mode] });
    return own(name);
  });
  const name = { type: 'string', enum: MODE_NAMES, description: 'The name of a mode, with its defaults.' };
  components.add('MemoryStrategy', {
    description: 'Strict: an unknown field is an error. Null is the default of a field.',
    oneOf: [name, ...schemas],
  });
}

function addFields(components: Components, parts: ApiParts): void {
  const { memoryInjection, memoryBlocks, memorySummary, sentMemory } = parts;
  const input = (schema: z.ZodType): JsonSchema => components.convert(schema, 'input');
  components.add('MemoryInjection', describedChoice(input(memoryInjection), INJECTION_FIELDS));
  components.add('MemoryBlocks', describedChoice(input(memoryBlocks), BLOCKS_FIELDS));
  components.add('MemorySummary', input(memorySummary));
  components.describe('MemorySummary', 'The `summary` of an earlier report (`ReportedSummary`).');
  // The members are described where `GET` answers them.
  components.add('SentMemory', components.convert(sentMemory, 'input', z.registry()));
  components.describe('SentMemory', 'What `GET` of the same route has answered (`ConversationMemory`).');
  const fields: Readonly<Record<keyof typeof OWN_FIELDS, JsonSchema>> = {
    memory_strategy: own('MemoryStrategy'),
    memory_injection: own('MemoryInjection'),
    memory_blocks: own('MemoryBlocks'),
    memory_report: {
      anyOf: [
        { type: 'boolean' },
        { type: 'object', properties: { capture: { deprecated: true } }, additionalProperties: false },
      ],
      default: false,
    },
    memory_summary: own('MemorySummary'),
    conversation_id: { anyOf: [{ type: 'string', minLength: 1, maxLength: 256 }, { type: 'integer' }] },
    agent_type: { type: 'string' },
  };
  components.add('MemoryFields', {
    type: 'object',
    description: 'The fields of Precis. They are removed before a request is forwarded.',
    properties: mapValues(fields, (field, name) =>
      nullable(inWords({ ...field, description: OWN_FIELDS[name as keyof typeof OWN_FIELDS] })),
    ),
  });
}

type Meanings = Readonly<Record<string, string>>;

/** A choice of values, of which the objects are described. */
function describedChoice(choice: JsonSchema, meanings: Meanings): JsonSchema {
  const { anyOf } = choice as { anyOf: readonly JsonSchema[] };
  return { ...choice, anyOf: anyOf.map((one) => describedMembers(one, meanings)) };
}

/** A schema with the members of an object described. Null is a member's default. */
function describedMembers(schema: JsonSchema, meanings: Meanings): JsonSchema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const members = mapValues(properties as Record<string, JsonSchema>, (member, key) => {
    const whole = inWords({ ...member, description: meanings[key] ?? '' });
    return (required as readonly string[]).includes(key) ? whole : nullable(whole);
  });
  return { ...schema, properties: members };
}
