/**
 * The way through all that tenants have, step by step. A step makes at most a record, and its place
 * says where the next one goes on, so that a request can end after any step.
 *
 * Of each tenant come its own object, its conversations (rows, and then their objects in R2), its
 * refs, and its users. What is stored in R2 is read after the rows that name it, so that these name
 * nothing that is missing, unless it was deleted meanwhile. Manifests are left out: they prove what
 * this storage has, and are made again.
 */

import { concat } from '../../lib/bytes.ts';
import { InvariantError } from '../../lib/invariant-error.ts';
import { TenantBucket } from '../bucket.ts';
import { OBJECT_KINDS, objectsOf } from '../conversation/sealed-objects.ts';
import type { SavedPart, SavePlace } from '../object-backup.ts';
import type { ConversationMemoryStub, ObjectCaller, TenantMemoryStub, UserMemoryStub } from '../objects.ts';
import { isManifest, isRef } from '../refs/store.ts';
import type { SavedConversation } from '../tenant/saved-tenant.ts';
import type { RecordContent, SavedObjects, SavedWhole } from './contents.ts';

/** An object whose rows are being saved. */
interface RowsPlace {
  /** Null: the first part is next. */
  readonly place: SavePlace | null;
  /** When part 0 was read, in milliseconds since 1970; absent before it. */
  readonly since?: number;
}

/** Which object that is. */
type Here =
  | { readonly at: 'tenant' }
  | { readonly at: 'conversation'; readonly one: SavedConversation }
  | { readonly at: 'user'; readonly name: string };

/** The place after the last step. */
export type WalkPlace =
  | (Here & RowsPlace)
  | { readonly at: 'conversations'; readonly after: number }
  /** The objects of a conversation in R2: packs, and then the objects of each kind. */
  | {
      readonly at: 'objects';
      readonly one: SavedConversation;
      readonly parts: number;
      /** See `RowsPlace`. */
      readonly since: number;
      readonly kind: number;
      readonly after: string;
    }
  | { readonly at: 'refs'; readonly after: string }
  | { readonly at: 'users'; readonly after: string };

export const FIRST_PLACE: WalkPlace = { at: 'tenant', place: null };

export interface NewRecord {
  readonly content: RecordContent;
  readonly attachment?: Uint8Array<ArrayBuffer>;
}

interface Step {
  readonly records: readonly NewRecord[];
  /** How many calls of storage it took. */
  readonly calls: number;
  /** Null: the tenant has no more. */
  readonly next: WalkPlace | null;
}

export interface WalkPorts {
  readonly bucket: R2Bucket;
  /** The backup's id. */
  readonly backup: string;
  conversation(name: string): ObjectCaller<ConversationMemoryStub<never>>;
  user(name: string): ObjectCaller<UserMemoryStub>;
  tenant(id: string): ObjectCaller<TenantMemoryStub>;
  /** Resolves when the events that this isolate has gathered are kept. Never rejects. */
  settled(tenant: string): Promise<void>;
  /** In milliseconds since 1970. */
  now(): number;
}

interface Named {
  readonly of: SavedWhole['of'];
  readonly name: string;
  readonly used: number | null;
}

/** Objects of R2 in one record, a call for each. At least one, whatever its size. */
const MOST_OBJECTS = 8;
const MOST_BYTES = 4 * 1024 * 1024;

/** Names in one listing. */
const LISTED = 500;

/** What a conversation has in R2: packs, which its object names, and what is named after it. */
const KINDS = ['archive', ...OBJECT_KINDS] as const;

export class TenantWalk {
  private readonly ports: WalkPorts;
  private readonly id: string;
  private readonly only: string | null;
  private readonly bucket: TenantBucket;

  /**
   * @param id of the tenant
   * @param only the name of the one conversation that is saved, with its refs; null: everything
   */
  constructor(ports: WalkPorts, id: string, only: string | null) {
    this.ports = ports;
    this.id = id;
    this.only = only;
    this.bucket = new TenantBucket(ports.bucket, { id });
  }

