/** A proxy that forwards nothing, and records what it was asked for. */
import { createServer } from 'node:http';
import { listening } from '../../tools/upstream/listening.ts';

export interface ClosedNetwork {
  /** Environment variables that direct all traffic to other hosts to the proxy. */
  readonly env: Record<string, string>;
  /** The hosts that were asked for. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function closedNetwork(): Promise<ClosedNetwork> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    response.writeHead(403).end();
  });
  server.on('connect', (request, socket) => {
    asked.push(String(request.url));
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  const { origin: url, close } = await listening(server);
  const through = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, url]);
  const local = ['NO_PROXY', '127.0.0.1,localhost'];
  const named = [...through, local].flatMap(([name = '', value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ]);
  return {
    env: Object.fromEntries(named),
    asked,
    close,
  };
}
