/**
 * The routes: their paths, methods and handlers (docs/deploying.md#routes). The app, its 405s, its
 * 404s below Precis's routes and the matching of other spellings of a path follow from this table.
 */
import type { Handler } from 'hono';
import { agents } from '../agents.ts';
import { urlOf } from '../lib/request-url.ts';
import type { AppEnv } from '../request/services.ts';
import { QUERY_PARAMETERS } from '../retrieval/query.ts';
import { postBackup } from './admin/backup.ts';
import { deleteCaller, getCaller, listCallers, patchCaller, putCaller } from './admin/caller.ts';
import { getAdminHealth } from './admin/health.ts';
import type { OperatorToken } from './admin/operator.ts';
import { getOverview } from './admin/overview.ts';
import { postRestore } from './admin/restore.ts';
import { deleteBlock, getBlock, listBlocks, putBlock } from './blocks.ts';
import { compact } from './compact.ts';
import { compress, getRetrieved } from './compress.ts';
import { endConversation } from './conversations/end.ts';
import { listConversations } from './conversations/list.ts';
import { deleteMemory, flushMemory, getMemory, patchMemory } from './conversations/memory.ts';
import { listMessages } from './conversations/messages.ts';
import { getRequest, getWhy, listRequests, showEdits } from './conversations/requests.ts';
import { putMemory } from './conversations/restore.ts';
import { getComparison, getStats } from './conversations/stats.ts';
import { getSummary } from './conversations/summary.ts';
import { getDeployment } from './deployment.ts';
import { explain } from './explain.ts';
import { getHealth } from './health.ts';
import { getFrontPage, getInspector, getInspectorFile } from './inspector/route.ts';
import { mcp } from './mcp/route.ts';
import { getMetrics } from './metrics.ts';
import {
  chatCompletions,
  compactResponses,
  countMessagesInput,
  countResponsesInput,
  messages,
  responses,
} from './models.ts';
import { checkParameters } from './query.ts';
import { deleteRef, getRef, getRefTool, listRefs } from './refs.ts';
import { createRouter, type RoutePath } from './routing.ts';
import { deleteSession, postSession } from './session/route.ts';
import { getLlmsText, getOpenApi, getPage, getReference, searchDocs } from './site.ts';
import { deleteTenantData } from './tenant-data.ts';
import { deleteUserEntry, deleteUserMemory, getUserMemory } from './users.ts';
import { verify } from './verify.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Route extends RoutePath {
  /** `GET` also answers `HEAD`. Empty: the upstream's alone. */
  readonly handlers: Readonly<Partial<Record<Method, Handler<AppEnv>>>>;
  /**
   * The parameters that each method takes below `/v1`: others are refused there, but not of a
   * `POST`, which has the upstream's, too.
   */
  readonly query?: Readonly<Partial<Record<Method, readonly string[]>>>;
  /**
   * Whether the upstream has routes of this path, too: other methods and paths below are forwarded.
   */
  readonly shared?: true;
  /** The token of the operator that opens it, instead of a caller's key. */
  readonly token?: OperatorToken;
}

const USER = ['user'];
const PAGED = { GET: ['limit', 'cursor'] };
const DAYS = { GET: ['days'] };

const LISTED = [
  ...PAGED.GET,
  ...['status', 'q', 'sort', 'order', 'user', 'model', 'agent', 'outcome'],
  ...['used_since', 'used_until', 'paid_from', 'paid_to'],
];

