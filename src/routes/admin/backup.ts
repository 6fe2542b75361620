/**
 * `POST /v1/admin/backup`: the next records of a backup, for the deployment's operator. They are
 * sealed under `PRECIS_SECRET`, so the operator's program sees no contents.
 */
import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { concat } from '../../lib/bytes.ts';
import { parseObject } from '../../lib/json.ts';
import { once } from '../../lib/once.ts';
import { readBody } from '../../request/body.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import { type BackupBeginning, backUp } from '../../storage/backup/backup.ts';
import { callerRegister, REGISTER } from '../../storage/objects.ts';
import { tenantAfter } from '../../storage/tenant/all-tenants.ts';
import { isTenantId, type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { RouteContext } from '../context.ts';
import { stored } from '../stored.ts';
import { KnownCallers, SHORT_NAME } from './known-callers.ts';

/** In bytes. A place to go on has the name of a conversation, and little else. */
const LARGEST_BODY = 64 * 1024;

const backupBody = once(() => {
  const [is, isNot] = [z.string(), z.undefined().optional()];
  return z.union([
    z.strictObject({ next: is, caller: isNot, conversation: isNot, user: isNot }),
    z.strictObject({ next: isNot, caller: is, conversation: is, user: is.optional() }),
    z.strictObject({ next: isNot, caller: is.optional(), conversation: isNot, user: isNot }),
  ]);
});

export async function postBackup(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const beginning = await readBeginning(c.req.raw, services);
  const { bucket, conversation, user, tenant, tenants, log } = services;
  const named = knownTenants(services).map(({ id }) => id);
  const sources = { bucket, named, register: callerRegister(c.env, log) };
  const records = await stored(
    c,
    () =>
      backUp(beginning, {
        ...{ bucket, conversation, user, tenant },
        deployment: tenants.ofDeployment(),
        settled: (id) => services.runOutboxes.settled(id),
        // The register first: it has a name as a tenant has an id.
        nextTenant: async (after) =>
          after === '' ? REGISTER : tenantAfter(after === REGISTER ? '' : after, sources),
        now: Date.now,
      }),
    TIME_LIMITS.backupMs,
  );
  if (!records) throw new ApiError('invalid_backup', 'next is not a record of this deployment.', 'next');
  return new Response(concat(records), {
    headers: { 'content-type': 'application/octet-stream' },
  });
}

/** @throws ApiError that names the field */
async function readBeginning(request: Request, services: Services): Promise<BackupBeginning> {
  const text = new TextDecoder().decode(await readBody(request, null, LARGEST_BODY));
  const sent = parseObject(text === '' ? '{}' : text) ?? { body: null };
  const parsed = backupBody().safeParse(sent);
  if (!parsed.success)
    throw invalid(
      Object.keys(sent)[0] ?? null,
      'The body may have caller, alone or with conversation and its user, or next of the previous answer, each as a string.',
    );
  const { next, caller, conversation: id, user } = parsed.data;
  if (next !== undefined) return { next: new Uint8Array(Buffer.from(next, 'base64')) };
  const scope = caller === undefined ? null : await idsOf(caller, services);
  return { scope, one: id === undefined ? null : { id, user } };
}

/** The ids of a caller's tenants. @throws ApiError if the deployment knows no such caller */
async function idsOf(caller: string, services: Services): Promise<readonly string[]> {
  const { config, tenants } = services;
  const idsIn = (tenant: Tenant) => tenantsOf(tenant).map(({ id }) => id);
  if (config.access?.keys.some(({ name }) => name === caller)) return idsIn(tenants.ofName(caller));
  if (config.localTenant?.name === caller) return idsIn(tenants.ofLocal(caller));
  if (isTenantId(caller)) return [caller];
  if (SHORT_NAME.test(caller)) return (await new KnownCallers(services).find(caller)).tenants;
  if (config.access) return idsIn(tenants.ofName(caller));
  throw invalid(
    'caller',
    "caller is a name of ACCESS_KEYS or LOCAL_TENANT, a tenant-… of GET /v1/admin/callers, or a tenant's id of 32 hexadecimal characters.",
  );
}

/** The tenants that are known without looking at storage. */
function knownTenants({ config, tenants }: Services): Tenant[] {
  const named = config.access?.keys.map(({ name }) => tenants.ofName(name)) ?? [];
  const local = config.localTenant ? [tenants.ofLocal(config.localTenant.name)] : [];
  return [...named, ...local].flatMap(tenantsOf);
}
