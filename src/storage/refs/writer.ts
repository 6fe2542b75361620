/**
 * Writing ahead of the view: which refs are known to be written, and the writing of those that are
 * not.
 *
 * A view may name a ref only when its write is known to be done. One look at a manifest proves all
 * refs up to a frontier; what it does not prove is written, a few at a time and within a time
 * limit; and what is still not known then stays in full.
 */

import { AT_ONCE, Slots } from '../../lib/slots.ts';
import { type Log, logCaught } from '../../log.ts';
import type { Retention } from '../tenant/retention.ts';
import type { KnownRefs } from './known.ts';
import type { RefStore, StoredContent } from './store.ts';
import type { RefUses } from './uses.ts';

/** How long a request waits for its writes, in milliseconds (docs/design.md#7-storage). */
export const WRITE_LIMIT_MS = 1_500;

/** Brings what must outlive the response to its end. */
export type WaitUntil = (work: Promise<unknown>) => void;

export interface RefWriterPorts {
  readonly store: RefStore;
  /** The tenant's id. */
  readonly tenant: string;
  readonly known: KnownRefs;
  readonly waitUntil: WaitUntil;
  /** Of the conversation that refers to what is written; undefined as long as none is known. */
  readonly uses: RefUses | undefined;
  readonly retention: Retention;
  readonly log: Log;
}

/** Writes one tenant's contents, and notes that a conversation refers to them. */
export class RefWriter {
  private readonly store: RefStore;
  private readonly tenant: string;
  private readonly known: KnownRefs;
  private readonly waitUntil: WaitUntil;
  private readonly uses: RefUses | undefined;
  private readonly retention: Retention;
  private readonly log: Log;
  /** What was logged: where storage is down, each ref fails alike. */
  private readonly logged = new Set<string>();
  private readonly slots = new Slots(AT_ONCE);
  /**
   * Names that were seen written in this request, and when they were uploaded: of a manifest, the
   * oldest of its refs.
   */
  private readonly seen = new Map<string, number>();

  constructor({ store, tenant, known, waitUntil, uses, retention, log }: RefWriterPorts) {
    this.store = store;
    this.tenant = tenant;
    this.known = known;
    this.waitUntil = waitUntil;
    this.uses = uses;
    this.retention = retention;
    this.log = log;
  }

  isKnown(ref: string): boolean {
    return this.seen.has(ref) || this.known.has(this.tenant, ref);
  }

  /**
   * Makes sure that the contents of a view are written, as far as that is possible before `limit`.
   * Never throws: what has failed or is late is simply not known afterwards (see `isKnown`). Late
   * writes go on in the background.
   *
   * @param segments contents by segment, oldest first
   * @param limit resolves when waiting is over
   */
  async ensure(segments: readonly (readonly StoredContent[])[], limit: Promise<void>): Promise<void> {
    // Both: a deletion of the conversation has to find what its view names.
    const work = Promise.all([this.noteUses(segments.flat()), this.ensureAll(segments)]);
    this.waitUntil(work);
    await Promise.race([work, limit]);
  }

  /** Whether a ref is there, by what is known or by one look before `limit`. Never throws. */
  async isThereBy(ref: string, limit: Promise<void>): Promise<boolean> {
    if (!this.isKnown(ref)) await Promise.race([this.lookAt(ref), limit]);
    this.waitUntil(this.renew([{ ref }]));
    return this.isKnown(ref);
  }

  /** Writes contents that a later view may name. Never throws. */
  async prepare(contents: readonly StoredContent[]): Promise<void> {
    await Promise.all([this.writeUnknown(contents), this.noteUses(contents)]);
  }

  /**
   * Notes that what a view names is in use, whoever has put it there: an array may hold markers
   * from before. Never throws.
   */
  async use(refs: readonly string[]): Promise<void> {
    const contents = refs.map((ref) => ({ ref }));
    const noted = this.tellUses(refs, new Set());
    if (this.retention.isOn)
      await Promise.all(refs.filter((ref) => !this.isKnown(ref)).map((ref) => this.lookAt(ref)));
    await Promise.all([noted, this.renew(contents)]);
  }

