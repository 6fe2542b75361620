import type { ChatJson } from '../conversation.ts';
import { type Policy, rewriting } from '../policy.ts';

/** Messages at the end whose calls and results stay. */
const KEPT_MESSAGES = 2;
/** Fields that hold reasoning. */
const REASONING = ['reasoning', 'reasoning_content'];

/**
 * The AI SDK's `pruneMessages` with the values of its documented example:
 * `toolCalls: 'before-last-2-messages'`, `reasoning: 'before-last-message'`,
 * `emptyMessages: 'remove'` (https://ai-sdk.dev/docs/reference/ai-sdk-ui/prune-messages). Calls and
 * results are removed together, except in the last two messages. In that SDK one message holds all
 * results of a step, so consecutive tool messages count as one.
 */
export function pruneMessages(): Policy {
  return rewriting('AI SDK pruneMessages', 'peer', prune);
}

function prune(messages: readonly ChatJson[]): ChatJson[] {
  const last = startOfLast(messages, 1);
  const kept = startOfLast(messages, KEPT_MESSAGES);
  const ids = new Set(messages.slice(kept).flatMap(idsOf));
  return messages.flatMap((message, index) => {
    const silent = index < last ? without(message, REASONING) : message;
    const rest = index < kept ? withoutCalls(silent, ids) : silent;
    return rest && !isEmpty(rest) ? [rest] : [];
  });
}

/** The index of the last `count` messages, with the results of a step as one message. */
function startOfLast(messages: readonly ChatJson[], count: number): number {
  let start = messages.length;
  for (let left = count; left > 0 && start > 0; left--) {
    start--;
    while (messages[start]?.role === 'tool' && messages[start - 1]?.role === 'tool') start--;
  }
  return start;
}

interface Call {
  readonly id?: unknown;
}

function callsOf({ tool_calls }: ChatJson): readonly Call[] {
  return Array.isArray(tool_calls) ? tool_calls : [];
}

/** The ids of a message's calls, or of the call that it answers. */
function idsOf(message: ChatJson): unknown[] {
  return message.role === 'tool' ? [message.tool_call_id] : callsOf(message).map(({ id }) => id);
}

/**
 * A message without calls and results, except those with the given ids; undefined if nothing is
 * left.
 */
function withoutCalls(message: ChatJson, ids: ReadonlySet<unknown>): ChatJson | undefined {
  if (message.role === 'tool') return ids.has(message.tool_call_id) ? message : undefined;
  const calls = callsOf(message);
  const rest = calls.filter(({ id }) => ids.has(id));
  if (rest.length === calls.length) return message;
  return rest.length > 0 ? { ...message, tool_calls: rest } : without(message, ['tool_calls']);
}

function without(message: ChatJson, fields: readonly string[]): ChatJson {
  if (!fields.some((field) => field in message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([field]) => !fields.includes(field)));
}

function isEmpty(message: ChatJson): boolean {
  const { role, content } = message;
  if (role === 'tool' || callsOf(message).length > 0) return false;
  return content === undefined || content === null || content === '' || isEmptyArray(content);
}

function isEmptyArray(content: unknown): boolean {
  return Array.isArray(content) && content.length === 0;
}
