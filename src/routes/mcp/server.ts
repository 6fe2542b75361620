/**
 * A Model Context Protocol server for our tools
 * (https://modelcontextprotocol.io/specification/2026-07-28/server/tools).
 *
 * The SDK is loaded on first use, since most isolates never need it.
 *
 * The tools call the code of the model's own (`tools.ts`), and may ask for any ref of the tenant.
 */
import type { CacheHint, CallToolResult, Server, Tool } from '@modelcontextprotocol/server';
import { version } from '../../../package.json';
import type { Result } from '../../lib/result.ts';
import { type ToolResult, textOfResult } from '../../protocol/answers/tool-turn.ts';
import type { FunctionTool } from '../../protocol/tools.ts';

export interface ServedTool {
  readonly definition: FunctionTool;
  /** Result of a call, or the reason there is none in words. Never throws. @param args as JSON */
  call(args: string): Promise<Result<ToolResult, string>>;
}

/**
 * How long clients may keep what a list says. It changes with the deployment alone, so five minutes
 * are short enough. `private`: no cache that others share may answer instead of a key.
 */
const LISTS: CacheHint = { ttlMs: 300_000, cacheScope: 'private' };

/** A server without a transport, for a single request of either era of the protocol. */
export async function createMcpServer(tools: readonly ServedTool[]): Promise<Server> {
  const { Server, ProtocolError, ProtocolErrorCode } = await import('@modelcontextprotocol/server');
  // `McpServer` would need the JSON schemas a second time, in zod.
  const server = new Server(
    { name: 'precis', version },
    { capabilities: { tools: {} }, cacheHints: { 'tools/list': LISTS, 'server/discover': LISTS } },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(listed) }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(({ definition }) => definition.function.name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'No tool has this name.');
    const found = await tool.call(JSON.stringify(params.arguments ?? {}));
    return { content: contentOf(found.ok ? found.value : found.reason), isError: !found.ok };
  });
  return server;
}

function contentOf(result: ToolResult): CallToolResult['content'] {
  const media = typeof result === 'string' ? [] : result.media;
  return [
    { type: 'text', text: textOfResult(result) },
    ...media.map(({ mediaType: mimeType, base64: data }) => ({ type: 'image' as const, data, mimeType })),
  ];
}

function listed({ definition }: ServedTool): Tool {
  const { name, description, parameters } = definition.function;
  // The SDK's type has an index signature, which the schemas of our own lack.
  const inputSchema = { ...parameters, required: [...parameters.required] } as Tool['inputSchema'];
  return { name, description, inputSchema, annotations: { readOnlyHint: true } };
}
