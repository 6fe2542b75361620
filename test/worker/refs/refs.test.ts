import { env } from 'cloudflare:workers';
import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { StoreError } from '../../../src/lib/store-error.ts';
import type { LogFields } from '../../../src/log.ts';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import type { TenantMemoryStub } from '../../../src/storage/objects.ts';
import { RefStore } from '../../../src/storage/refs/store.ts';
import { RefUses } from '../../../src/storage/refs/uses.ts';
import { RefWriter } from '../../../src/storage/refs/writer.ts';
import { Retention } from '../../../src/storage/retention.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { watchedBucket } from '../support.ts';

const tenants = new Tenants('a secret of the storage tests');
let made = 0;

/** A new tenant. */
const newTenant = () => tenants.ofName(`tenant ${made++}`);

const unheard = () => {};

const never = new Promise<void>(() => undefined);

function contentOf(tenant: ReturnType<typeof newTenant>, text: string) {
  const metadata = {
    tool_name: 'f',
    tool_call_id: '1',
    content_type: 'text/plain; charset=utf-8',
    tokens: 1,
    bytes: text.length,
    created: 7,
  };
  return { ref: tenant.refs.name(text, () => text), metadata: () => metadata, text: () => text };
}

/** The writer of one request in an isolate with this knowledge. */
function writerOf(
  tenant: ReturnType<typeof newTenant>,
  { bucket } = watchedBucket(),
  known = isolateMemory().of('refs'),
  { uses, retention = new Retention(undefined) }: { uses?: RefUses; retention?: Retention } = {},
) {
  const background: Promise<unknown>[] = [];
  const writer = new RefWriter({
    store: new RefStore(bucket, tenant),
    tenant: tenant.id,
    known,
    waitUntil: (work) => background.push(work),
    uses,
    retention,
    log: unheard,
  });
  const settled = async (): Promise<void> => {
    for (const work of background) await work;
  };
  return { writer, known, settled };
}

