/** Conversations as the Messages API can express them. */
import type { ConversationBody } from './arbitrary-conversation.ts';

type Json = Record<string, unknown>;

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * A conversation that the Messages API can express: no answer right after another one, ids that are
 * used once, arguments that are JSON objects, texts that say something, and only fields that all
 * protocols have.
 */
export function asBlocksSayIt(body: ConversationBody): ConversationBody {
  const messages: Json[] = [];
  let ids = new Map<unknown, string>();
  let count = 0;
  for (const message of body.messages as readonly Json[]) {
    const { role, content, tool_calls, tool_call_id, reasoning_content: thought } = message;
    const calls = Array.isArray(tool_calls) ? (tool_calls as Call[]) : [];
    const follows = role === 'assistant' && messages.at(-1)?.role === 'assistant';
    const says = (content ?? '') !== '' || calls.length > 0;
    if (follows || !says) continue;
    if (calls.length > 0) ids = new Map(calls.map(({ id }) => [id, `toolu_${count++}`]));
    messages.push({
      role,
      content: role === 'tool' || content === null ? content : said(content),
      ...(calls.length > 0
        ? { tool_calls: calls.map((call) => ({ ...call, ...asObjectCall(call, ids) })) }
        : {}),
      ...(tool_call_id === undefined ? {} : { tool_call_id: ids.get(tool_call_id) ?? tool_call_id }),
      ...(typeof thought === 'string' && thought !== '' ? { reasoning_content: thought } : {}),
    });
  }
  return { ...body, messages: messages.map(withoutEmptyParts) };
}

function asObjectCall({ id, function: called }: Call, ids: ReadonlyMap<unknown, string>): object {
  let input: unknown;
  try {
    input = JSON.parse(called.arguments);
  } catch {
    input = called.arguments;
  }
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const given = JSON.stringify(isObject ? input : { input });
  return { id: ids.get(id), function: { name: called.name, arguments: given } };
}

/** A text that is not empty; the API refuses one. */
function said(content: unknown): unknown {
  if (typeof content === 'string') return content.trim() === '' ? `${content}.` : content;
  if (!Array.isArray(content)) return content;
  return content.map((part: Json) =>
    typeof part.text === 'string' ? { ...part, text: said(part.text) } : part,
  );
}

/** The parts of results, too. */
function withoutEmptyParts(message: Json): Json {
  return Array.isArray(message.content) ? { ...message, content: said(message.content) } : message;
}
