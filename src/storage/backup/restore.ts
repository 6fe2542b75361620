/**
 * Puts records of a backup back. Each does the same whenever it comes again.
 *
 * What is here stays, and what was deleted here after it was saved does not come back
 * (`tenant/deletions.ts`). A conversation comes back as a whole or not at all: its rows are put
 * aside, its objects are written to R2, and then the rows take their place.
 */
import type { Log } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../bucket.ts';
import type { PutBackState } from '../object-backup.ts';
import { FORMAT, type RecordContent, recordContent, type SavedObjects, type SavedWhole } from './contents.ts';
import { chainAfter, type Framed, openRecord, type RecordFault } from './records.ts';
import type { WalkPorts } from './walk.ts';

type RestorePorts = Pick<WalkPorts, 'bucket' | 'conversation' | 'user' | 'tenant'> & {
  readonly deployment: Tenant;
  readonly log: Log;
};

/** Why a record is not put back. `later`: of a later version. `incomplete`: see `missing`. */
export type RestoreFault = RecordFault | 'later' | 'incomplete';

/** How many of a kind, with one fate. */
export interface Restored {
  readonly kind: SavedWhole['of'] | 'ref' | 'content';
  readonly state: Exclude<PutBackState, 'missing' | 'later'>;
  readonly count: number;
}

type Restoring =
  | {
      readonly ok: true;
      readonly restored: readonly Restored[];
      /** The tenants and conversations that were changed: an isolate may remember them. */
      readonly owners: readonly string[];
    }
  /** The index of the record at fault. Those before it are put back. */
  | { readonly ok: false; readonly fault: RestoreFault; readonly index: number };

/**
 * @param chain the hash of all records before these
 * @throws StoreError
 */
export async function restore(
  records: readonly Framed[],
  chain: string,
  ports: RestorePorts,
): Promise<Restoring> {
  const restored: Restored[] = [];
  const owners = new Set<string>();
  let before = chain;
  for (const [index, record] of records.entries()) {
    const content = await contentOf(record, before, ports.deployment);
    if (typeof content === 'string') return { ok: false, fault: content, index };
    const done = await restoreOne(content, record, ports);
    if (typeof done === 'string') return { ok: false, fault: done, index };
    restored.push(...done);
    if (content.type === 'whole') owners.add(content.name);
    if (content.type === 'objects') owners.add(content.conversation ?? content.tenant);
    before = chainAfter(before, record.bytes);
  }
  return { ok: true, restored, owners: [...owners] };
}

async function contentOf(
  record: Framed,
  chain: string,
  deployment: Tenant,
): Promise<RecordContent | RestoreFault> {
  const opened = await openRecord(deployment, record, chain);
  if (typeof opened === 'string') return opened as RecordFault;
  const parsed = recordContent.safeParse(opened);
  return parsed.success ? parsed.data : 'later';
}

async function restoreOne(
  content: RecordContent,
  record: Framed,
  ports: RestorePorts,
): Promise<readonly Restored[] | RestoreFault> {
  switch (content.type) {
    case 'head':
      return content.format > FORMAT ? 'later' : [];
    case 'end':
      return [];
    case 'part':
      await backupOf(content, ports)((stub) => stub.putAside(content, content.text));
      return [];
    case 'whole': {
      const state = await backupOf(content, ports)((stub) => stub.putBack(content));
      if (state === 'missing') return 'incomplete';
      return state === 'later' ? 'later' : [{ kind: content.of, state, count: 1 }];
    }
    case 'objects':
      return restoreObjects(content, record, ports);
  }
}

/** The object that was saved. All classes have the same methods for this. */
function backupOf({ of, name }: Pick<SavedWhole, 'of' | 'name'>, ports: RestorePorts) {
  return { tenant: ports.tenant, conversation: ports.conversation, user: ports.user }[of](name) as ReturnType<
    RestorePorts['user']
  >;
}

/** Objects of a conversation are written while its rows are put aside. */
async function restoreObjects(
  { objects, tenant, conversation, backup, at }: SavedObjects,
  { attachment }: Framed,
  ports: RestorePorts,
): Promise<Restored[]> {
  const isRefs = conversation === null;
  if (!isRefs && !(await ports.conversation(conversation)((stub) => stub.hasAside(backup)))) return [];
  const refs = objects.map(({ name, users, uploaded }) => ({ ref: name, users, uploaded }));
  const taken = isRefs && (await ports.tenant(tenant)((stub) => stub.saved.takeRefs(refs, at)));
  const to = new TenantBucket(ports.bucket, { id: tenant });
  const restored: Restored[] = [];
  let begin = 0;
  for (const [index, { name, bytes, metadata }] of objects.entries()) {
    const content = attachment.subarray(begin, begin + bytes);
    begin += bytes;
    let state: Restored['state'] = 'deleted';
    if (!taken || taken[index])
      state = (await to.create(name, content, ports.log, metadata)) ? 'restored' : 'kept';
    restored.push({ kind: isRefs ? 'ref' : 'content', state, count: 1 });
  }
  return restored;
}