  /** @throws StoreError */
  step(place: WalkPlace): Promise<Step> {
    switch (place.at) {
      case 'tenant':
      case 'conversation':
      case 'user':
        return this.rows(place);
      case 'conversations':
        return this.nextConversation(place.after);
      case 'objects':
        return this.objects(place);
      case 'refs':
        return this.only === null ? this.refs(place.after) : this.refsOf(this.only, place.after);
      case 'users':
        return this.nextUser(place.after);
    }
  }

  /** A part of an object. */
  private async rows(here: Here & RowsPlace): Promise<Step> {
    const { backup, now, settled } = this.ports;
    const { named, save, after } = this.objectOf(here);
    if (here.at === 'tenant' && here.place === null) await settled(this.id);
    if (here.at === 'tenant' && this.only !== null) return { records: [], calls: 1, next: after };
    const begun = now();
    const saved = await save(here.place);
    if (!saved) return { records: [], calls: 1, next: after };
    const { part, text, next } = saved;
    // A moment before part 0 was read, so that no deletion during the backup falls between parts.
    const since = part === 0 ? begun : (here.since ?? begun);
    const record: NewRecord = { content: { type: 'part', backup, ...named, at: since, part, text } };
    if (next) return { records: [record], calls: 1, next: { ...here, place: next, since } };
    const parts = part + 1;
    if (here.at !== 'conversation')
      return { records: [record, this.whole(named, parts, since)], calls: 1, next: after };
    const objects: WalkPlace = { at: 'objects', one: here.one, parts, since, kind: 0, after: '' };
    return { records: [record], calls: 1, next: objects };
  }

  /** An object, and the place after it. */
  private objectOf(here: Here): {
    readonly named: Named;
    readonly save: (place: SavePlace | null) => Promise<SavedPart | null>;
    readonly after: WalkPlace;
  } {
    const { tenant, user, conversation } = this.ports;
    switch (here.at) {
      case 'tenant':
        return {
          named: { of: 'tenant', name: this.id, used: null },
          save: (place) => tenant(this.id)((stub) => stub.saveRows(place)),
          after: { at: 'conversations', after: 0 },
        };
      case 'conversation': {
        const { id, name, used } = here.one;
        return {
          named: { of: 'conversation', name, used },
          save: (place) => conversation(name)((stub) => stub.saveRows(place)),
          after: { at: 'conversations', after: id },
        };
      }
      case 'user':
        return {
          named: { of: 'user', name: here.name, used: null },
          save: (place) => user(here.name)((stub) => stub.saveRows(place)),
          after: { at: 'users', after: here.name },
        };
    }
  }

  private whole(named: Named, parts: number, at: number): NewRecord {
    return { content: { type: 'whole', backup: this.ports.backup, ...named, at, parts } };
  }

  private async nextConversation(after: number): Promise<Step> {
    const one = await this.ports.tenant(this.id)((stub) => stub.saved.conversationAfter(after, this.only));
    const next: WalkPlace = one ? { at: 'conversation', one, place: null } : { at: 'refs', after: '' };
    return { records: [], calls: 1, next };
  }

  private async nextUser(after: string): Promise<Step> {
    const name = await this.ports.tenant(this.id)((stub) => stub.saved.userAfter(after));
    return { records: [], calls: 1, next: name === null ? null : { at: 'user', name, place: null } };
  }

  private async objects(place: WalkPlace & { readonly at: 'objects' }): Promise<Step> {
    const { one, parts, since, after } = place;
    const kind = KINDS[place.kind];
    if (kind === undefined) {
      const { named, after: next } = this.objectOf({ at: 'conversation', one });
      return { records: [this.whole(named, parts, since)], calls: 0, next };
    }
    const names = await this.namesOf(kind, one.name, after);
    if (names.length === 0)
      return { records: [], calls: 1, next: { ...place, kind: place.kind + 1, after: '' } };
    const { record, calls, last } = await this.copy(names, one.name);
    return { records: record, calls: calls + 1, next: { ...place, after: last } };
  }

