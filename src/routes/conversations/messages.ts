/**
 * `GET /v1/conversations/{id}/messages`: lists or searches a conversation's archive
 * (docs/design.md#5-routes).
 */
import type { Context } from 'hono';
import { concat } from '../../lib/bytes.ts';
import { storedConversation } from '../../request/conversation.ts';
import { ApiError } from '../../request/errors.ts';
import type { AppEnv } from '../../request/services.ts';
import { Archive, type ArchivedMessage } from '../../storage/archive/archive.ts';
import { LONGEST_QUERY } from '../../storage/archive/text.ts';
import { fromEither, type Tenant } from '../../tenant/identity.ts';
import { type PageSizes, pageSize } from '../page-size.ts';
import { stored } from '../stored.ts';
import { notFound, target } from './memory.ts';

const PAGE: PageSizes = { usual: 20, largest: 100, code: 'invalid_json' };

const encoder = new TextEncoder();

/**
 * A page of messages in the order they were archived. With `q`, the messages with its words, best
 * match first.
 */
export async function listMessages(c: Context<AppEnv>): Promise<Response> {
  const { id, user, tenant, services } = await target(c, 'read');
  const limit = pageSize(c.req.query('limit'), PAGE);
  const query = queryOf(c.req.query('q'));
  const cursor = c.req.query('cursor');
  const read = query === undefined ? listing(limit, cursor) : search(query, limit, cursor);
  const pageOf = (self: Tenant) =>
    read(new Archive(storedConversation(user, { id }, self, services), services.bucket, services.log));
  const isNothing = (page: Page | null) => !page?.messages.length;
  const page = await stored(c, () => fromEither(tenant, pageOf, isNothing));
  if (!page) throw notFound(id, user);
  const rest = { has_more: page.cursor !== null, cursor: page.cursor };
  const body = concat([
    encoder.encode('{"object":"list","data":['),
    ...page.messages.flatMap((message, index) => [
      encoder.encode(index === 0 ? '' : ','),
      ...messageJson(message),
    ]),
    encoder.encode(`],${JSON.stringify(rest).slice(1)}`),
  ]);
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

interface Page {
  readonly messages: readonly ArchivedMessage[];
  /** For the next page; null on the last one. */
  readonly cursor: string | null;
}

/** Reads a page; null if nothing is stored of the conversation. */
type ReadPage = (archive: Archive) => Promise<Page | null>;

/** @throws ApiError */
function listing(limit: number, cursor: string | undefined): ReadPage {
  const [after = 0] = numbersIn(cursor, 1);
  return async (archive) => {
    const page = await archive.list(limit, after);
    return page && { messages: page.messages, cursor: page.next === null ? null : String(page.next) };
  };
}

/** @throws ApiError */
function search(query: string, limit: number, cursor: string | undefined): ReadPage {
  const [upTo, after] = numbersIn(cursor, 2);
  const place = upTo === undefined || after === undefined ? null : { upTo, after };
  return async (archive) => {
    const page = await archive.search(query, limit, place);
    return page && { messages: page.messages, cursor: page.next && `${page.next.upTo}-${page.next.after}` };
  };
}

/** A message with its original bytes, so that its numbers keep their digits. */
function messageJson({ position, created, snippet, json }: ArchivedMessage): Uint8Array[] {
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

/** The numbers in a cursor; empty without one. @throws ApiError */
function numbersIn(cursor: string | undefined, count: number): number[] {
  if (cursor === undefined) return [];
  const numbers = cursor.split('-');
  if (numbers.length === count && numbers.every((number) => /^\d{1,15}$/.test(number)))
    return numbers.map(Number);
  throw new ApiError('invalid_json', 'cursor must be the cursor of the page before.', 'cursor');
}

function queryOf(value: string | undefined): string | undefined {
  if (value === undefined || (value.trim() !== '' && value.length <= LONGEST_QUERY)) return value;
  throw new ApiError('invalid_json', `q must be words of at most ${LONGEST_QUERY} characters.`, 'q');
}