/** A path comes before those that match it by a parameter. */
export const ROUTES: readonly Route[] = [
  { path: '/', handlers: { GET: getFrontPage } },
  { path: '/healthz', handlers: { GET: getHealth } },
  // Who sets a gateway up for Headroom's contract (`compress.ts`) asks this.
  { path: '/health', handlers: { GET: getHealth } },
  // Claude Code asks whether somebody is there.
  { path: '/api/hello', handlers: { GET: getHealth } },
  { path: '/metrics', handlers: { GET: getMetrics }, token: 'METRICS_TOKEN' },
  { path: '/openapi.json', handlers: { GET: getOpenApi } },
  { path: '/docs', handlers: { GET: getReference } },
  { path: '/docs/search', handlers: { GET: searchDocs } },
  { path: '/docs/:page', handlers: { GET: getPage } },
  { path: '/llms.txt', handlers: { GET: getLlmsText } },
  { path: '/inspect', handlers: { GET: getInspector } },
  { path: '/inspect/:file', handlers: { GET: getInspectorFile } },

  // No other API has paths that end like this.
  {
    path: '/v1/chat/completions',
    handlers: { POST: chatCompletions },
    shared: true,
    isUnmistakable: true,
  },
  { path: '/v1/responses', handlers: { POST: responses }, shared: true, isAppended: true },
  { path: '/v1/responses/compact', handlers: { POST: compactResponses }, isAppended: true },
  { path: '/v1/responses/input_tokens', handlers: { POST: countResponsesInput }, isAppended: true },
  { path: '/v1/messages', handlers: { POST: messages }, shared: true, isAppended: true },
  { path: '/v1/messages/count_tokens', handlers: { POST: countMessagesInput }, isAppended: true },
  { path: '/v1/completions', handlers: {}, shared: true, isAppended: true },
  { path: '/v1/embeddings', handlers: {}, shared: true, isAppended: true },
  { path: '/v1/models', handlers: {}, shared: true, isAppended: true },
  { path: '/v1/models/:model', handlers: {}, shared: true, isAppended: true },
  { path: '/v1/compact', handlers: { POST: compact } },
  { path: '/v1/compress', handlers: { POST: compress } },
  { path: '/v1/retrieve/:hash', handlers: { GET: getRetrieved }, query: { GET: ['query'] } },
  { path: '/v1/explain', handlers: { POST: explain } },
  { path: '/v1/verify', handlers: { POST: verify } },
  { path: '/v1/deployment', handlers: { GET: getDeployment } },
  {
    path: '/v1/session',
    handlers: { POST: postSession, DELETE: deleteSession },
    query: { DELETE: ['everywhere'] },
  },
  {
    path: '/v1/admin/session',
    handlers: { POST: postSession, DELETE: deleteSession },
    query: { DELETE: ['everywhere'] },
    token: 'ADMIN_TOKEN',
  },
  { path: '/v1/admin/health', handlers: { GET: getAdminHealth }, token: 'ADMIN_TOKEN' },
  {
    path: '/v1/admin/overview',
    handlers: { GET: getOverview },
    query: { GET: ['days', 'most'] },
    token: 'ADMIN_TOKEN',
  },
  { path: '/v1/admin/callers', handlers: { GET: listCallers }, query: PAGED, token: 'ADMIN_TOKEN' },
  {
    path: '/v1/admin/callers/:name',
    handlers: { GET: getCaller, PUT: putCaller, PATCH: patchCaller, DELETE: deleteCaller },
    token: 'ADMIN_TOKEN',
  },
  { path: '/v1/admin/backup', handlers: { POST: postBackup }, token: 'ADMIN_TOKEN' },
  { path: '/v1/admin/restore', handlers: { POST: postRestore }, token: 'ADMIN_TOKEN' },
  { path: '/v1/mcp', handlers: { POST: mcp } },

  { path: '/v1/refs', handlers: { GET: listRefs }, query: PAGED },
  { path: '/v1/refs/tool', handlers: { GET: getRefTool } },
  {
    path: '/v1/refs/:ref',
    handlers: { GET: getRef, DELETE: deleteRef },
    query: { GET: QUERY_PARAMETERS },
  },

  // `/v1/conversations/{id}` is OpenAI's own.
  {
    path: '/v1/conversations',
    handlers: { GET: listConversations },
    query: { GET: LISTED },
    shared: true,
    isOfAll: true,
  },
  {
    path: '/v1/conversations/:id/memory',
    handlers: { GET: getMemory, PUT: putMemory, PATCH: patchMemory, DELETE: deleteMemory },
    query: { GET: USER, PUT: USER, PATCH: USER, DELETE: USER },
  },
  { path: '/v1/conversations/:id/memory/flush', handlers: { POST: flushMemory } },
  {
    path: '/v1/conversations/:id/messages',
    handlers: { GET: listMessages },
    query: { GET: [...USER, ...PAGED.GET, 'q'] },
  },
  {
    path: '/v1/conversations/:id/requests',
    handlers: { GET: listRequests },
    query: { GET: [...USER, ...PAGED.GET] },
  },
  { path: '/v1/conversations/:id/requests/:n', handlers: { GET: getRequest }, query: { GET: USER } },
  { path: '/v1/conversations/:id/requests/:n/why', handlers: { GET: getWhy }, query: { GET: USER } },
  { path: '/v1/conversations/:id/requests/:n/view', handlers: { POST: showEdits } },
  { path: '/v1/conversations/:id/end', handlers: { POST: endConversation } },

  { path: '/v1/users/:user/memory', handlers: { GET: getUserMemory, DELETE: deleteUserMemory } },
  { path: '/v1/users/:user/memory/:conversation', handlers: { DELETE: deleteUserEntry } },

  { path: '/v1/blocks', handlers: { GET: listBlocks } },
  {
    path: '/v1/blocks/:label',
    handlers: { GET: getBlock, PUT: putBlock, DELETE: deleteBlock },
    query: { GET: ['version'] },
  },

  { path: '/v1/stats', handlers: { GET: getStats }, query: DAYS, isOfAll: true },
  { path: '/v1/stats/comparison', handlers: { GET: getComparison }, query: DAYS, isOfAll: true },
  { path: '/v1/stats/summary', handlers: { GET: getSummary }, query: DAYS, isOfAll: true },
  { path: '/v1/stats/summary.svg', handlers: { GET: getSummary }, query: DAYS, isOfAll: true },
  { path: '/v1/memory', handlers: { DELETE: deleteTenantData }, isOfAll: true },
];