  private async namesOf(
    kind: (typeof KINDS)[number],
    conversation: string,
    after: string,
  ): Promise<readonly string[]> {
    if (kind === 'archive')
      return this.ports.conversation(conversation)((stub) => stub.archive.packsAfter(after, MOST_OBJECTS));
    const { objects } = await this.bucket.list(objectsOf(kind, conversation), MOST_OBJECTS, after);
    return objects.map(({ name }) => name);
  }

  /** Goes through all objects of the tenant, so that none of a new kind is forgotten. */
  private async refs(after: string): Promise<Step> {
    const { objects, more } = await this.bucket.list('', LISTED, after);
    const names = objects.map(({ name }) => name);
    const unknown = names.find((name) => !isSaved(name));
    if (unknown) throw new InvariantError('an object of R2 is of a kind that is in no backup');
    const refs = names.filter(isRef).slice(0, MOST_OBJECTS);
    const next = (last: string, isLast: boolean): WalkPlace =>
      isLast ? { at: 'users', after: '' } : { at: 'refs', after: last };
    if (refs.length === 0)
      return { records: [], calls: 1, next: next(names.at(-1) ?? '', !more || names.length === 0) };
    const { record, calls, last } = await this.copy(refs, null);
    return { records: record, calls: calls + 1, next: next(last, !more && last === names.at(-1)) };
  }

  private async refsOf(conversation: string, after: string): Promise<Step> {
    const tenant = this.ports.tenant(this.id);
    const refs = (await tenant((stub) => stub.conversations.refsOf(conversation, MOST_OBJECTS, after))) ?? [];
    if (refs.length === 0) return { records: [], calls: 1, next: null };
    const { record, calls, last } = await this.copy(refs, null);
    return { records: record, calls: calls + 1, next: { at: 'refs', after: last } };
  }

  /** Copies the first of these, as many as a record takes. Those that are gone are left out. */
  private async copy(
    names: readonly string[],
    conversation: string | null,
  ): Promise<{ readonly record: NewRecord[]; readonly calls: number; readonly last: string }> {
    const { backup, now } = this.ports;
    const at = now();
    const copies: { readonly object: SavedObjects['objects'][number]; readonly bytes: Uint8Array }[] = [];
    let size = 0;
    let calls = 0;
    let last = '';
    for (const name of names) {
      calls++;
      const copy = await this.bucket.copy(name, size === 0 ? Number.POSITIVE_INFINITY : MOST_BYTES - size);
      if (copy && !copy.bytes) break;
      last = name;
      if (!copy?.bytes) continue;
      const { bytes, uploaded, metadata } = copy;
      size += bytes.length;
      copies.push({ object: { name, bytes: bytes.length, uploaded, metadata, users: [] }, bytes });
    }
    if (copies.length === 0) return { record: [], calls, last };
    const users = conversation === null ? await this.usersOf(copies.map(({ object }) => object.name)) : [];
    const objects = copies.map(({ object }, index) => ({ ...object, users: [...(users[index] ?? [])] }));
    const content = { type: 'objects', backup, tenant: this.id, conversation, at, objects } as const;
    return {
      record: [{ content, attachment: concat(copies.map(({ bytes }) => bytes)) }],
      calls: calls + 1,
      last,
    };
  }

  private async usersOf(refs: readonly string[]): Promise<readonly (readonly string[])[]> {
    if (this.only !== null) return refs.map(() => [this.only ?? '']);
    return this.ports.tenant(this.id)((stub) => stub.saved.usersOf(refs));
  }
}

/** Whether it is of a kind that a backup has, or need not have. */
function isSaved(name: string): boolean {
  return isRef(name) || isManifest(name) || KINDS.some((kind) => name.startsWith(`${kind}_`));
}
