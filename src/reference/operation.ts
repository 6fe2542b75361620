/**
 * An entry of the table of routes (`table.ts`), from which the OpenAPI document and the page at
 * `/docs` are made. A route without an entry fails a test.
 */
import type { ErrorCode } from '../request/errors.ts';
import type { RequestHeader, ResponseHeader } from './headers.ts';
import type { JsonSchema, Shape } from './shape.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly description: string;
  readonly schema: JsonSchema;
  /** Value in the examples. */
  readonly example?: string | number;
}

export interface Answer {
  readonly description: string;
  /** By media type. Absent: an answer without a body. */
  readonly content?: Readonly<Record<string, Shape>>;
  readonly headers?: readonly ResponseHeader[];
}

export interface Sample {
  readonly lang: 'TypeScript' | 'Python' | 'Shell';
  readonly label: string;
  readonly source: string;
}

type Group = 'Models' | 'Plans' | 'Conversations' | 'Users' | 'Refs' | 'Memory blocks' | 'Deployment';

export interface Operation {
  readonly method: Method;
  /** With names in braces: `/v1/refs/{ref}`. */
  readonly path: string;
  readonly id: string;
  readonly group: Group;
  /** A line without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Whose token it takes. `none`: anybody's request is answered. */
  readonly access: 'caller' | 'metrics' | 'admin' | 'none';
  /** Set for Anthropic's API: its keys and its errors have another form. */
  readonly speaks?: 'messages';
  readonly parameters?: readonly Parameter[];
  readonly headers?: readonly RequestHeader[];
  readonly body?: {
    readonly content: Readonly<Record<string, Shape>>;
    /** The body of the example. */
    readonly example: unknown;
  };
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes beside the codes of all routes with this access. */
  readonly errors?: readonly ErrorCode[];
  /** Examples beside the one with curl. */
  readonly samples?: readonly Sample[];
  /** The page that describes it, and its heading. */
  readonly page: string;
}

const TOKENS: Readonly<Record<Operation['access'], string | undefined>> = {
  caller: '$KEY',
  metrics: '$METRICS_TOKEN',
  admin: '$ADMIN_TOKEN',
  none: undefined,
};

/** A route by its method and path, without what all routes of its list share. */
type Entry<Shared extends keyof Operation> = Omit<Operation, 'method' | 'path' | Shared> & Partial<Operation>;

/**
 * Routes of one list.
 *
 * @param shared what they share; an entry may say otherwise
 * @param entries by `get /v1/refs`
 */
export function routes<Shared extends keyof Operation>(
  shared: Pick<Operation, Shared>,
  entries: Readonly<Record<`${Method} /${string}`, Entry<Shared>>>,
): Operation[] {
  return Object.entries(entries).map(([route, entry]) => {
    const [method = '', path = ''] = route.split(' ');
    return { ...shared, ...entry, method, path } as Operation;
  });
}

/** An answer in JSON. */
export function json(description: string, schema: Shape, headers?: readonly ResponseHeader[]): Answer {
  return { description, content: { 'application/json': schema }, ...(headers && { headers }) };
}

/** The answers to a deletion, which may outlast its request. */
export function deletion(schema: Shape): Operation['answers'] {
  return { 200: json('Deleted.', schema), 202: json('The deletion continues.', schema) };
}

/** A body in JSON. @param example the body of the example */
export function sent(schema: Shape, example: unknown): NonNullable<Operation['body']> {
  return { content: { 'application/json': schema }, example };
}

/** Errors of all routes that read a body. */
export const BODY_ERRORS = ['body_too_large', 'overloaded', 'unsupported_media_type'] as const;

/** A parameter of the query. @param example a value in the examples */
export function query(
  name: string,
  description: string,
  schema: JsonSchema,
  example?: string | number,
): Parameter {
  return { name, in: 'query', description, schema, ...(example === undefined ? {} : { example }) };
}

/** A parameter in the path. */
export function inPath(
  name: string,
  description: string,
  schema: JsonSchema,
  example: string | number,
): Parameter {
  return { name, in: 'path', description, schema, example };
}

/** How the openai client makes a call. */
export function clientSample(call: string): readonly Sample[] {
  const client = `const client = new OpenAI({ baseURL: \`\${HOST}/v1\`, apiKey: KEY });`;
  const source = `import OpenAI from 'openai';\n\n${client}\n${call}`;
  return [{ lang: 'TypeScript', label: 'openai (TypeScript)', source }];
}

/** The example with curl, and the examples of the entry. */
export function samplesOf(operation: Operation): Sample[] {
  return [{ lang: 'Shell', label: 'curl', source: curlOf(operation) }, ...(operation.samples ?? [])];
}

function curlOf({ method, path, parameters = [], access, speaks, body }: Operation): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(parameters.find((one) => one.in === 'path' && one.name === name)?.example ?? name),
  );
  const token = TOKENS[access];
  const usual = body ? 'post' : 'get';
  const lines = [
    `curl ${method === usual ? '' : `-X ${method.toUpperCase()} `}"$HOST${filled}"`,
    ...(token === undefined || speaks ? [] : [`-H "Authorization: Bearer ${token}"`]),
    ...(speaks ? [`-H "x-api-key: ${token}"`, "-H 'anthropic-version: 2023-06-01'"] : []),
    ...(body ? ["-H 'Content-Type: application/json'"] : []),
    ...(path === '/v1/mcp' ? ["-H 'Accept: application/json, text/event-stream'"] : []),
    ...(body ? [`-d '${JSON.stringify(body.example)}'`] : []),
  ];
  return lines.join(' \\\n  ');
}
