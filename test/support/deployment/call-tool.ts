/** A call of a tool over MCP, without the protocol's client. */
import type { Deployment } from './deployment.ts';

export const callTool = (
  { postTo }: Pick<Deployment, 'postTo'>,
  name: string,
  args: object,
  headers: Record<string, string> = {},
): Promise<Response> =>
  postTo(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    { accept: 'application/json, text/event-stream', ...headers },
  );
