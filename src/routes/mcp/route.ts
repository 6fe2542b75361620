/** `POST /mcp`: tools for clients of the Model Context Protocol. Requests share no session. */
import type { Context } from 'hono';
import { readBody } from '../../request/body.ts';
import { ApiError } from '../../request/errors.ts';
import type { AppEnv } from '../../request/services.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { verifiedTenant } from '../verified-tenant.ts';
import { createMcpServer } from './server.ts';
import { mcpTools } from './tools.ts';

/**
 * Without a session id the transport is stateless, so any isolate can answer. Nothing is pushed, so
 * plain JSON responses are enough.
 */
const STATELESS = { enableJsonResponse: true };

/**
 * JSON-RPC codes (https://www.jsonrpc.org/specification#error_object). The second is the one that
 * the transport uses.
 */
const INVALID_REQUEST = -32600;
const REFUSED = -32000;

/** In bytes. A message is a call with short arguments. */
const LARGEST_MESSAGE = 4 * 1024 * 1024;

/** White space and the bytes of a byte order mark, which may precede JSON. */
const BLANK: readonly number[] = [0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf];
const OPENING_BRACKET = 0x5b;

export async function mcp(c: Context<AppEnv>): Promise<Response> {
  const { headers, url } = c.req.raw;
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
  const origin = headers.get('origin');
  if (origin !== null && origin !== new URL(url).origin)
    return refusal(403, REFUSED, 'Pages of another origin are not answered.');
  const tenant = await tenantOrChallenge(c);
  if (tenant instanceof Response) return tenant;
  const body = await readBody(c.req.raw, null, LARGEST_MESSAGE);
  // The protocol has no batches. In one, a request could cancel its neighbour, which would then
  // never be answered.
  if (body.find((byte) => !BLANK.includes(byte)) === OPENING_BRACKET)
    return refusal(400, INVALID_REQUEST, 'A batch is not answered: send each message by itself.');
  const [{ WebStandardStreamableHTTPServerTransport }, server] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    createMcpServer(mcpTools(c, tenant)),
  ]);
  const transport = new WebStandardStreamableHTTPServerTransport(STATELESS);
  await server.connect(transport);
  return transport.handleRequest(new Request(url, { method: 'POST', headers: plainHeaders(headers), body }));
}

/**
 * The request's tenant, or the answer to a request without a valid key. It names the scheme (RFC
 * 9110, section 11.6.1).
 */
async function tenantOrChallenge(c: Context<AppEnv>): Promise<Tenant | Response> {
  try {
    return await verifiedTenant(c, 'read');
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_api_key')
      return error.toResponse({ 'www-authenticate': 'Bearer' });
    throw error;
  }
}

/** The headers of a body that is read and decoded by now. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) plain.delete(name);
  return plain;
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
