/**
 * Tools as a server of the Model Context Protocol offers them
 * (https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
 *
 * The SDK is loaded when it is first asked for: most isolates never do.
 */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { version } from '../../package.json';
import type { Result } from '../lib/result.ts';
import type { FunctionTool } from '../protocol/tools.ts';

export interface ServedTool {
  readonly definition: FunctionTool;
  /** The result of one call, or in words why there is none. Must not throw. @param args as JSON */
  call(args: string): Promise<Result<string, string>>;
}

/** A server without a transport; good for one request. */
export async function createMcpServer(tools: readonly ServedTool[]): Promise<Server> {
  const [{ Server }, { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError }] =
    await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
  // The server with JSON schemas as they are: `McpServer` would have them written a second time, in
  // zod.
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
