/** `POST /v1/admin/restore`: puts records of a backup back, for the deployment's operator. */
import { checkUnencoded, readBody } from '../../request/body.ts';
import { ApiError } from '../../request/errors.ts';
import { NO_CHAIN, recordsIn } from '../../storage/backup/records.ts';
import { type Restored, type RestoreFault, restore } from '../../storage/backup/restore.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { RouteContext } from '../context.ts';
import { stored } from '../stored.ts';

/** In bytes. A record has at least one object of R2, whatever its size. */
const LARGEST_BODY = 48 * 1024 * 1024;

/** A record takes up to nine calls of storage, and an invocation has 50. */
const MOST_RECORDS = 5;

const CHAIN = /^[0-9a-f]{64}$/;

const FAULTS: Readonly<Record<RestoreFault, string>> = {
  format: 'does not belong to a backup of Precis',
  secret:
    'was sealed under another PRECIS_SECRET: set that one, or set it as PRECIS_SECRET_PREVIOUS to restore what it can read',
  changed: 'was changed, or is out of order',
  later: 'was made by a later version of Precis: deploy that one first',
  incomplete: 'needs earlier records that were not restored: begin again with the first one',
};

export async function postRestore(c: RouteContext): Promise<Response> {
  const after = c.req.query('after') ?? NO_CHAIN;
  if (!CHAIN.test(after))
    throw new ApiError(
      'invalid_backup',
      'after must be the hash of all records before these: SHA-256, in hexadecimal.',
      'after',
    );
  // What is sealed can't be packed; a packed body would be a small one that takes much memory.
  checkUnencoded(c.req.raw.headers);
  const body = await readBody(c.req.raw, null, LARGEST_BODY);
  const records = recordsIn(new Uint8Array(body), MOST_RECORDS + 1);
  if (!records)
    throw new ApiError('invalid_backup', 'The body does not consist of whole records of a backup.');
  if (records.length > MOST_RECORDS)
    throw new ApiError('invalid_backup', `The body has more than ${MOST_RECORDS} records.`);
  const { bucket, conversation, user, tenant, tenants, memory, log } = c.get('services');
  const ports = { bucket, conversation, user, tenant, log, deployment: tenants.ofDeployment() };
  const done = await stored(c, () => restore(records, after, ports), TIME_LIMITS.backupMs);
  if (!done.ok)
    throw new ApiError('invalid_backup', `Record ${done.index + 1} of the body ${FAULTS[done.fault]}.`);
  for (const owner of done.owners) memory.forget(owner);
  return c.json({ object: 'memory.restored', records: records.length, restored: added(done.restored) });
}

/** One count for all of a kind with one fate. */
function added(restored: readonly Restored[]): Restored[] {
  const counts = new Map<string, Restored>();
  for (const { kind, state, count } of restored) {
    const name = `${kind} ${state}`;
    counts.set(name, { kind, state, count: (counts.get(name)?.count ?? 0) + count });
  }
  return [...counts.values()];
}
