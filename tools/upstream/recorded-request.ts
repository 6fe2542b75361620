import type { IncomingHttpHeaders } from 'node:http';

/** A request as the upstream stub has received it. */
export interface RecordedRequest {
  method: string;
  /** Path and query, as they came. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  /** The parsed body; undefined when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  /** The client's socket closed before the response was finished. */
  closed: boolean;
}
