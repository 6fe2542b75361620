/**
 * `GET /v1/conversations/{id}/messages`: lists or searches a conversation's archive
 * (docs/conversations.md#the-archive).
 */
import { concat } from '../../lib/bytes.ts';
import type { Warning } from '../../memory/plan/report.ts';
import { levels } from '../../protocol/json/outline.ts';
import { scanObject } from '../../protocol/json/spans.ts';
import { storedConversation } from '../../request/conversation.ts';
import { invalid } from '../../request/errors.ts';
import { Archive, type ArchivedMessage } from '../../storage/archive/archive.ts';
import { LONGEST_QUERY } from '../../storage/archive/text.ts';
import { readFromEither, type Tenant } from '../../tenant/identity.ts';
import type { RouteContext } from '../context.ts';
import { countIn, cursorIn, type PageSizes } from '../query.ts';
import { stored } from '../stored.ts';
import { notFound, target } from './memory.ts';

const PAGE: PageSizes = { usual: 20, largest: 100 };

const encoder = new TextEncoder();

/**
 * A page of messages in the order they were archived. With `q`, the messages with its words, and
 * with a similar meaning if the deployment has embeddings, best match first.
 */
export async function listMessages(c: RouteContext): Promise<Response> {
  const { id, user, tenant, services } = await target(c, 'read');
  const limit = countIn(c, 'limit', PAGE);
  const query = queryOf(c.req.query('q'));
  const read = query === undefined ? listing(c, limit) : search(c, query, limit);
  const pageOf = (tenant: Tenant) =>
    read(new Archive(storedConversation(user, { id }, tenant, services), services.bucket, services.log));
  const isNothing = (page: Page | null) => !page?.messages.length;
  const page = await stored(c, () => readFromEither(tenant, pageOf, isNothing));
  if (!page) throw notFound(id, user);
  const { cursor: next, warnings = [] } = page;
  const rest = { has_more: next !== null, cursor: next, ...(warnings.length > 0 ? { warnings } : {}) };
  const body = concat([
    encoder.encode('{"object":"list","data":['),
    ...page.messages.flatMap((message, index) => [
      encoder.encode(index === 0 ? '' : ','),
      ...messageJson(message),
    ]),
    encoder.encode(`],${JSON.stringify(rest).slice(1)}`),
  ]);
  return new Response(body, {
    headers: {
      'content-type': 'application/json',
      ...(warnings.length > 0 ? { 'x-memory-warning': warnings.join(',') } : {}),
    },
  });
}

interface Page {
  readonly messages: readonly ArchivedMessage[];
  /** For the next page; null on the last one. */
  readonly cursor: string | null;
  /** Codes, as in `x-memory-warning`. */
  readonly warnings?: readonly Warning[];
}

/** Reads a page; null if nothing is stored of the conversation. */
type ReadPage = (archive: Archive) => Promise<Page | null>;

/** @throws ApiError */
function listing(c: RouteContext, limit: number): ReadPage {
  const [after = 0] = cursorIn(c, /^(\d{1,15})$/) ?? [];
  return async (archive) => {
    const page = await archive.list(limit, Number(after));
    return page && { messages: page.messages, cursor: page.next === null ? null : String(page.next) };
  };
}

/** @throws ApiError */
function search(c: RouteContext, query: string, limit: number): ReadPage {
  const [upTo, after, kind] = cursorIn(c, /^(\d{1,15})-(\d{1,15})(-m)?$/) ?? [];
  const begin = { upTo: Number(upTo), after: Number(after), byMeaning: kind === BY_MEANING };
  const place = upTo === undefined ? null : begin;
  return async (archive) => {
    const page = await archive.search(query, limit, place);
    if (!page) return null;
    const warnings = page.meaning === 'failed' ? (['embeddings_failed'] as const) : [];
    const { messages, next } = page;
    const cursor = next && `${next.upTo}-${next.after}${next.byMeaning ? BY_MEANING : ''}`;
    return { messages, cursor, warnings };
  };
}

/** The end of a cursor of pages that are made by meaning too. */
const BY_MEANING = '-m';

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
    ...(json ? wholeJson(json) : [encoder.encode('null')]),
    encoder.encode('}'),
  ];
}

/** A message that consists of several items is an array of them. */
function wholeJson(json: Uint8Array): Uint8Array[] {
  const isOne = scanObject(json, levels(0)) !== undefined;
  return isOne ? [json] : [encoder.encode('['), json, encoder.encode(']')];
}

function queryOf(value: string | undefined): string | undefined {
  if (value === undefined || (value.trim() !== '' && value.length <= LONGEST_QUERY)) return value;
  throw invalid('q', `q must be words of at most ${LONGEST_QUERY} characters.`);
}
