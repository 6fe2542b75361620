/** `GET /v1/conversations/{id}/messages`: a conversation's archive, and the search of it (design §5). */
import type { Context } from 'hono';
import { concat } from '../protocol/spans.ts';
import { Archive, type ArchivedMessage } from '../storage/archive.ts';
import { LONGEST_QUERY } from '../storage/archive-text.ts';
import { notFound, target } from './conversations.ts';
import { ApiError } from './errors.ts';
import type { AppEnv } from './services.ts';
import { stored } from './stored.ts';

const DEFAULT_PAGE = 20;
const LARGEST_PAGE = 100;

const encoder = new TextEncoder();

/** A page of messages, in the order in which they were archived; with `q`, of those that hold its words, the best match first. */
export async function listMessages(c: Context<AppEnv>): Promise<Response> {
  const { id, conversation, services } = target(c);
  const limit = limitOf(c.req.query('limit'));
  const after = cursorOf(c.req.query('cursor'));
  const query = queryOf(c.req.query('q'));
  const archive = new Archive(conversation, services.bucket);
  const page = await stored(c, () =>
    query === undefined ? archive.list(limit, after) : archive.search(query, limit, after),
  );
  if (!page) throw notFound(id);
  const { messages, next } = page;
  const rest = { has_more: next !== undefined, cursor: next === undefined ? null : String(next) };
  const body = concat([
    encoder.encode('{"object":"list","data":['),
    ...messages.flatMap((message, index) => [encoder.encode(index === 0 ? '' : ','), ...shown(message)]),
    encoder.encode(`],${JSON.stringify(rest).slice(1)}`),
  ]);
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

/** The message stands there in the bytes in which it came: its numbers keep their digits. */
function shown({ position, created, snippet, json }: ArchivedMessage): Uint8Array[] {
  const head = {
    object: 'conversation.message',
    position,
    created_at: created,
    ...(snippet === undefined ? {} : { snippet }),
  };
  return [
    encoder.encode(`${JSON.stringify(head).slice(0, -1)},"message":`),
    json ?? encoder.encode('null'),
    encoder.encode('}'),
  ];
}

function limitOf(value: string | undefined): number {
  const limit = value === undefined ? DEFAULT_PAGE : /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= LARGEST_PAGE) return limit;
  throw new ApiError('invalid_json', `limit must be a number from 1 to ${LARGEST_PAGE}.`, 'limit');
}

function cursorOf(value: string | undefined): number {
  if (value === undefined) return 0;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new ApiError('invalid_json', 'cursor must be the cursor of the page before.', 'cursor');
}

function queryOf(value: string | undefined): string | undefined {
  if (value === undefined || (value.trim() !== '' && value.length <= LONGEST_QUERY)) return value;
  throw new ApiError('invalid_json', `q must be words of at most ${LONGEST_QUERY} characters.`, 'q');
}