  private async writeUnknown(contents: readonly StoredContent[]): Promise<void> {
    await Promise.all(this.unknown(contents).map((content) => this.write(content)));
  }

  /** The next request reports a use that could not be noted. */
  private async noteUses(contents: readonly Pick<StoredContent, 'ref'>[]): Promise<void> {
    const refs = contents.map(({ ref }) => ref);
    await this.tellUses(refs, new Set(refs.filter((ref) => !this.isKnown(ref))));
  }

  /** See `RefUses`. */
  private async tellUses(refs: readonly string[], written: ReadonlySet<string>): Promise<void> {
    await this.uses?.note(refs, written).catch(this.failed('a use of refs could not be noted'));
  }

  /**
   * A manifest vouches for everything from the array's beginning to a frontier. So one look is
   * enough while the frontier stays, and after a move one more, at the manifest of the frontier
   * before.
   */
  private async ensureAll(segments: readonly (readonly StoredContent[])[]): Promise<void> {
    const all = segments.flat();
    const manifest = this.manifestOf(all);
    if (await this.isProven(all, manifest)) {
      this.waitUntil(this.renew(all, manifest));
      return;
    }
    const earlier = segments.slice(0, -1).flat();
    if (earlier.length > 0) await this.isProven(earlier, this.manifestOf(earlier));
    await this.writeUnknown(all);
    // Only what is wholly written gets its manifest, and nobody waits for it: it spares later
    // requests their looks.
    if (manifest !== undefined && all.every(({ ref }) => this.isKnown(ref)))
      this.waitUntil(this.note(manifest, all, earlier));
    this.waitUntil(this.renew(all));
  }

  /**
   * Whether all of these are known to be written, by what this isolate has seen or by one look at
   * their manifest.
   */
  private async isProven(contents: readonly StoredContent[], manifest: string | undefined): Promise<boolean> {
    const missing = this.unknown(contents).length;
    if (missing === 0) return manifest === undefined || this.isKnown(manifest);
    return manifest !== undefined && this.isVouchedFor(manifest, contents);
  }

  /** A manifest for one ref would cost what it saves. */
  private manifestOf(contents: readonly StoredContent[]): string | undefined {
    const refs = [...new Set(contents.map(({ ref }) => ref))];
    return refs.length > 1 ? this.store.manifestOf(refs) : undefined;
  }

  /**
   * Looks whether a manifest vouches for contents. One of contents so old that they may be gone
   * vouches for nothing.
   */
  private async isVouchedFor(manifest: string, contents: readonly StoredContent[]): Promise<boolean> {
    const looked = this.slots.run(() => this.store.oldestIn(manifest));
    const oldest = await looked.catch(this.failed('a manifest could not be read'));
    if (oldest === undefined || this.retention.mayBeGone(oldest)) return false;
    for (const name of [manifest, ...contents.map(({ ref }) => ref)]) this.see(name, oldest);
    return true;
  }

  private async lookAt(ref: string): Promise<void> {
    const uploaded = await this.uploaded(ref).catch(this.failed('a ref could not be looked up'));
    if (uploaded !== undefined) this.see(ref, uploaded);
  }

  /**
   * When a content was uploaded; one that may be collected at any moment is written again first.
   * Undefined when it is not there.
   */
  private uploaded(ref: string): Promise<number | undefined> {
    return this.slots.run(async () => {
      const uploaded = await this.store.uploaded(ref);
      if (uploaded === undefined || !this.retention.mayBeGone(uploaded)) return uploaded;
      return this.store.renew(ref, () => true);
    });
  }

