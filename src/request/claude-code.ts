/**
 * What Claude Code says of a request in its headers
 * (https://code.claude.com/docs/en/llm-gateway-protocol, "Request headers").
 */

/** Its session. It names the conversation where the request does not. */
export const SESSION_HEADER = 'x-claude-code-session-id';

/** Set in requests of a subagent, which has a conversation of its own within the session. */
const AGENT_HEADER = 'x-claude-code-agent-id';

/** Sent with `CLAUDE_CODE_GATEWAY_HINT_HEADERS`. */
const CLASS_HEADER = 'x-claude-code-request-class';

/**
 * Requests beside a conversation: Claude Code's own compaction, which must read all that it is to
 * summarize, and calls of its own, such as for a title.
 */
const ASIDE: ReadonlySet<string | undefined> = new Set(['compaction', 'auxiliary']);

/** The conversation of a request; undefined without a session. */
export function claudeCodeSession(headers: Headers): string | undefined {
  const session = headers.get(SESSION_HEADER) || undefined;
  const agent = headers.get(AGENT_HEADER) || undefined;
  return session === undefined || agent === undefined ? session : `${session}.${agent}`;
}

/** Whether a request is none of the conversation, and passes over any strategy. */
export function isAside(headers: Headers): boolean {
  return ASIDE.has(headers.get(CLASS_HEADER)?.trim().toLowerCase());
}
