/**
 * `POST /mcp`: tools for clients of the Model Context Protocol. Requests share no session.
 *
 * Both eras of the protocol have this address. A request of the revision 2026-07-28 says so in its
 * own `_meta`; any other is one of an earlier revision, most of which begin with `initialize`.
 */
import { parseJson } from '../../lib/json.ts';
import { errorFields, type Log } from '../../log.ts';
import { readBody } from '../../request/body.ts';
import { ApiError } from '../../request/errors.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { createMcpServer, type ServedTool } from './server.ts';
import { mcpTools } from './tools.ts';

/**
 * Without a session id the transport of the earlier era is stateless, so any isolate can answer.
 * Nothing is pushed, so plain JSON responses are enough.
 */
const STATELESS = { enableJsonResponse: true };

const VERSION_HEADER = 'mcp-protocol-version';

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

export async function mcp(c: RouteContext): Promise<Response> {
  const { headers, url } = c.req.raw;
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
  const origin = headers.get('origin');
  if (origin !== null && origin !== new URL(url).origin)
    return refusal(403, REFUSED, 'Pages of another origin get no answer.');
  const tenant = await tenantOrChallenge(c);
  if (tenant instanceof Response) return tenant;
  const body = await readBody(c.req.raw, null, LARGEST_MESSAGE);
  // The protocol has no batches. In one, a request could cancel its neighbor, which would then
  // never be answered.
  if (body.find((byte) => !BLANK.includes(byte)) === OPENING_BRACKET)
    return refusal(400, INVALID_REQUEST, 'A batch is not supported: send each message by itself.');
  const request = new Request(url, { method: 'POST', headers: plainHeaders(headers), body });
  const tools = mcpTools(c, tenant);
  return answered(request, parseJson(new TextDecoder().decode(body)), tools, c.get('services').log);
}

/** The answer in the era of the request. @param message its body; undefined if that is no JSON */
async function answered(
  request: Request,
  message: unknown,
  tools: readonly ServedTool[],
  log: Log,
): Promise<Response> {
  const sdk = await import('@modelcontextprotocol/server');
  const parsed = message === undefined ? {} : { parsedBody: message };
  if (message === undefined || !(await sdk.isLegacyRequest(request, message))) {
    const onerror = (error: Error): void =>
      log('info', 'a message of MCP was refused', { code: 'mcp_refused', ...errorFields(error) });
    const make = () => createMcpServer(tools);
    return sdk.createMcpHandler(make, { legacy: 'reject', onerror }).fetch(request, parsed);
  }
  const named = request.headers.get(VERSION_HEADER);
  // A client is answered whatever earlier revision it names: they all have these tools.
  if (named !== null && !sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(named))
    request.headers.delete(VERSION_HEADER);
  const transport = new sdk.WebStandardStreamableHTTPServerTransport(STATELESS);
  const server = await createMcpServer(tools);
  await server.connect(transport);
  return transport.handleRequest(request, parsed);
}

/**
 * The request's tenant, or the answer to a request without a valid key. It names the scheme (RFC
 * 9110, section 11.6.1).
 */
async function tenantOrChallenge(c: RouteContext): Promise<Tenant | Response> {
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
