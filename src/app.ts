/** The app: all routes, and the errors they answer with. */

import { Hono } from 'hono';
import { accessKeysIn } from './access-keys.ts';
import type { Env } from './config.ts';
import { ConfigError } from './config-error.ts';
import { urlOf } from './lib/request-url.ts';
import { createObjectLog, errorFields } from './log.ts';
import { accessKeyIn, callerOf } from './request/caller.ts';
import { knownAgent } from './request/choose-strategy.ts';
import { ApiError, internalError } from './request/errors.ts';
import { type AppEnv, servicesOf } from './request/services.ts';
import { deleteBlock, getBlock, listBlocks, putBlock } from './routes/blocks.ts';
import { chatCompletions } from './routes/chat.ts';
import { compact } from './routes/compact.ts';
import { endConversation } from './routes/conversations/end.ts';
import { listConversations } from './routes/conversations/list.ts';
import { deleteMemory, flushMemory, getMemory, patchMemory } from './routes/conversations/memory.ts';
import { listMessages } from './routes/conversations/messages.ts';
import { getRequest, getRequestView, listRequests } from './routes/conversations/requests.ts';
import { putMemory } from './routes/conversations/restore.ts';
import { getStats } from './routes/conversations/stats.ts';
import { getDeployment } from './routes/deployment.ts';
import { explain } from './routes/explain.ts';
import { getFrontPage, getInspector, getInspectorFile } from './routes/inspector/route.ts';
import { mcp } from './routes/mcp/route.ts';
import { getMetrics } from './routes/metrics.ts';
import { passthrough } from './routes/passthrough.ts';
import { deleteRef, getRef, getRefTool, listRefs } from './routes/refs.ts';
import { compactResponses, countResponsesInput, responses } from './routes/responses.ts';
import { routeOf } from './routes/routing.ts';
import { getLlmsText, getOpenApi, getPage, getReference } from './routes/site.ts';
import { deleteTenantData } from './routes/tenant-data.ts';
import { traced } from './routes/traced.ts';
import { deleteUserEntry, deleteUserMemory, getUserMemory } from './routes/users.ts';
import { verify } from './routes/verify.ts';
import { checkSecrets } from './tenant/published-secrets.ts';

/** Unknown paths below these are 404, not forwarded. `/v1/conversations/{id}` is OpenAI's own. */
const OWN_PATHS = [
  '/v1/responses/compact',
  '/v1/responses/input_tokens',
  '/v1/compact',
  '/v1/explain',
  '/v1/verify',
  '/v1/refs',
  '/v1/conversations/:id/memory',
  '/v1/conversations/:id/messages',
  '/v1/conversations/:id/requests',
  '/v1/conversations/:id/end',
  '/v1/users/:user/memory',
  '/v1/blocks',
  '/v1/stats',
  '/v1/deployment',
  '/v1/memory',
  '/v1/mcp',
];

export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: (request) => routeOf(urlOf(request).pathname).path });

  addSiteRoutes(app);

  app.use('/v1/*', async (c, next) => {
    if (c.req.header('upgrade')?.toLowerCase() === 'websocket')
      return c.text('WebSockets are not served here.', 426, { upgrade: 'HTTP/2.0' });
    const services = servicesOf(c.env);
    c.set('services', services);
    // Callers without a valid access key get no other information about the deployment.
    if (services.config.access) accessKeyIn(c.req.raw.headers, services.config.access.keys);
    const { hostname, pathname } = urlOf(c.req.raw);
    const { secret, previousSecret } = services.config;
    checkSecrets(previousSecret === undefined ? [secret] : [secret, previousSecret], hostname);
    const { agent } = routeOf(pathname);
    if (agent !== undefined)
      c.set('agent', knownAgent(agent, null, callerOf(c.req.raw.headers, services), services));
    return next();
  });

  app.post('/v1/chat/completions', traced(chatCompletions));
  app.post('/v1/responses', traced(responses));
  app.post('/v1/responses/compact', compactResponses);
  app.post('/v1/responses/input_tokens', countResponsesInput);
  app.post('/v1/compact', compact);
  app.all('/v1/compact', notAllowed('POST'));
  app.post('/v1/explain', explain);
  app.all('/v1/explain', notAllowed('POST'));
  app.post('/v1/verify', verify);
  app.all('/v1/verify', notAllowed('POST'));
  app.get('/v1/deployment', getDeployment);
  app.all('/v1/deployment', notAllowed('GET, HEAD'));
  app.get('/v1/refs', listRefs);
  app.all('/v1/refs', notAllowed('GET'));
  app.get('/v1/refs/tool', getRefTool);
  app.all('/v1/refs/tool', notAllowed('GET, HEAD'));
  app.get('/v1/refs/:ref', getRef);
  app.delete('/v1/refs/:ref', deleteRef);
  app.all('/v1/refs/:ref', notAllowed('GET, HEAD, DELETE'));
  addMemoryRoutes(app);
  app.delete('/v1/memory', deleteTenantData);
  app.all('/v1/memory', notAllowed('DELETE'));
  app.post('/v1/mcp', mcp);
  app.all('/v1/mcp', notAllowed('POST'));
  for (const path of OWN_PATHS) app.all(`${path}/*`, (c) => c.notFound());
  app.all('/v1/*', passthrough);

  app.notFound((c) =>
    new ApiError('not_forwarded', `There is no route ${c.req.method} ${c.req.path}.`).toResponse(),
  );
  app.onError((error, c) => {
    const services = c.get('services');
    if (error instanceof ApiError) {
      const refusal = error.toResponse();
      services?.log('info', 'a request was refused', { code: error.code, status: refusal.status });
      services?.metrics.count('precis_refusals_total', { code: error.code });
      services?.metrics.sendLater((work) => c.executionCtx.waitUntil(work));
      return refusal;
    }
    if (error instanceof ConfigError) return misconfigured(error, c.req.raw.headers, c.env).toResponse();
    services?.log('error', 'a request has failed', { code: 'internal_error', ...errorFields(error) });
    return internalError().toResponse();
  });

  return app;
}

