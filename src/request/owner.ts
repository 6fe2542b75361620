/** The owner of a request: the user and the conversation that it names (docs/conversations.md). */
import type { Isolation } from '../config.ts';
import { asObject, asString, parseJson } from '../lib/json.ts';
import type { Warning } from '../memory/plan/report.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { claudeCodeSession, SESSION_HEADER } from './claude-code.ts';
import { invalid } from './errors.ts';

/** In characters. Ids are part of logs, metadata and storage keys. */
export const LONGEST_ID = 256;

/** User and conversation. The tenant is not part of it; it depends on the key alone. */
export interface Owner {
  readonly user: string | undefined;
  /** The conversation named in the request. */
  readonly conversation: string | undefined;
  /** Why memory is off for this call; empty if it is on. */
  readonly off: readonly Warning[];
}

/** @throws ApiError if an id is invalid */
export function ownerOf(request: ModelRequest, headers: Headers, isolation: Isolation): Owner {
  const { user_key, session_key, require_explicit_key } = isolation;
  // If the deployment requires its own field for the user, the usual ones don't count.
  const elsewhere = require_explicit_key && user_key !== undefined;
  const user =
    checked(valueAt(request, user_key), user_key ?? null) ??
    (elsewhere ? undefined : usualUser(request, headers));
  const conversation =
    checked(valueAt(request, session_key), session_key ?? null) ??
    checked(request.own('conversation_id'), 'conversation_id') ??
    checked(headers.get('x-conversation-id') ?? undefined, 'x-conversation-id') ??
    checked(claudeCodeSession(headers), SESSION_HEADER);
  const off: Warning[] = [];
  if (require_explicit_key) {
    if (conversation === undefined) off.push('no_conversation');
    if (elsewhere && user === undefined) off.push('no_user');
  }
  return { user, conversation, off };
}

/** An owner that the path of a request names. */
export interface NamedOwner {
  readonly conversation: string;
  readonly user: string | undefined;
}

/**
 * The owner of a request whose path names the conversation.
 *
 * @throws ApiError if the body or a header names another one
 */
export function withNames(owner: Owner, { conversation, user }: NamedOwner): Owner {
  checkSame(owner.conversation, conversation, 'conversation_id');
  if (user !== undefined) checkSame(owner.user, user, 'user');
  const isNamed = (warning: Warning): boolean => warning === 'no_conversation' || user !== undefined;
  return { conversation, user: user ?? owner.user, off: owner.off.filter((warning) => !isNamed(warning)) };
}

function checkSame(inRequest: string | undefined, named: string, param: string): void {
  if (inRequest === undefined || inRequest === named) return;
  throw invalid(param, `The request names '${inRequest}' and its path '${named}'; both must name the same.`);
}

/** The upstream validates OpenAI's own fields. A value that is no id is ignored here. */
function usualUser(request: ModelRequest, headers: Headers): string | undefined {
  for (const param of ['safety_identifier', 'user']) {
    const value = request.field(param);
    if (typeof value === 'string' && value !== '') return checked(value, param);
  }
  return (
    checked(headers.get('x-memory-user') || undefined, 'x-memory-user') ??
    (request.protocol === 'messages' ? messagesUser(request.field('metadata')) : undefined)
  );
}

/**
 * The user of `metadata.user_id`. Claude Code writes its session into it, which is no part of the
 * user: JSON with `account_uuid` and `device_id`, or `user_…_account_…_session_…`.
 */
function messagesUser(metadata: unknown): string | undefined {
  const { user_id } = asObject(metadata);
  if (typeof user_id !== 'string' || user_id === '') return undefined;
  checked(user_id, USER_ID);
  const { account_uuid, device_id, session_id } = asObject(parseJson(user_id));
  const named = session_id === undefined ? undefined : asString(account_uuid) || asString(device_id);
  return checked(named || withoutSession(user_id), USER_ID);
}

const USER_ID = 'metadata.user_id';

function withoutSession(id: string): string {
  const at = id.startsWith('user_') ? id.lastIndexOf('_session_') : -1;
  return at > 0 && /^_session_[\w-]+$/.test(id.slice(at)) ? id.slice(0, at) : id;
}

/** These would change the path: `/v1/conversations/../memory` is `/v1/memory`. */
const RELATIVE = new Set(['.', '..']);

/** A valid id from the caller. @throws ApiError that names `param` */
export function checked(id: unknown, param: string | null): string | undefined {
  if (id === undefined) return undefined;
  // A number that JSON can't represent exactly could match another user's id.
  const text = Number.isSafeInteger(id) ? String(id) : id;
  if (typeof text === 'string' && text !== '' && text.length <= LONGEST_ID && !RELATIVE.has(text))
    return text;
  throw invalid(
    param,
    `The id of a user or a conversation must be a string of 1 to ${LONGEST_ID} characters, and neither '.' nor '..'.`,
  );
}

/** The value at a dotted path into the body. */
function valueAt(request: ModelRequest, path: string | undefined): unknown {
  if (path === undefined) return undefined;
  const [field = '', ...members] = path.split('.');
  let value = request.field(field);
  for (const member of members) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? value : undefined;
}
