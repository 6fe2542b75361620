/** `POST /mcp`: the tools for clients of the Model Context Protocol, each request by itself. */
import type { Context } from 'hono';
import { createMcpServer } from '../retrieval/mcp-server.ts';
import { tenantOf } from './caller.ts';
import { mcpTools } from './mcp-tools.ts';
import type { AppEnv } from './services.ts';

/** Without an id for sessions the transport knows none, so any isolate answers any request; nothing is ever pushed, so JSON will do. */
const STATELESS = { enableJsonResponse: true };

export async function mcp(c: Context<AppEnv>): Promise<Response> {
  const tenant = tenantOf(c.req.raw.headers, c.get('services'));
  const [{ WebStandardStreamableHTTPServerTransport }, server] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    createMcpServer(mcpTools(c, tenant)),
  ]);
  const transport = new WebStandardStreamableHTTPServerTransport(STATELESS);
  await server.connect(transport);
  return transport.handleRequest(c.req.raw);
}
