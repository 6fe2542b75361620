/**
 * The protocols of Precis, as a table. Test cases are written in terms of chat, and a layer
 * translates between them and the wire: the body that is sent, the request that the upstream sees,
 * the answer. So one suite runs over both protocols with a single Worker:
 *
 *     overProtocols('what it is about', deployment, (protocol) => {
 */

import {
  chatBody,
  itemsOf,
  messagesOf,
  partOf,
  responsesBody,
  responsesTools,
} from '../../../tools/upstream/items.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { chatFromResponses } from './chat-from-responses.ts';
import { inTurn } from './in-turn.ts';

type Json = Record<string, unknown>;

export interface Protocol {
  readonly name: 'chat' | 'responses';
  /** The route, below `/v1`. */
  readonly path: '/chat/completions' | '/responses';
  /** The field that holds the conversation, as errors name it. */
  readonly field: 'messages' | 'input';
  /** A chat body as an equivalent one of this protocol. */
  body(chat: Json): Json;
  /** Messages as elements of the field, one by one, including the first. */
  elements(messages: readonly Json[]): Json[];
  /** A part of a user message, as it is stored and returned. */
  part(part: unknown): unknown;
  /**
   * Messages as they are read back unchanged: consecutive calls are one message if they are items.
   */
  read(messages: readonly Json[]): Json[];
  /** A body as literal text, with the conversation in this protocol's field. Its elements stay. */
  text(chat: string): string;
  /** A request to the upstream with its body as chat; `rawBody` stays unchanged. */
  seen(request: RecordedRequest): RecordedRequest;
  /** An answer as chat. */
  answer(response: Response): Promise<Response>;
  /** A caller's key, of a tenant that is only used over this protocol. */
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
    // Summaries are requested in chat, whatever the caller's protocol.
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
  // Access keys and short keys stay as they are.
  key: (key) => (/^sk-.{17}/.test(key) ? `${key}${SUFFIX}` : key),
};

export const PROTOCOLS = [CHAT, RESPONSES];

/**
 * Cases that are the same over each protocol; by day each runs over one of them.
 *
 * @param deployments which speak it during the block
 */
export function overProtocols(
  title: string,
  deployments: Speaking | readonly Speaking[],
  block: (protocol: Protocol) => void,
): void {
  inTurn(
    PROTOCOLS,
    ({ name }) => `${title}, over ${name}`,
    (protocol) => {
      for (const deployment of [deployments].flat()) deployment.over(protocol);
      block(protocol);
    },
  );
}

interface Speaking {
  /** Sets the protocol for the tests of the current block. */
  over(protocol: Protocol): void;
}

const COMPLETIONS = '/chat/completions';

/** `fetch` for callers that only know chat. @param current the protocol on the wire */
export function fetchOver(current: () => Protocol): typeof fetch {
  const wire = fetchWire(current);
  return async (input, init = {}) => {
    const isCompletion = init.method === 'POST' && new URL(String(input)).pathname.endsWith(COMPLETIONS);
    const response = await wire(input, init);
    return isCompletion ? current().answer(response) : response;
  };
}

/** Likewise, with answers as they arrive. */
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

/** A translated chat body; any other body stays. */
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