/** The routes about the deployment itself, which take no caller's key. */
function addSiteRoutes(app: Hono<AppEnv>): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/metrics', getMetrics);
  app.get('/openapi.json', getOpenApi);
  app.get('/docs', getReference);
  app.get('/docs/:page', getPage);
  app.get('/llms.txt', getLlmsText);
  app.get('/', getFrontPage);
  app.get('/inspect', getInspector);
  app.get('/inspect/:file', getInspectorFile);
}

/**
 * The routes of conversations, of users and of memory blocks. Other `/v1/conversations` are
 * OpenAI's own.
 */
function addMemoryRoutes(app: Hono<AppEnv>): void {
  app.get('/v1/conversations', listConversations);
  app.get('/v1/stats', getStats);
  app.all('/v1/stats', notAllowed('GET, HEAD'));
  app.get('/v1/conversations/:id/memory', getMemory);
  app.put('/v1/conversations/:id/memory', putMemory);
  app.patch('/v1/conversations/:id/memory', patchMemory);
  app.delete('/v1/conversations/:id/memory', deleteMemory);
  app.all('/v1/conversations/:id/memory', notAllowed('GET, HEAD, PUT, PATCH, DELETE'));
  app.post('/v1/conversations/:id/memory/flush', flushMemory);
  app.all('/v1/conversations/:id/memory/flush', notAllowed('POST'));
  app.get('/v1/conversations/:id/messages', listMessages);
  app.all('/v1/conversations/:id/messages', notAllowed('GET, HEAD'));
  app.get('/v1/conversations/:id/requests', listRequests);
  app.all('/v1/conversations/:id/requests', notAllowed('GET, HEAD'));
  app.get('/v1/conversations/:id/requests/:n', getRequest);
  app.all('/v1/conversations/:id/requests/:n', notAllowed('GET, HEAD'));
  app.get('/v1/conversations/:id/requests/:n/view', getRequestView);
  app.all('/v1/conversations/:id/requests/:n/view', notAllowed('GET, HEAD'));
  app.post('/v1/conversations/:id/end', endConversation);
  app.all('/v1/conversations/:id/end', notAllowed('POST'));
  app.get('/v1/users/:user/memory', getUserMemory);
  app.delete('/v1/users/:user/memory', deleteUserMemory);
  app.all('/v1/users/:user/memory', notAllowed('GET, HEAD, DELETE'));
  app.delete('/v1/users/:user/memory/:conversation', deleteUserEntry);
  app.all('/v1/users/:user/memory/:conversation', notAllowed('DELETE'));
  app.get('/v1/blocks', listBlocks);
  app.all('/v1/blocks', notAllowed('GET, HEAD'));
  app.get('/v1/blocks/:label', getBlock);
  app.put('/v1/blocks/:label', putBlock);
  app.delete('/v1/blocks/:label', deleteBlock);
  app.all('/v1/blocks/:label', notAllowed('GET, HEAD, PUT, DELETE'));
}

/**
 * The answer to a request while the configuration is invalid. The message never holds a value.
 * Where callers bring their own keys, anyone gets it; where they have access keys, only callers
 * with a valid one do.
 */
function misconfigured(error: ConfigError, headers: Headers, env: Env): ApiError {
  createObjectLog(env)('error', error.message, { code: 'misconfigured', ...errorFields(error) });
  try {
    const keys = accessKeysIn(env);
    if (keys) accessKeyIn(headers, keys);
    return new ApiError('misconfigured', error.message);
  } catch (refusal) {
    if (refusal instanceof ApiError) return refusal;
    throw refusal;
  }
}

function notAllowed(methods: string): () => Response {
  return () =>
    new ApiError('not_forwarded', `This route takes ${methods}.`, null, 405).toResponse({ allow: methods });
}