describe('a kept content', () => {
  it('comes back with its metadata', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const content = contentOf(tenant, 'Grüße 😀\n');
    await store.put(content, unheard);
    const opened = await store.get(content.ref);
    expect(new TextDecoder().decode(opened?.content)).toBe('Grüße 😀\n');
    expect(opened?.metadata).toEqual(content.metadata());
  });

  it('is not to be read in the bucket', async () => {
    const tenant = newTenant();
    const content = contentOf(tenant, 'a secret that a tool has printed');
    const metadata = { ...content.metadata(), tool_name: 'secret_tool' };
    await new RefStore(env.REFS, tenant).put({ ...content, metadata: () => metadata }, unheard);
    const object = await env.REFS.get(`${tenant.id}/${content.ref}`);
    expect(await object?.text()).not.toContain('secret');
    const { facts = '', ...others } = object?.customMetadata ?? {};
    expect(Buffer.from(facts, 'base64').toString()).not.toContain('secret');
    expect(facts.length).toBeGreaterThan(100);
    expect(others).toEqual({});
  });

  it('is written once', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const content = contentOf(tenant, 'the same');
    await store.put(content, unheard);
    const first = await env.REFS.head(`${tenant.id}/${content.ref}`);
    await store.put({ ...content, metadata: () => ({ ...content.metadata(), tool_name: 'later' }) }, unheard);
    expect((await env.REFS.head(`${tenant.id}/${content.ref}`))?.etag).toBe(first?.etag);
  });

  it('does not open under another tenant, another ref, or when it is damaged', async () => {
    const [tenant, stranger] = [newTenant(), newTenant()];
    const content = contentOf(tenant, 'mine');
    await new RefStore(env.REFS, tenant).put(content, unheard);
    const envelope = (await (await env.REFS.get(`${tenant.id}/${content.ref}`))?.bytes()) ?? new Uint8Array();
    const other = contentOf(tenant, 'other').ref;
    await env.REFS.put(`${stranger.id}/${content.ref}`, envelope);
    await env.REFS.put(`${tenant.id}/${other}`, envelope);
    await expect(new RefStore(env.REFS, stranger).get(content.ref)).rejects.toThrow(StoreError);
    await expect(new RefStore(env.REFS, tenant).get(other)).rejects.toThrow(StoreError);
    envelope[40] = (envelope[40] ?? 0) ^ 1;
    await env.REFS.put(`${tenant.id}/${content.ref}`, envelope);
    await expect(new RefStore(env.REFS, tenant).get(content.ref)).rejects.toThrow(StoreError);
  });

  it('is listed with its tenant’s others, page by page, in the order of the refs', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const contents = Array.from({ length: 5 }, (_, index) => contentOf(tenant, `content ${index}`));
    await Promise.all(contents.map((content) => store.put(content, unheard)));
    await store.putManifest(store.manifestOf(contents.map(({ ref }) => ref)), 0);
    const listed: string[] = [];
    for (let after: string | undefined, more = true; more; after = listed.at(-1)) {
      const page = await store.list(2, after, unheard);
      listed.push(...page.refs.map(({ ref }) => ref));
      more = page.more;
    }
    expect(listed).toEqual(contents.map(({ ref }) => ref).toSorted());
  });

  it('are listed with their metadata, which is encrypted too and outlives a renewal', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const content = contentOf(tenant, 'with facts');
    const metadata = { ...content.metadata(), tool_name: 'söarch', conversation: 'c' };
    await store.put({ ...content, metadata: () => metadata }, unheard);
    const listed = async () => (await store.list(9, undefined, unheard)).refs;

    expect(await listed()).toMatchObject([{ ref: content.ref, metadata }]);
    const head = await env.REFS.head(`${tenant.id}/${content.ref}`);
    expect(Object.keys(head?.customMetadata ?? {})).toEqual(['facts']);
    expect(Buffer.from(head?.customMetadata?.facts ?? '', 'base64').toString()).not.toContain('arch');
    await store.renew(content.ref, () => true);
    expect(await listed()).toMatchObject([{ ref: content.ref, metadata }]);
  });

  it('are listed as many as asked for, though R2 gives fewer with metadata', async () => {
    const tenant = newTenant();
    const short = { list: (options: R2ListOptions) => env.REFS.list({ ...options, limit: 2 }) };
    const store = new RefStore(env.REFS, tenant);
    const contents = Array.from({ length: 5 }, (_, index) => contentOf(tenant, `one of ${index}`));
    await Promise.all(contents.map((content) => store.put(content, unheard)));
    const listing = new RefStore(short as R2Bucket, tenant);
    const all = contents.map(({ ref }) => ref).toSorted();

    const { refs, more } = await listing.list(4, undefined, unheard);
    expect([refs.map(({ ref }) => ref), more]).toEqual([all.slice(0, 4), true]);
    const rest = await listing.list(4, all[3], unheard);
    expect([rest.refs.map(({ ref }) => ref), rest.more]).toEqual([all.slice(4), false]);
  });

  it('are listed without metadata that is damaged, of another ref, or not there', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const contents = ['one', 'two', 'three'].map((text) => contentOf(tenant, text));
    await Promise.all(contents.map((content) => store.put(content, unheard)));
    const keys = contents.map(({ ref }) => `${tenant.id}/${ref}`);
    const [facts] = await Promise.all(keys.map(async (key) => (await env.REFS.head(key))?.customMetadata));
    await env.REFS.put(keys[0] ?? '', 'x', { customMetadata: { facts: 'AAAA' } });
    await env.REFS.put(keys[1] ?? '', 'x', { customMetadata: facts ?? {} });
    await env.REFS.put(keys[2] ?? '', 'x');
    const logged: (LogFields | undefined)[] = [];
    const { refs } = await store.list(9, undefined, (_level, _message, fields) => logged.push(fields));

    expect(refs.map(({ metadata }) => metadata)).toEqual([undefined, undefined, undefined]);
    expect(logged.map((fields) => fields?.code)).toEqual(['store_failed', 'store_failed']);
  });

  it('are there although their write fails, where another request has just written them; the failure is logged', async () => {
    const tenant = newTenant();
    const content = contentOf(tenant, 'text');
    await new RefStore(env.REFS, tenant).put(content, unheard);
    const { bucket, failing } = watchedBucket();
    failing.add('put');
    const logged: (LogFields | undefined)[] = [];
    const wasThere = await new RefStore(bucket, tenant).put(content, (_level, _message, fields) =>
      logged.push(fields),
    );
    expect(wasThere).toBe(true);
    expect(logged).toEqual([{ code: 'store_failed', error: 'Error', at: expect.any(String) }]);
  });

  it('takes the manifests with it when it is deleted, since one of them may vouch for it', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const [a, b] = [contentOf(tenant, 'a'), contentOf(tenant, 'b')];
    await Promise.all([store.put(a, unheard), store.put(b, unheard)]);
    const manifest = store.manifestOf([a.ref, b.ref]);
    await store.putManifest(manifest, 0);
    await store.delete([a.ref]);
    expect([await store.has(manifest), await store.has(a.ref), await store.has(b.ref)]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('writing ahead of a view', () => {
  const segment = (tenant: ReturnType<typeof newTenant>, size = 8) =>
    Array.from({ length: size }, (_, index) => contentOf(tenant, `output ${index}`));

  it('writes a segment and notes that it is whole', async () => {
    const tenant = newTenant();
    const { writer, settled } = writerOf(tenant);
    const contents = segment(tenant);
    await writer.ensure([contents], never);
    await settled();
    const store = new RefStore(env.REFS, tenant);
    expect(contents.every(({ ref }) => writer.isKnown(ref))).toBe(true);
    expect(await store.has(store.manifestOf(contents.map(({ ref }) => ref)))).toBe(true);
  });

  it('takes one look, and no write, where a manifest vouches for the segment', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    const first = writerOf(tenant);
    await first.writer.ensure([contents], never);
    await first.settled();
    const watched = watchedBucket();
    const { writer, settled } = writerOf(tenant, watched);
    await writer.ensure([contents], never);
    await settled();
    expect(watched.operations.map(({ name }) => name)).toEqual(['head']);
    expect(contents.every(({ ref }) => writer.isKnown(ref))).toBe(true);
  });

  it('takes two looks after a move, and writes the new segment alone', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    const first = writerOf(tenant);
    await first.writer.ensure([contents.slice(0, 3), contents.slice(3, 6)], never);
    await first.settled();
    const watched = watchedBucket();
    const { writer, settled } = writerOf(tenant, watched);
    await writer.ensure([contents.slice(0, 3), contents.slice(3, 6), contents.slice(6)], never);
    expect(watched.operations.map(({ name }) => name)).toEqual(['head', 'head', 'put', 'put', 'put']);
    await settled();
    expect(watched.operations.at(-1)?.key).toContain('manifest_');
  });

  it('takes no look at all at what this isolate has seen written, for a while', async () => {
    const tenant = newTenant();
    let now = 0;
    const watched = watchedBucket();
    const known = isolateMemory(() => now).of('refs');
    const contents = segment(tenant);
    const request = async (): Promise<number> => {
      const before = watched.operations.length;
      const { writer, settled } = writerOf(tenant, watched, known);
      await writer.ensure([contents], never);
      await settled();
      return watched.operations.length - before;
    };
    await request();
    expect(await request()).toBe(0);
    now += 10 * 60_000;
    expect(await request()).toBe(1);
  });

  it('looks at the manifest of the frontier before, and not at every ref, when it remembers the rest', async () => {
    const tenant = newTenant();
    const watched = watchedBucket();
    const known = isolateMemory().of('refs');
    const contents = segment(tenant, 20);
    const request = async (...segments: (typeof contents)[]): Promise<string[]> => {
      const before = watched.operations.length;
      const { writer, settled } = writerOf(tenant, watched, known);
      await writer.ensure(segments, never);
      await settled();
      return watched.operations.slice(before).map(({ name }) => name);
    };
    await request(contents.slice(0, 19));
    expect(await request(contents.slice(0, 19), contents.slice(19))).toEqual(['head', 'put', 'head', 'put']);
  });

  it('has at most six operations under way', async () => {
    const tenant = newTenant();
    let underWay = 0;
    let most = 0;
    const bucket = new Proxy(env.REFS, {
      get:
        (target, name) =>
        async (...values: unknown[]) => {
          most = Math.max(most, ++underWay);
          await Promise.resolve();
          const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
          return method.apply(target, values).finally(() => underWay--);
        },
    });
    const { writer, settled } = writerOf(tenant, { ...watchedBucket(), bucket });
    await writer.ensure([segment(tenant, 30)], never);
    await settled();
    expect(most).toBe(6);
  });

  it('knows nothing of what it could not write, and writes no manifest for it', async () => {
    const tenant = newTenant();
    const watched = watchedBucket();
    watched.failing.add('put').add('head');
    const { writer, settled } = writerOf(tenant, watched);
    const contents = segment(tenant);
    await writer.ensure([contents], never);
    await settled();
    expect(contents.some(({ ref }) => writer.isKnown(ref))).toBe(false);
    const store = new RefStore(env.REFS, tenant);
    expect(await store.has(store.manifestOf(contents.map(({ ref }) => ref)))).toBe(false);
  });

  it('takes a refused write for done when the object is there', async () => {
    const tenant = newTenant();
    const contents = segment(tenant, 1);
    await writerOf(tenant).writer.prepare(contents);
    const watched = watchedBucket();
    watched.failing.add('put');
    const { writer } = writerOf(tenant, watched);
    await writer.ensure([contents], never);
    expect(contents.every(({ ref }) => writer.isKnown(ref))).toBe(true);
  });

  it('vouches in a manifest only for what is still there', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    const known = isolateMemory().of('refs');
    const first = writerOf(tenant, watchedBucket(), known);
    await first.writer.ensure([contents.slice(0, 4)], never);
    await first.settled();
    // Another isolate deletes one object, which this one remembers as written.
    const store = new RefStore(env.REFS, tenant);
    const deleted = contents[0]?.ref ?? '';
    await store.delete([deleted]);
    const { writer: later, settled } = writerOf(tenant, watchedBucket(), known);
    await later.ensure([contents.slice(0, 4), contents.slice(4)], never);
    await settled();
    expect(await store.has(store.manifestOf(contents.map(({ ref }) => ref)))).toBe(false);
    expect(later.isKnown(deleted)).toBe(false);
  });

  it('stops waiting at its limit', async () => {
    const tenant = newTenant();
    const watched = watchedBucket();
    watched.hanging.add('put').add('head');
    const { writer } = writerOf(tenant, watched);
    const contents = segment(tenant);
    await writer.ensure([contents], Promise.resolve());
    expect(contents.some(({ ref }) => writer.isKnown(ref))).toBe(false);
  });
});

