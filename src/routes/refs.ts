/** `/v1/refs`: reads, lists and deletes removed content (docs/refs-and-retrieval.md#refs). */
import { secondsOf } from '../lib/utc-time.ts';
import { REF_PATTERN } from '../memory/conversation/refs.ts';
import { ApiError } from '../request/errors.ts';
import { shelfOf } from '../request/shelf.ts';
import { type Answer, answerQuery, parseQuery, type QueryFault } from '../retrieval/query.ts';
import { definitionOf } from '../retrieval/tool.ts';
import { type RefStore, storesOf, storesWith } from '../storage/refs/store.ts';
import type { Metadata, Opened } from '../tenant/envelope.ts';
import { type Tenant, tenantsOf } from '../tenant/identity.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { countIn, otherCursor, type PageSizes } from './query.ts';
import { deleted, deletion, stored } from './stored.ts';

const PAGE: PageSizes = { usual: 100, largest: 1000 };

/** `GET` and `HEAD /v1/refs/{ref}`. */
export async function getRef(c: RouteContext): Promise<Response> {
  const { tenant, ref, services } = await target(c, 'read');
  const shelf = shelfOf(tenant, services, (work) => c.executionCtx.waitUntil(work));
  const query = parseQuery((name) => c.req.query(name));
  if (!query.ok) throw queryError(query.reason);
  if (!shelf.owns(ref)) {
    shelf.unknown();
    throw notFound(ref);
  }
  const opened = await stored(c, () => shelf.get(ref));
  if (!opened) throw notFound(ref);
  if (!query.value) return whole(c, ref, opened);
  const answer = answerQuery(opened.content, query.value);
  if (!answer.ok) throw queryError(answer.reason);
  return part(answer.value);
}

/** `GET /v1/refs/tool`: the tool's definition, for callers with their own tool loop. */
export function getRefTool(c: RouteContext): Response {
  return c.json(definitionOf('retrieve_ref'));
}

export async function deleteRef(c: RouteContext): Promise<Response> {
  const { tenant, ref, services } = await target(c, 'change');
  services.memory.of('refs').delete(tenant.id, ref);
  if (!tenant.refs.owns(ref)) throw notFound(ref);
  const existed = await deletion(c, async (begin) => {
    const stores = await storesWith(ref, storesOf(services.bucket, tenant));
    if (stores.length === 0) return false;
    begin();
    const note = ({ id }: Tenant) => services.tenant(id)((stub) => stub.noteDeleted({ ref }));
    await Promise.all(tenantsOf(tenant).map(note));
    await Promise.all(stores.map((store) => store.delete([ref])));
    services.memory.of('refs').delete(tenant.id, ref);
    return true;
  });
  if (!existed) throw notFound(ref);
  return deleted(c, { id: ref, object: 'memory.ref.deleted' }, existed === true);
}

/** `GET /v1/refs`: a page of refs in key order. `cursor` is the last ref of the page before. */
export async function listRefs(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const stores = storesOf(services.bucket, await verifiedTenant(c, 'read'));
  const cursor = c.req.query('cursor');
  if (cursor !== undefined && !REF_PATTERN.test(cursor)) throw otherCursor();
  const limit = countIn(c, 'limit', PAGE);
  const lists = await stored(c, () =>
    Promise.all(stores.map((store) => store.list(limit, cursor, services.log))),
  );
  const { refs, more } = merged(lists, limit);
  return c.json({
    object: 'list',
    data: refs.map(({ ref, storedBytes, uploaded, metadata }) => ({
      id: ref,
      object: 'memory.ref',
      created_at: metadata?.created ?? secondsOf(uploaded.getTime()),
      stored_bytes: storedBytes,
      ...factsOf(metadata),
    })),
    has_more: more,
    cursor: more ? (refs.at(-1)?.ref ?? null) : null,
  });
}

