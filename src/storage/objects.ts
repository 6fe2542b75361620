/** Calls to the Durable Objects. */

import type { Env } from '../config.ts';
import { InvariantError } from '../lib/invariant-error.ts';
import { type StoreError, storing } from '../lib/store-error.ts';
import { type Log, logCaught } from '../log.ts';
import type { ConversationName } from './conversation/names.ts';
import type { ConversationApi } from './conversation/remote.ts';
import type { MetricsObject } from './metrics/object.ts';
import type { Remote } from './remote.ts';
import type { RegisterApi, TenantApi, UserApi } from './tenant/remote.ts';

/** @param Material the input of background summaries, see `ConversationApi` */
export type ConversationMemoryStub<Material = unknown> = Remote<ConversationApi<Material>>;
export type UserMemoryStub = Remote<UserApi>;
export type MetricsStub = Remote<Pick<MetricsObject, 'add' | 'read'>>;
export type TenantMemoryStub = Remote<TenantApi>;
export type RegisterStub = Remote<RegisterApi>;

export function conversationMemory<Material>(
  env: Env,
  name: ConversationName,
  log: Log,
): ObjectCaller<ConversationMemoryStub<Material>> {
  return callerOf(env.CONVERSATION_MEMORY, name, log);
}

/** @param id of the tenant */
export function tenantMemory(env: Env, id: string, log: Log): ObjectCaller<TenantMemoryStub> {
  return callerOf(env.TENANT_MEMORY, id, log);
}

/** @param name from `userName` */
export function userMemory(env: Env, name: string, log: Log): ObjectCaller<UserMemoryStub> {
  return callerOf(env.USER_MEMORY, name, log);
}

/** The object of the register, of the tenants' class. No tenant has the name. */
export const REGISTER = 'callers';

export function callerRegister(env: Env, log: Log): ObjectCaller<RegisterStub> {
  return callerOf(env.TENANT_MEMORY, REGISTER, log);
}

/** The name of the one object of metrics. */
const METRICS_OBJECT = 'metrics';

/** @throws InvariantError without the binding, which the configuration checks */
export function metricsObject(env: Env, log: Log): ObjectCaller<MetricsStub> {
  if (!env.METRICS) throw new InvariantError('metrics are counted without their binding');
  return callerOf(env.METRICS, METRICS_OBJECT, log);
}

export type ObjectCaller<Stub> = <Result>(call: (stub: Stub) => Promise<Result>) => Promise<Result>;

/**
 * A caller that retries once if the platform says that this may help. An overloaded object is not
 * called again, which would make it worse
 * (https://developers.cloudflare.com/durable-objects/best-practices/error-handling/).
 *
 * @param open gets a stub. The retry takes a new one, since one that has thrown may be broken.
 * @returns a caller that throws StoreError
 */
export function objectCaller<Stub>(open: () => Stub, log: Log): ObjectCaller<Stub> {
  return (call) => {
    const reach = () => storing(() => call(open()));
    return reach().catch((failure: StoreError) => {
      if (!isWorthRetrying(failure.cause)) throw failure;
      logCaught(log, 'warn', 'an object is called again', failure);
      return reach();
    });
  };
}

function isWorthRetrying(error: unknown): boolean {
  const { retryable, overloaded } = Object(error) as { retryable?: unknown; overloaded?: unknown };
  return retryable === true && overloaded !== true;
}

/** @typeParam Stub of the namespace's class */
function callerOf<Stub>(namespace: DurableObjectNamespace, name: string, log: Log): ObjectCaller<Stub> {
  return objectCaller(() => namespace.get(namespace.idFromName(name)) as unknown as Stub, log);
}
