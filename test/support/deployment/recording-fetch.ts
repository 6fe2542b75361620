/** Records what a client sends and receives at its `fetch`. */

export interface Exchange {
  /** The path of the URL. */
  readonly path: string;
  /** The body as the client sent it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly sent: any;
  readonly status: number;
  readonly headers: Headers;
}

/** A `fetch` for a client's options, and a record of its calls, in order. */
export function recordingFetch(): { readonly fetch: typeof fetch; readonly exchanges: Exchange[] } {
  const exchanges: Exchange[] = [];
  return {
    exchanges,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const { status, headers } = response;
      const { pathname: path } = new URL(input instanceof Request ? input.url : input);
      exchanges.push({ path, sent: JSON.parse(String(init?.body)), status, headers });
      return response;
    },
  };
}