/** The canonical route of a URL's path. */
export const routeOf = createRouter(ROUTES, new Set(agents.map(({ key }) => key)));

/** The first segments below the version of all routes. */
const NAMES: ReadonlySet<string | undefined> = new Set(
  ROUTES.filter(({ path }) => path.startsWith('/v1/')).map(({ path }) => path.split('/')[2]),
);

/** Whether a canonical path is a route's, or below one. */
export function isRoute(path: string): boolean {
  return path.startsWith('/v1/') && NAMES.has(path.split('/')[2]);
}

const FOR_OPERATORS = pathsOf(({ token }) => token !== undefined);

/**
 * All below the version but the routes of models, and what is read beside routes of the upstream.
 */
const OWN = pathsOf(({ path, shared }) => path.startsWith('/v1/') && !shared);
const READ_BESIDE = pathsOf(({ shared, handlers }) => shared === true && handlers.GET !== undefined);

function pathsOf(isIncluded: (route: Route) => boolean): RegExp {
  const patterns = ROUTES.filter(isIncluded).map(({ path }) => path.replace(/:\w+/g, '[^/]+'));
  return new RegExp(`^(?:${patterns.join('|')})$`);
}

/** Whether a request is answered from what is stored, and not with the upstream's own words. */
export function isOwn(method: string, path: string): boolean {
  return OWN.test(path) || ((method === 'GET' || method === 'HEAD') && READ_BESIDE.test(path));
}

/** Whether a canonical path is one of the operator's. */
export function isForOperator(path: string): boolean {
  return FOR_OPERATORS.test(path);
}

/**
 * The handlers of a route by method, which check the parameters of the query first. A path that
 * ends with a slash deletes nothing: a client makes it of the name `.`, and it would mean more.
 */
export function handlersOf({ path, handlers, query = {} }: Route): [string, Handler<AppEnv>][] {
  const checking = ([method, handler]: [string, Handler<AppEnv>]): [string, Handler<AppEnv>] => {
    if (method === 'POST' || !path.startsWith('/v1/')) return [method, handler];
    const known = query[method as Method] ?? [];
    return [
      method,
      (c, next) => {
        if (method === 'DELETE' && urlOf(c.req.raw).pathname.endsWith('/')) return c.notFound();
        checkParameters(c, known);
        return handler(c, next);
      },
    ];
  };
  return Object.entries(handlers).map(checking);
}

/** The methods of a route, as in the header `allow`. */
export function methodsOf({ handlers }: Pick<Route, 'handlers'>): string {
  return Object.keys(handlers)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ');
}
