/**
 * How many bytes a body may have for an upstream: what vendors publish, and what refusals have
 * shown (docs/vendors.md#limits-of-bytes).
 */
import type { Beliefs } from '../lib/isolate-memory.ts';

const MB = 1_000_000;
const MIB = 1024 * 1024;

/**
 * Limits of a request, by the end of the host's name.
 *
 * docs/vendors.md has the sources. A limit over the largest body that is planned
 * (`request/size-limits.ts`) never acts, as long as that is not raised.
 */
export const BODY_LIMITS: readonly { readonly host: string; readonly bytes: number }[] = [
  { host: 'dashscope.aliyuncs.com', bytes: 10 * MIB },
  { host: 'dashscope-intl.aliyuncs.com', bytes: 10 * MIB },
  { host: 'amazonaws.com', bytes: 20 * MB },
  { host: 'api.anthropic.com', bytes: 32 * MB },
  { host: 'api.openai.com', bytes: 50 * MB },
];

/** Largest share of a refused body that is tried next, where nobody has stated the limit. */
const LEFT_UNSTATED = 0.75;
/** In bytes. No lower limit is believed, so no smaller body is looked at. */
export const LEAST_LIMITED = 64 * 1024;

/** The limit after a refusal. @param sent bytes of the refused body */
export function limitAfter(stated: number | undefined, sent: number): number {
  return Math.floor(stated !== undefined && stated < sent ? stated : sent * LEFT_UNSTATED);
}

/** Remembers a limit of a tenant's upstream, unless a lower one is known. */
export function noteBytes(limits: Beliefs<number>, tenant: string, upstream: string, limit: number): void {
  const known = limits.get(tenant, upstream)?.value;
  if (limit >= LEAST_LIMITED && !(known !== undefined && known <= limit)) limits.set(tenant, upstream, limit);
}

/** The limit that is known of an upstream, the lowest one. @param learned by a refusal */
export function limitOfHost(host: string, learned: number | undefined): number | undefined {
  const known = BODY_LIMITS.find((row) => host === row.host || host.endsWith(`.${row.host}`))?.bytes;
  return learned === undefined || known === undefined ? (learned ?? known) : Math.min(learned, known);
}