describe('what is used when half of its time is over', () => {
  const DAY = 24 * 60 * 60_000;
  const later = (days: number) => new Retention(30, () => Date.now() + days * DAY);
  const segment = (tenant: ReturnType<typeof newTenant>) =>
    Array.from({ length: 4 }, (_, index) => contentOf(tenant, `output ${index}`));
  type Contents = ReturnType<typeof segment>;

  /**
   * One request of another isolate, some days later.
   *
   * @returns its operations, and which contents were written again
   */
  async function use(
    tenant: ReturnType<typeof newTenant>,
    contents: Contents,
    days: number,
    more: { uses?: RefUses } = {},
  ) {
    const versions = () =>
      Promise.all(
        contents.map(async ({ ref }) => (await env.REFS.head(`${tenant.id}/${ref}`))?.version ?? 'none'),
      );
    const before = await versions();
    const watched = watchedBucket();
    const { writer, settled } = writerOf(tenant, watched, isolateMemory().of('refs'), {
      ...more,
      retention: later(days),
    });
    await writer.ensure([contents], never);
    const known = contents.map(({ ref }) => writer.isKnown(ref));
    await settled();
    const after = await versions();
    return {
      operations: watched.operations.map(({ name }) => name),
      known,
      renewed: after.map((version, index) => version !== before[index]),
      writer,
      settled,
    };
  }

  it('is written again after the view, with the manifest that proves it', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    await use(tenant, contents, 0);

    const young = await use(tenant, contents, 14);
    expect(young.operations).toEqual(['head']);
    expect(young.renewed).toEqual([false, false, false, false]);
    const old = await use(tenant, contents, 16);
    expect(old.known).toEqual([true, true, true, true]);
    expect(old.renewed).toEqual([true, true, true, true]);
    expect(old.operations.filter((name) => name === 'put')).toHaveLength(contents.length + 1);
    const store = new RefStore(env.REFS, tenant);
    for (const { ref, text } of contents)
      expect(new TextDecoder().decode((await store.get(ref))?.content)).toBe(text());
  });

  it('is looked at one by one when it may be gone', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    await use(tenant, contents, 0);
    const [first] = contents;
    await env.REFS.delete(`${tenant.id}/${first?.ref}`);
    expect((await use(tenant, contents, 16)).renewed[0]).toBe(false);

    const later = await use(tenant, contents, 31);

    expect(later.known).toEqual([true, true, true, true]);
    expect(await env.REFS.head(`${tenant.id}/${first?.ref}`)).not.toBeNull();
  });

  it('is written again alone, where its time alone is half over', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    await use(tenant, contents.slice(0, 2), 0);
    const store = new RefStore(env.REFS, tenant);
    const seen = await store.uploaded(contents[0]?.ref ?? '');
    expect(await store.renew(contents[0]?.ref ?? '', (uploaded) => uploaded > (seen ?? 0))).toBe(seen);
    expect(await store.renew(contents[3]?.ref ?? '', () => true)).toBeUndefined();
  });

  it('does not come back when it is deleted meanwhile', async () => {
    const tenant = newTenant();
    const [content] = segment(tenant);
    const ref = content?.ref ?? '';
    await use(tenant, segment(tenant).slice(0, 1), 0);
    const bucket = new Proxy(env.REFS, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
        return async (...values: unknown[]) => {
          if (name === 'put') await env.REFS.delete(`${tenant.id}/${ref}`);
          return method.apply(target, values);
        };
      },
    });
    expect(await new RefStore(bucket, tenant).renew(ref, () => true)).toBeUndefined();
    expect(await env.REFS.head(`${tenant.id}/${ref}`)).toBeNull();
  });

  it('stays known when it can’t be written again, and is tried by a later request', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    await use(tenant, contents, 0);
    const watched = watchedBucket();
    watched.failing.add('put');
    const { writer, settled } = writerOf(tenant, watched, isolateMemory().of('refs'), {
      retention: later(16),
    });
    await writer.ensure([contents], never);
    await settled();
    expect(contents.every(({ ref }) => writer.isKnown(ref))).toBe(true);
    expect((await use(tenant, contents, 16)).renewed).toEqual([true, true, true, true]);
  });

  it('is never written again where nothing is collected', async () => {
    const tenant = newTenant();
    const contents = segment(tenant);
    await use(tenant, contents, 0);
    const watched = watchedBucket();
    const now = () => Date.now() + 1000 * DAY;
    const { writer, settled } = writerOf(tenant, watched, isolateMemory().of('refs'), {
      retention: new Retention(undefined, now),
    });
    await writer.ensure([contents], never);
    await settled();
    expect(watched.operations.map(({ name }) => name)).toEqual(['head']);
  });

  it('is so when a single ref is looked at, too', async () => {
    const tenant = newTenant();
    const contents = segment(tenant).slice(0, 1);
    const ref = contents[0]?.ref ?? '';
    await use(tenant, contents, 0);
    const before = (await env.REFS.head(`${tenant.id}/${ref}`))?.version;
    const { writer, settled } = writerOf(tenant, watchedBucket(), isolateMemory().of('refs'), {
      retention: later(16),
    });
    expect(await writer.isThereBy(ref, never)).toBe(true);
    await settled();
    expect((await env.REFS.head(`${tenant.id}/${ref}`))?.version).not.toBe(before);
  });
});

