/**
 * A Worker that only forwards, as a baseline for Precis: the cost of any proxy on this platform.
 */
import { DurableObject } from 'cloudflare:workers';

/** wrangler.toml binds these classes, and wrangler starts no Worker without them. */
export class ConversationMemory extends DurableObject {}
export class UserMemory extends DurableObject {}
export class TenantMemory extends DurableObject {}
export class Metrics extends DurableObject {}

interface Env {
  /** Without `/v1`. */
  readonly BARE_UPSTREAM: string;
}

export default {
  async fetch(request, env): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/healthz') return new Response('ok');
    const { method, headers, body } = request;
    return fetch(`${env.BARE_UPSTREAM}${pathname}${search}`, { method, headers, body });
  },
} satisfies ExportedHandler<Env>;
