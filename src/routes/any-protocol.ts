/** Bodies of Precis's own routes: a conversation of any protocol, or an object of a few fields. */

import { readRequest } from '../answer/read-call.ts';
import { type JsonObject, parseObject } from '../lib/json.ts';
import { quote } from '../memory/strategy/hint.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import { type JsonSpan, only } from '../protocol/json/outline.ts';
import { elementsOf, fieldOf, scanObject, textOf, within } from '../protocol/json/spans.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { topNamesOf } from '../protocol/top-fields.ts';
import { readBody } from '../request/body.ts';
import { ApiError, invalid } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import { ANTHROPIC, apiOfOpenAiBody, namesVersion } from '../upstream/api.ts';
import { bodyOf, type RouteContext } from './context.ts';
import { CHAT, MESSAGES, RESPONSES } from './models.ts';

const EMPTY_STRING = '""';

const CONVERSATION = only([CHAT.field, RESPONSES.field]);

/** A body that is not read yet. */
interface AnyBody {
  readonly bytes: Uint8Array;
  readonly isMessages: boolean;
}

/**
 * The body of a request. The headers say that it is one of Messages, unless they name a key alone
 * and it is plainly one of OpenAI's. Called before anything depends on the API of the request.
 *
 * @throws ApiError
 */
export async function anyBody(c: RouteContext): Promise<AnyBody> {
  const { headers } = c.req.raw;
  const bytes = await bodyOf(c, CHAT.field);
  if (c.get('api') !== ANTHROPIC) return { bytes, isMessages: false };
  if (namesVersion(headers) || !isOfOpenAi(bytes)) return { bytes, isMessages: true };
  c.set('api', apiOfOpenAiBody(headers));
  return { bytes, isMessages: false };
}

/** The roles that only chat completions have. */
const CHAT_ROLES: ReadonlySet<string> = new Set(['"tool"', '"developer"', '"function"']);
const CHAT_MEMBERS = only(['role', 'tool_calls']);

/** Whether a body has `input`, or messages as only chat completions have them. */
export function isOfOpenAi(body: Uint8Array): boolean {
  const root = scanObject(body, CONVERSATION);
  if (!root) return false;
  if (givenIn(body, root, RESPONSES.field)) return true;
  const messages = fieldOf(root, CHAT.field);
  if (messages?.kind !== 'array') return false;
  for (const element of elementsOf(body, messages)) {
    const message = within(body, element, CHAT_MEMBERS);
    const role = fieldOf(message, 'role');
    if (role?.kind === 'string' && CHAT_ROLES.has(textOf(body, role))) return true;
    if (fieldOf(message, 'tool_calls')?.kind === 'array') return true;
  }
  return false;
}

/**
 * A request of any protocol, and the protocol's answers. @throws ApiError
 */
export async function readAny(
  { bytes, isMessages }: AnyBody,
  scope: RequestScope,
): Promise<{ request: ModelRequest; answers: AnswerFormat }> {
  if (isMessages) return { request: await readRequest(bytes, MESSAGES, scope), answers: MESSAGES.answers };
  return holdsItems(bytes)
    ? { request: await readRequest(bytes, RESPONSES, scope), answers: RESPONSES.answers }
    : { request: await readRequest(bytes, CHAT, scope), answers: CHAT.answers };
}

/**
 * Whether a body has `input`.
 *
 * @throws ApiError if it has `messages` too, or neither, or an empty `input`: upstreams take that
 *   beside what they have stored, and here is nothing else
 */
export function holdsItems(body: Uint8Array): boolean {
  const root = scanObject(body, CONVERSATION);
  if (!root) return false;
  const messages = givenIn(body, root, CHAT.field);
  const input = givenIn(body, root, RESPONSES.field);
  if (messages && input) {
    const message = 'The body has messages and input; it must have one of them.';
    throw new ApiError('invalid_messages', message, RESPONSES.field);
  }
  if (input && isEmpty(body, input)) {
    const message = 'The field input is empty; it must be a text, or an array of at least one item.';
    throw new ApiError('invalid_messages', message, RESPONSES.field);
  }
  if (messages || input) return input !== undefined;
  throw new ApiError(
    'invalid_messages',
    'The body has neither messages nor input; it must have one of them, with the whole conversation: messages as for chat completions, input as for responses.',
    CHAT.field,
  );
}

/** A field of a body that is there and not null. */
function givenIn(body: Uint8Array, root: JsonSpan, field: string): JsonSpan | undefined {
  const value = fieldOf(root, field);
  return value && textOf(body, value) !== 'null' ? value : undefined;
}

function isEmpty(body: Uint8Array, value: JsonSpan): boolean {
  if (value.kind === 'array') return elementsOf(body, value).next().done === true;
  return value.kind === 'string' && value.end - value.start === EMPTY_STRING.length;
}

/**
 * A body in which each field is there once. Of two, readers take different ones: the upstream might
 * read another model than the one that limits have been asked about.
 *
 * @throws ApiError `invalid_json`
 */
export function eachOnce(body: Uint8Array): Uint8Array {
  const names = topNamesOf(body);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return body;
  const message = `The request body has the field '${twice}' twice; send it once.`;
  throw new ApiError('invalid_json', message, twice);
}

/** In bytes. A text of 5,000 characters that are all escaped in JSON, and the fields around it. */
export const LARGEST_OBJECT = 64 * 1024;

/**
 * The object in a body.
 *
 * @param form what it may be, for errors: the beginning of a sentence
 * @param fields those that it may have; absent: any
 * @param usual what an empty body means
 * @throws ApiError that names another field
 */
export async function objectIn(
  request: Request,
  form: string,
  fields?: readonly string[],
  usual = '',
): Promise<JsonObject> {
  const text = new TextDecoder().decode(eachOnce(await readBody(request, null, LARGEST_OBJECT)));
  const body = parseObject(text || usual);
  if (!body) throw new ApiError('invalid_json', `${form}.`);
  const other = Object.keys(body).find((field) => fields?.includes(field) === false);
  if (other !== undefined) throw invalid(other, `${form}; ${quote(other)} is not one of them.`);
  return body;
}

/** A field that is false if it is absent. @throws ApiError if it is neither true nor false */
export function flag(request: ModelRequest, name: 'force' | 'dry_run' | 'course'): boolean {
  const value = request.field(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw invalid(name, `${name} must be true or false.`);
}
