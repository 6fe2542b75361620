/** What the Workers that Precis is compared with have in common. */

interface Env {
  /** Without `/v1`. */
  readonly BARE_UPSTREAM: string;
}

/** @param forward sends a request to a URL of the upstream */
export function forwardTo(
  forward: (url: string, request: Request) => Promise<Response>,
): ExportedHandler<Env> {
  return {
    async fetch(request, env): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      if (pathname === '/healthz') return new Response('ok');
      return forward(`${env.BARE_UPSTREAM}${pathname}${search}`, request);
    },
  };
}
