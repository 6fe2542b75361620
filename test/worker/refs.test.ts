import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { RefStore } from '../../src/storage/refs.ts';
import { Tenants } from '../../src/storage/tenant.ts';
import { KnownRefs, RefWriter } from '../../src/storage/writer.ts';
import { watchedBucket } from './support.ts';

const tenants = new Tenants('a secret of the storage tests');
let made = 0;

/** A tenant that no other test has. */
const newTenant = () => tenants.ofName(`tenant ${made++}`);

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

/** The writer of one request of an isolate, which is what it knows. */
function writerOf(
  tenant: ReturnType<typeof newTenant>,
  { bucket } = watchedBucket(),
  known = new KnownRefs(),
) {
  const background: Promise<unknown>[] = [];
  const writer = new RefWriter(new RefStore(bucket, tenant), tenant.id, known, (work) =>
    background.push(work),
  );
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
    await store.put(content);
    const opened = await store.get(content.ref);
    expect(new TextDecoder().decode(opened?.content)).toBe('Grüße 😀\n');
    expect(opened?.metadata).toEqual(content.metadata());
  });

  it('is not to be read in the bucket', async () => {
    const tenant = newTenant();
    const content = contentOf(tenant, 'a secret that a tool has printed');
    await new RefStore(env.REFS, tenant).put(content);
    const object = await env.REFS.get(`${tenant.id}/${content.ref}`);
    expect(await object?.text()).not.toContain('secret');
    expect(JSON.stringify(object?.customMetadata)).toBe('{}');
  });

  it('is written once', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const content = contentOf(tenant, 'the same');
    await store.put(content);
    const first = await env.REFS.head(`${tenant.id}/${content.ref}`);
    await store.put({ ...content, metadata: () => ({ ...content.metadata(), tool_name: 'later' }) });
    expect((await env.REFS.head(`${tenant.id}/${content.ref}`))?.etag).toBe(first?.etag);
  });

  it('does not open under another tenant, another ref, or when it is damaged', async () => {
    const [tenant, stranger] = [newTenant(), newTenant()];
    const content = contentOf(tenant, 'mine');
    await new RefStore(env.REFS, tenant).put(content);
    const envelope = (await (await env.REFS.get(`${tenant.id}/${content.ref}`))?.bytes()) ?? new Uint8Array();
    const other = contentOf(tenant, 'other').ref;
    await env.REFS.put(`${stranger.id}/${content.ref}`, envelope);
    await env.REFS.put(`${tenant.id}/${other}`, envelope);
    await expect(new RefStore(env.REFS, stranger).get(content.ref)).rejects.toThrow();
    await expect(new RefStore(env.REFS, tenant).get(other)).rejects.toThrow();
    envelope[40] = (envelope[40] ?? 0) ^ 1;
    await env.REFS.put(`${tenant.id}/${content.ref}`, envelope);
    await expect(new RefStore(env.REFS, tenant).get(content.ref)).rejects.toThrow();
  });

  it('is listed with its tenant’s others, page by page, in the order of the refs', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const contents = Array.from({ length: 5 }, (_, index) => contentOf(tenant, `content ${index}`));
    await Promise.all(contents.map((content) => store.put(content)));
    await store.putManifest(store.manifestOf(contents.map(({ ref }) => ref)));
    const listed: string[] = [];
    for (let after: string | undefined, more = true; more; after = listed.at(-1)) {
      const page = await store.list(2, after);
      listed.push(...page.refs.map(({ ref }) => ref));
      more = page.more;
    }
    expect(listed).toEqual(contents.map(({ ref }) => ref).toSorted());
  });

  it('takes the manifests with it when it is deleted, since one of them may vouch for it', async () => {
    const tenant = newTenant();
    const store = new RefStore(env.REFS, tenant);
    const [a, b] = [contentOf(tenant, 'a'), contentOf(tenant, 'b')];
    await Promise.all([store.put(a), store.put(b)]);
    const manifest = store.manifestOf([a.ref, b.ref]);
    await store.putManifest(manifest);
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
    const known = new KnownRefs(() => now);
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
    const known = new KnownRefs();
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
    const known = new KnownRefs();
    const first = writerOf(tenant, watchedBucket(), known);
    await first.writer.ensure([contents.slice(0, 4)], never);
    await first.settled();
    // Another isolate deletes one; this one remembers it as written.
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
