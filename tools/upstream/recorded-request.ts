import type { IncomingHttpHeaders } from 'node:http';

/** A request that the test upstream has received. */
export interface RecordedRequest {
  method: string;
  /** Path and query, as they came. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  /** Whether the client's socket closed before the response was finished. */
  closed: boolean;
}
