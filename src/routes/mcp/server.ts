/**
 * A Model Context Protocol server for our tools
 * (https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
 *
 * The SDK is loaded on first use, since most isolates never need it.
 *
 * The tools call the code of the model's own (`tools.ts`), and may ask for any ref of the tenant.
 */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { version } from '../../../package.json';
import type { Result } from '../../lib/result.ts';
import type { FunctionTool } from '../../protocol/tools.ts';

export interface ServedTool {
  readonly definition: FunctionTool;
  /** Result of a call, or the reason there is none in words. Never throws. @param args as JSON */
  call(args: string): Promise<Result<string, string>>;
}

/** A server without a transport, for a single request. */
export async function createMcpServer(tools: readonly ServedTool[]): Promise<Server> {
  const [{ Server }, { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError }] =
    await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
  // `McpServer` would need the JSON schemas a second time, in zod.
  const server = new Server({ name: 'precis', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(listed) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ definition }) => definition.function.name === params.name);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, 'There is no tool of this name.');
    const found = await tool.call(JSON.stringify(params.arguments ?? {}));
    return { content: [{ type: 'text', text: found.ok ? found.value : found.reason }], isError: !found.ok };
  });
  return server;
}

function listed({ definition }: ServedTool) {
  const { name, description, parameters } = definition.function;
  const inputSchema = { ...parameters, required: [...parameters.required] };
  return { name, description, inputSchema, annotations: { readOnlyHint: true } };
}