/** The facts about a content in lists and in `x-memory-ref`; null where they are not known. */
function factsOf(metadata: Metadata | undefined): Record<string, string | number | null> {
  return {
    tool_name: metadata?.tool_name ?? null,
    tool_call_id: metadata?.tool_call_id ?? null,
    conversation: metadata?.conversation ?? null,
    tokens: metadata?.tokens ?? null,
    bytes: metadata?.bytes ?? null,
  };
}

type RefPage = Awaited<ReturnType<RefStore['list']>>;

/**
 * Merges the first `limit` refs of several lists into one page, in order and without duplicates.
 */
function merged(lists: readonly RefPage[], limit: number): RefPage {
  const [only] = lists;
  if (only && lists.length === 1) return only;
  const all = new Map(lists.flatMap(({ refs }) => refs).map((one) => [one.ref, one]));
  const refs = [...all.values()].sort((a, b) => (a.ref < b.ref ? -1 : 1));
  return { refs: refs.slice(0, limit), more: refs.length > limit || lists.some(({ more }) => more) };
}

async function target(c: RouteContext, use: 'read' | 'change') {
  const services = c.get('services');
  const tenant = await verifiedTenant(c, use);
  const ref = c.req.param('ref') ?? '';
  if (!REF_PATTERN.test(ref))
    throw new ApiError(
      'invalid_ref',
      'Not a valid ref: expected ref_ followed by 26 characters (a–z, 2–7).',
      'ref',
    );
  return { services, tenant, ref };
}

/** Callers can't distinguish a forged ref from a missing one. */
function notFound(ref: string): ApiError {
  return new ApiError(
    'ref_not_found',
    `Nothing is stored under ${ref} with this key; it may have expired or been deleted.`,
    'ref',
  );
}

function whole(c: RouteContext, ref: string, { content, metadata }: Opened): Response {
  const headers = safeHeaders(metadata.content_type);
  headers.set('accept-ranges', 'bytes');
  headers.set('etag', `"${ref}"`);
  const facts = { created_at: metadata.created, ...factsOf(metadata) };
  headers.set('x-memory-ref', asciiJson(facts));
  headers.set('last-modified', new Date(metadata.created * 1000).toUTCString());
  const range = parseRange(c.req.header('range'), content.length);
  if (range === 'unsatisfiable') {
    headers.set('content-range', `bytes */${content.length}`);
    return new Response(null, { status: 416, headers });
  }
  const { start, end } = range === 'whole' ? { start: 0, end: content.length } : range;
  if (range !== 'whole') headers.set('content-range', `bytes ${start}-${end - 1}/${content.length}`);
  headers.set('content-length', String(end - start));
  const body = c.req.method === 'HEAD' ? null : content.subarray(start, end);
  return new Response(body, { status: range === 'whole' ? 200 : 206, headers });
}

/** JSON for a header, with every character outside of ASCII escaped. */
function asciiJson(value: object): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[^ -~]/g, escaped);
}

function part({ text, type, truncated }: Answer): Response {
  const headers = safeHeaders(type);
  if (truncated) headers.set('x-memory-truncated', 'true');
  return new Response(text, { headers });
}

function queryError({ reason, message, param }: QueryFault): ApiError {
  return new ApiError(reason === 'invalid' ? 'invalid_value' : 'ref_not_found', message, param);
}

interface ByteRange {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Reads a `Range` header.
 *
 * @param size length of the content in bytes
 * @returns `whole` if the header is to be ignored: absent, malformed, in another unit, or with
 *   several ranges
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') {
    const suffix = Number(last);
    return suffix === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - suffix), end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(size, Number(last) + 1);
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}

/**
 * Headers for content that any tool may have printed: browsers must not run it, guess its type or
 * store it.
 */
function safeHeaders(contentType: string): Headers {
  return new Headers({
    'content-type': contentType,
    'x-content-type-options': 'nosniff',
    'content-disposition': 'attachment',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-store, no-transform',
  });
}