  /**
   * Writes a manifest. It outlives what this isolate remembers, so it vouches only for what was
   * seen in this request: another isolate may have deleted the rest in the meantime. What is
   * remembered is looked at, by the manifest of the frontier before if there is one.
   */
  private async note(
    manifest: string,
    all: readonly StoredContent[],
    earlier: readonly StoredContent[],
  ): Promise<void> {
    try {
      const before = this.manifestOf(earlier);
      const remembered = earlier.some(({ ref }) => !this.seen.has(ref));
      if (remembered && before !== undefined) await this.isVouchedFor(before, earlier);
      const unseen = all.filter(({ ref }) => !this.seen.has(ref));
      const looked = await Promise.all(unseen.map(({ ref }) => this.uploaded(ref)));
      for (const [index, { ref }] of unseen.entries()) {
        const uploaded = looked[index];
        if (uploaded === undefined) this.forget(ref);
        else this.see(ref, uploaded);
      }
      if (!looked.includes(undefined)) await this.writeManifest(manifest, all);
    } catch (error) {
      // Without a manifest the next look costs more, and nothing else.
      this.failed('a manifest could not be written')(error);
    }
  }

  /** @param contents all seen in this request */
  private async writeManifest(
    manifest: string,
    contents: readonly Pick<StoredContent, 'ref'>[],
  ): Promise<void> {
    const oldest = Math.min(...contents.map(({ ref }) => this.seen.get(ref) ?? 0));
    await this.slots.run(() => this.store.putManifest(manifest, oldest));
    this.see(manifest, oldest);
  }

  /**
   * Writes again what half of its time is over for, of what this request has seen. Never throws:
   * what fails, or is not done by the end of the request, is tried by a later one.
   */
  private async renew(contents: readonly Pick<StoredContent, 'ref'>[], manifest?: string): Promise<void> {
    const isDue = (uploaded: number | undefined) => uploaded !== undefined && this.retention.isDue(uploaded);
    const due = [...new Set(contents.map(({ ref }) => ref))].filter((ref) => isDue(this.seen.get(ref)));
    if (due.length === 0) return;
    const renew = async (ref: string): Promise<boolean> => {
      const uploaded = await this.store.renew(ref, isDue);
      if (uploaded === undefined) this.forget(ref);
      else this.see(ref, uploaded);
      return uploaded !== undefined;
    };
    const failed = this.failed('a ref could not be renewed');
    const renewed = await Promise.all(due.map((ref) => this.slots.run(() => renew(ref)).catch(failed)));
    if (manifest === undefined || !renewed.every(Boolean)) return;
    await this.writeManifest(manifest, contents).catch(this.failed('a manifest could not be written'));
  }

  private forget(ref: string): void {
    this.seen.delete(ref);
    this.known.delete(this.tenant, ref);
  }

  private see(name: string, uploaded: number): void {
    this.seen.set(name, uploaded);
    this.known.add(this.tenant, name);
  }

  private async write(content: StoredContent): Promise<void> {
    try {
      const wasThere = await this.slots.run(() => this.store.put(content));
      // Only where contents age does it matter when they were written.
      const uploaded = wasThere && this.retention.isOn ? await this.uploaded(content.ref) : Date.now();
      if (uploaded !== undefined) this.see(content.ref, uploaded);
    } catch (error) {
      // Not known to be written: the caller of `ensure` sees that, and leaves the content in full.
      this.failed('a content could not be written')(error);
    }
  }

  /** What takes a failure that the request survives. */
  private failed(message: string): (error: unknown) => undefined {
    return (error) => {
      if (!this.logged.has(message)) logCaught(this.log, 'warn', message, error);
      this.logged.add(message);
      return undefined;
    };
  }

  /** Each content once, without those that are known. */
  private unknown(contents: readonly StoredContent[]): StoredContent[] {
    const missing = new Map<string, StoredContent>();
    for (const content of contents) if (!this.isKnown(content.ref)) missing.set(content.ref, content);
    return [...missing.values()];
  }
}
