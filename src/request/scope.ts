/** What one request brings along, whatever it asks for. */
import type { Context } from 'hono';
import type { WaitUntil } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Verdict } from '../upstream/acceptance.ts';
import { type Caller, callerOf } from './caller.ts';
import type { Learned } from './learned.ts';
import type { AppEnv, Services } from './services.ts';
import { Timings } from './timings.ts';
import { verdictOn } from './verdict.ts';

/** What one request brings along. */
export interface RequestScope {
  readonly services: Services;
  readonly caller: Caller;
  /** What was learned from the caller's contents. */
  readonly learned: Learned;
  readonly headers: Headers;
  readonly waitUntil: WaitUntil;
  readonly timings: Timings;
  /** The session that the caller's headers name; it groups refs, and nothing else. */
  readonly session: string | undefined;
  /** Whether the upstream accepts the caller's key, so that its contents may be stored. */
  mayStore(tenant: Tenant): Promise<boolean>;
}

/** Ours, and those that opencode and Codex send (docs/design.md#3-what-the-caller-says). */
const SESSION_HEADERS = ['x-conversation-id', 'x-session-id', 'session-id'];

/** What a handler needs of its request. @throws ApiError `invalid_api_key` */
export function scopeOf(c: Context<AppEnv>): RequestScope {
  const services = c.get('services');
  const { headers } = c.req.raw;
  const caller = callerOf(headers, services);
  let verdict: Promise<Verdict> | undefined;
  return {
    services,
    caller,
    learned: services.learned(caller.tenant),
    headers,
    timings: new Timings(),
    session: SESSION_HEADERS.map((name) => headers.get(name)).find((value) => value !== null) ?? undefined,
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    mayStore: async (tenant) => {
      if (services.accepted.known(tenant.id) === 'accepted') return true;
      verdict ??= verdictOn(tenant, headers, services);
      return (await verdict) === 'accepted';
    },
  };
}