describe('what a conversation refers to', () => {
  function uses(failing = { now: false }) {
    const noted: string[][] = [];
    const memory = isolateMemory().of('refs');
    const stub = {
      note: async (_: string, refs: readonly string[]) => {
        if (failing.now) throw new Error('the object is down');
        noted.push([...refs]);
      },
    } as unknown as TenantMemoryStub;
    return { noted, of: (name: string) => new RefUses(name, (call) => call(stub), memory) };
  }

  it('is reported once by an isolate, and again when it is written again', async () => {
    const tenant = newTenant();
    const { noted, of } = uses();
    const contents = [contentOf(tenant, 'a'), contentOf(tenant, 'b')];
    const refs = contents.map(({ ref }) => ref);
    const known = isolateMemory().of('refs');
    const request = async (uses: RefUses) => {
      const { writer, settled } = writerOf(tenant, watchedBucket(), known, { uses });
      await writer.ensure([contents], never);
      await settled();
    };
    await request(of('one'));
    await request(of('one'));
    expect(noted).toEqual([refs]);
    await request(of('two'));
    expect(noted).toEqual([refs, refs]);
    known.forget(tenant.id);
    await request(of('one'));
    expect(noted).toHaveLength(3);
  });

  it('is reported by a later request when the object has failed', async () => {
    const tenant = newTenant();
    const failing = { now: true };
    const { noted, of } = uses(failing);
    const contents = [contentOf(tenant, 'a')];
    for (const _ of [1, 2]) {
      const { writer, settled } = writerOf(tenant, watchedBucket(), isolateMemory().of('refs'), {
        uses: of('one'),
      });
      await writer.ensure([contents], never);
      await settled();
      expect(writer.isKnown(contents[0]?.ref ?? '')).toBe(true);
      failing.now = false;
    }
    expect(noted).toEqual([contents.map(({ ref }) => ref)]);
  });
});
