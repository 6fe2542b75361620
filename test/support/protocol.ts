/**
 * The protocols that Precis speaks, as one table. A case is written in chat's terms, and what lies
 * between it and the wire translates: the body that is sent, what the upstream saw, the answer. So
 * one text of a suite runs over each of them, before one Worker:
 *
 *     describe.each(PROTOCOLS)('what it is about, over $name', (protocol) => {
 *       deployment.over(protocol);
 */

import {
  chatBody,
  itemsOf,
  messagesOf,
  partOf,
  responsesBody,
  responsesTools,
} from '../../tools/upstream/items.ts';
import type { RecordedRequest } from '../../tools/upstream/recorded-request.ts';
import { chatFromResponses } from './chat-from-responses.ts';

type Json = Record<string, unknown>;

export interface Protocol {
  readonly name: 'chat' | 'responses';
  /** Of the route, behind `/v1`. */
  readonly path: '/chat/completions' | '/responses';
  /** The field that holds the conversation, as errors name it. */
  readonly field: 'messages' | 'input';
  /** A chat body as one that says the same here. */
  body(chat: Json): Json;
  /** Messages as elements of the field, one by one, the first one too. */
  elements(messages: readonly Json[]): Json[];
  /** A part of a user message, as it is kept and given back. */
  part(part: unknown): unknown;
  /**
   * Messages as they are read back when nothing is done to them: calls that follow each other are
   * one message where they are items.
   */
  read(messages: readonly Json[]): Json[];
  /**
   * A body that a test writes letter by letter, with the conversation in the field of this
   * protocol. Its elements stay.
   */
  text(chat: string): string;
  /** A request that the upstream saw, its body as chat would have it; `rawBody` is as it came. */
  seen(request: RecordedRequest): RecordedRequest;
  /** An answer, as chat would have it. */
  answer(response: Response): Promise<Response>;
  /** A caller's key, that of a tenant which no run over another protocol has. */
  key(key: string): string;
}

const SUFFIX = '-over-responses';

export const CHAT: Protocol = {
  name: 'chat',
  path: '/chat/completions',
  field: 'messages',
  body: (chat) => chat,
  elements: (messages) => [...messages],
  part: (part) => part,
  read: (messages) => [...messages],
  text: (chat) => chat,
  seen: (request) => request,
  answer: async (response) => response,
  key: (key) => key,
};

export const RESPONSES: Protocol = {
  name: 'responses',
  path: '/responses',
  field: 'input',
  body: ({ tools, ...chat }) =>
    responsesBody({ ...(tools === undefined ? {} : { tools: responsesTools(tools) }), ...chat }),
  elements: itemsOf,
  part: partOf,
  read: (messages) => messagesOf(itemsOf(messages)),
  text: (chat) => chat.replace(/"messages"(?=\s*:)/g, '"input"'),
  seen(request) {
    const { authorization } = request.headers;
    // A summary is asked for in chat, whatever the caller speaks.
    const isChat = request.path.includes(CHAT.path);
    return {
      ...request,
      headers: {
        ...request.headers,
        ...(authorization === undefined ? {} : { authorization: authorization.replace(SUFFIX, '') }),
      },
      get body() {
        return isChat ? request.body : request.body && chatBody(request.body);
      },
      get closed() {
        return request.closed;
      },
    };
  },
  answer: chatFromResponses,
  // What else a caller presents is short, or an access key, and means what it is.
  key: (key) => (/^sk-.{17}/.test(key) ? `${key}${SUFFIX}` : key),
};

export const PROTOCOLS = [CHAT, RESPONSES];

const COMPLETIONS = '/chat/completions';

/** `fetch` for callers who know chat alone. @param current the protocol that goes over the wire */
export function fetchOver(current: () => Protocol): typeof fetch {
  const wire = fetchWire(current);
  return async (input, init = {}) => {
    const isCompletion = init.method === 'POST' && new URL(String(input)).pathname.endsWith(COMPLETIONS);
    const response = await wire(input, init);
    return isCompletion ? current().answer(response) : response;
  };
}

/** The same, with answers as they come. */
export function fetchWire(current: () => Protocol): typeof fetch {
  return (input, init = {}) => {
    const protocol = current();
    const headers = new Headers(init.headers);
    const [, key] = /^Bearer (.*)$/.exec(headers.get('authorization') ?? '') ?? [];
    if (key !== undefined) headers.set('authorization', `Bearer ${protocol.key(key)}`);
    const url = new URL(String(input));
    if (init.method !== 'POST' || !url.pathname.endsWith(COMPLETIONS))
      return fetch(input, { ...init, headers });
    url.pathname = url.pathname.replace(COMPLETIONS, protocol.path);
    return fetch(url, { ...init, headers, body: translated(init.body, protocol) });
  };
}

/** A body of chat; any other goes as it is. */
function translated(
  body: RequestInit['body'] = null,
  protocol: Protocol,
): NonNullable<RequestInit['body']> | null {
  if (typeof body !== 'string' || protocol === CHAT) return body;
  const chat = jsonOf(body);
  return chat && 'messages' in chat ? JSON.stringify(protocol.body(chat)) : body;
}

function jsonOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
