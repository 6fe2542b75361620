import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts a server on loopback. @param port 0: a free one */
export async function listening(
  server: Server,
  port = 0,
): Promise<{ readonly origin: string; close(): Promise<void> }> {
  // No connection closes just as a request is sent over it, after a pause of a busy machine.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
