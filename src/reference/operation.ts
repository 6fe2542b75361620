/**
 * An entry of the table of routes (`table.ts`), from which the OpenAPI document and the page at
 * `/docs` are made. A route of `app.ts` without an entry fails a test.
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
  /** The `operationId`. */
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
  /** By status. */
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
