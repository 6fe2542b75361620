/**
 * Writes refs before a view names them.
 *
 * A view may only name a ref whose write is known to be complete. One look at a manifest proves all
 * refs up to a frontier. Refs without proof are written, a few at a time and within a time limit.
 * If a write is still unknown then, its content stays in the view in full.
 *
 * Names are HMACs of the content under a key of the tenant, and objects are only created if absent.
 * Missing contents are written six at a time; after 1.5 s the rest stays in full, with a warning.
 * An isolate trusts what it saw written for five minutes (`TRUST_MS`). A manifest only
 * covers refs that were checked in the request that writes it.
 */

import type { Beliefs } from '../../lib/isolate-memory.ts';
import { Latest } from '../../lib/latest.ts';
import { AT_ONCE, Slots } from '../../lib/slots.ts';
import { type Log, logCaught } from '../../log.ts';
import type { Retention } from '../retention.ts';
import type { ConversationUpkeep } from '../upkeep.ts';
import type { RefStore, StoredContent } from './store.ts';
import type { RefUses } from './uses.ts';

/** Keeps the Worker alive for work that outlives the response. */
export type WaitUntil = (work: Promise<unknown>) => void;

interface RefWriterPorts {
  readonly store: RefStore;
  /** The tenant's id. */
  readonly tenant: string;
  /** Refs and manifests that are known to be written. */
  readonly known: Beliefs<true>;
  readonly waitUntil: WaitUntil;
  /** The uses of the request's conversation; undefined until it has a name. */
  readonly uses: RefUses | undefined;
  readonly retention: Retention;
  readonly log: Log;
  /** Absent: what is known is not confirmed before its trust expires. */
  readonly upkeep?: ConversationUpkeep;
  /** Called for each content that was written and did not exist before. */
  readonly written?: () => void;
}

/** The contents of segments, and the name of their manifest. */
const flattened = new Latest<readonly (readonly StoredContent[])[], readonly StoredContent[]>();
const manifests = new Latest<readonly StoredContent[], string | undefined>();

/** Writes one tenant's contents, and notes that a conversation refers to them. */
export class RefWriter {
  private readonly ports: RefWriterPorts;
  /** Messages that were logged, since all refs fail alike while storage is down. */
  private readonly logged = new Set<string>();
  private readonly slots = new Slots(AT_ONCE);
  /**
   * Upload times of the refs and manifests checked in this request, in milliseconds. For a
   * manifest, the earliest of its refs.
   */
  private readonly uploadTimes = new Map<string, number>();
  /** Refs whose use this request has reported already. They are renewed with their contents. */
  private readonly reported = new Set<string>();

  constructor(ports: RefWriterPorts) {
    this.ports = ports;
  }

  isKnown(ref: string): boolean {
    return this.uploadTimes.has(ref) || this.ports.known.get(this.ports.tenant, ref) !== undefined;
  }

  /**
   * Whether a view's contents are known to be written, and their uses to be reported, so that
   * nobody is asked. What is known is confirmed after the answer.
   */
  reliesOn(segments: readonly (readonly StoredContent[])[]): boolean {
    const all = flattened.of(segments, [], () => segments.flat());
    const manifest = this.manifestOf(all);
    const refs = refsOf(all);
    const { uses, retention, waitUntil } = this.ports;
    if (uses && uses.reportedAt(refs) === undefined) return false;
    if (![...refs, ...(manifest === undefined ? [] : [manifest])].every((name) => this.isKnown(name)))
      return false;
    this.relyOn(refs, manifest);
    this.noteReported(refs);
    if (retention.isOn) waitUntil(this.renew(refs, manifest));
    return true;
  }

  /**
   * Makes sure that a view's contents are written, as far as possible before `limit`. Never throws:
   * contents that fail or are late are simply not known afterwards (see `isKnown`). Late writes go
   * on in the background.
   *
   * @param segments contents by segment, oldest first
   * @param limit resolves when the time is up
   */
  async ensure(segments: readonly (readonly StoredContent[])[], limit: Promise<void>): Promise<void> {
    const all = flattened.of(segments, [], () => segments.flat());
    // Wait for both, since deleting the conversation must find what its view names.
    const work = Promise.all([this.noteUses(all), this.ensureAll(segments, all)]);
    this.ports.waitUntil(work);
    await Promise.race([work, limit]);
  }

  /** Whether a ref exists, as far as known or found by one look before `limit`. Never throws. */
  async isThereBy(ref: string, limit: Promise<void>): Promise<boolean> {
    if (this.isKnown(ref)) this.relyOn([ref], undefined);
    else await Promise.race([this.lookAt(ref), limit]);
    this.ports.waitUntil(this.renew([ref]));
    return this.isKnown(ref);
  }

  /** Writes contents that a later view may name. Never throws. */
  async prepare(contents: readonly StoredContent[]): Promise<void> {
    await Promise.all([this.writeUnknown(contents), this.noteUses(contents)]);
  }

  /**
   * Notes that the refs in a view are in use, wherever they come from: an array may hold earlier
   * markers. Where they come from another conversation, so is what their contents name, which would
   * go with that one: a transcript names the one before it. Never throws.
   *
   * @param namesIn finds the refs in a content
   */
  async use(named: readonly string[], namesIn: (content: Uint8Array) => readonly string[]): Promise<void> {
    const refs = named.filter((ref) => !this.reported.has(ref));
    if (refs.length === 0) return;
    if (!this.relyOnUses(refs)) this.ports.upkeep?.takeTurn();
    const noted = this.reportUses(refs, new Set());
    if (this.ports.retention.isOn)
      await Promise.all(refs.filter((ref) => !this.isKnown(ref)).map((ref) => this.lookAt(ref)));
    const [shared] = await Promise.all([noted, this.renew(refs)]);
    for (const ref of shared) {
      const read = await this.ports.store.get(ref).catch(this.failed('a content could not be read'));
      if (read) await this.use(namesIn(read.content), namesIn);
    }
  }

  private async writeUnknown(contents: readonly StoredContent[]): Promise<void> {
    await Promise.all(this.unknown(contents).map((content) => this.write(content)));
  }

  /** A use that could not be noted is reported by the next request. */
  private async noteUses(contents: readonly StoredContent[]): Promise<void> {
    const refs = refsOf(contents);
    await this.reportUses(refs, new Set(refs.filter((ref) => !this.isKnown(ref))));
    this.noteReported(refs);
  }

  private noteReported(refs: readonly string[]): void {
    if (this.relyOnUses(refs)) for (const ref of refs) this.reported.add(ref);
  }

  /** @returns whether all uses are known to be reported */
  private relyOnUses(refs: readonly string[]): boolean {
    const at = this.ports.uses?.reportedAt(refs);
    if (at === undefined) return false;
    this.ports.upkeep?.rely('uses', at, async () => void (await this.ports.uses?.report(refs)));
    return true;
  }

  /** See `RefUses`. */
  private async reportUses(
    refs: readonly string[],
    written: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const noted = this.ports.uses?.note(refs, written);
    return (await noted?.catch(this.failed('a use of refs could not be noted'))) ?? [];
  }

  /**
   * A manifest vouches for everything from the array's beginning to a frontier. So one look is
   * enough while the frontier stays, and after a move a second one, at the manifest of the previous
   * frontier.
   */
  private async ensureAll(
    segments: readonly (readonly StoredContent[])[],
    all: readonly StoredContent[],
  ): Promise<void> {
    const manifest = this.manifestOf(all);
    if (await this.isProven(all, manifest)) {
      this.ports.waitUntil(this.renew(refsOf(all), manifest));
      return;
    }
    const earlier = segments.slice(0, -1).flat();
    if (earlier.length > 0) await this.isProven(earlier, this.manifestOf(earlier));
    await this.writeUnknown(all);
    // A manifest is written when all its refs are. Nobody waits for it; it saves later requests
    // their looks.
    if (manifest !== undefined && all.every(({ ref }) => this.isKnown(ref)))
      this.ports.waitUntil(this.note(manifest, all, earlier));
    this.ports.waitUntil(this.renew(refsOf(all)));
  }

  /** Whether all contents are known to be written, from memory or by one look at their manifest. */
  private async isProven(contents: readonly StoredContent[], manifest: string | undefined): Promise<boolean> {
    const missing = this.unknown(contents).length;
    if (missing === 0) return this.relyOn(refsOf(contents), manifest);
    return manifest !== undefined && this.isVouchedFor(manifest, contents);
  }

  /**
   * Relies on what the isolate knows of contents, and has it confirmed after the answer.
   *
   * @param manifest of several contents
   * @returns whether it is known
   */
  private relyOn(refs: readonly string[], manifest: string | undefined): boolean {
    const name = manifest ?? refs[0];
    if (name === undefined) return true;
    if (!this.isKnown(name)) return false;
    const at = this.ports.known.get(this.ports.tenant, name)?.at;
    if (at !== undefined) this.ports.upkeep?.rely(name, at, () => this.lookAgain(name, refs, manifest));
    return true;
  }

  /**
   * Looks whether a ref, or the manifest of contents, is still stored. If not, the next request
   * checks the contents. @throws if R2 fails
   */
  private async lookAgain(
    name: string,
    refs: readonly string[],
    manifest: string | undefined,
  ): Promise<void> {
    const oldest = await (manifest === undefined ? this.uploaded(name) : this.oldestIn(manifest));
    if (oldest === undefined) return this.forget(name);
    for (const known of [name, ...refs]) this.remember(known, oldest);
    await this.renew(refs, manifest);
  }

  /** For a single ref, a manifest would cost as much as it saves. */
  private manifestOf(contents: readonly StoredContent[]): string | undefined {
    return manifests.of(contents, [this.ports.tenant], () => {
      const refs = [...new Set(refsOf(contents))];
      return refs.length > 1 ? this.ports.store.manifestOf(refs) : undefined;
    });
  }

  private async isVouchedFor(manifest: string, contents: readonly StoredContent[]): Promise<boolean> {
    const oldest = await this.oldestIn(manifest).catch(this.failed('a manifest could not be read'));
    if (oldest === undefined) return false;
    for (const name of [manifest, ...refsOf(contents)]) this.remember(name, oldest);
    return true;
  }

  /**
   * The earliest upload of a manifest's refs. Undefined without it, and if they are old enough to
   * be deleted.
   */
  private async oldestIn(manifest: string): Promise<number | undefined> {
    const oldest = await this.slots.run(() => this.ports.store.oldestIn(manifest));
    return oldest === undefined || this.ports.retention.mayBeGone(oldest) ? undefined : oldest;
  }

  private async lookAt(ref: string): Promise<void> {
    const uploaded = await this.uploaded(ref).catch(this.failed('a ref could not be looked up'));
    if (uploaded !== undefined) this.remember(ref, uploaded);
  }

  /**
   * When a content was uploaded; undefined if it does not exist. One that may be deleted at any
   * moment is written again first.
   */
  private uploaded(ref: string): Promise<number | undefined> {
    return this.slots.run(async () => {
      const uploaded = await this.ports.store.uploaded(ref);
      if (uploaded === undefined || !this.ports.retention.mayBeGone(uploaded)) return uploaded;
      return this.ports.store.renew(ref, () => true);
    });
  }

  /**
   * Writes a manifest. It outlives this isolate's memory, so it must only vouch for refs checked in
   * this request; another isolate may have deleted others. Those are looked up, by the manifest of
   * the previous frontier if there is one.
   */
  private async note(
    manifest: string,
    all: readonly StoredContent[],
    earlier: readonly StoredContent[],
  ): Promise<void> {
    try {
      const before = this.manifestOf(earlier);
      const remembered = earlier.some(({ ref }) => !this.uploadTimes.has(ref));
      if (remembered && before !== undefined) await this.isVouchedFor(before, earlier);
      const unchecked = refsOf(all).filter((ref) => !this.uploadTimes.has(ref));
      const looked = await Promise.all(unchecked.map((ref) => this.uploaded(ref)));
      const areThere = unchecked.map((ref, index) => this.found(ref, looked[index]));
      if (areThere.every(Boolean)) await this.writeManifest(manifest, refsOf(all));
    } catch (error) {
      // Without a manifest the next request needs more looks; nothing else is lost.
      this.failed('a manifest could not be written')(error);
    }
  }

  /** @param refs all checked in this request */
  private async writeManifest(manifest: string, refs: readonly string[]): Promise<void> {
    const oldest = Math.min(...refs.map((ref) => this.uploadTimes.get(ref) ?? 0));
    await this.slots.run(() => this.ports.store.putManifest(manifest, oldest));
    this.remember(manifest, oldest);
  }

  /**
   * Writes contents again when half of their retention time is over, if this request has checked
   * them. Never throws: a later request tries again.
   */
  private async renew(refs: readonly string[], manifest?: string): Promise<void> {
    const isDue = (uploaded: number | undefined) =>
      uploaded !== undefined && this.ports.retention.isDue(uploaded);
    const due = [...new Set(refs)].filter((ref) => isDue(this.uploadTimes.get(ref)));
    if (due.length === 0) return;
    const renew = async (ref: string) => this.found(ref, await this.ports.store.renew(ref, isDue));
    const failed = this.failed('a ref could not be renewed');
    const renewed = await Promise.all(due.map((ref) => this.slots.run(() => renew(ref)).catch(failed)));
    if (manifest === undefined || !renewed.every(Boolean)) return;
    await this.writeManifest(manifest, refs).catch(this.failed('a manifest could not be written'));
  }

  /** Notes what a look at a ref has found. @returns whether it is there */
  private found(ref: string, uploaded: number | undefined): boolean {
    if (uploaded === undefined) this.forget(ref);
    else this.remember(ref, uploaded);
    return uploaded !== undefined;
  }

  private forget(ref: string): void {
    this.uploadTimes.delete(ref);
    this.ports.known.delete(this.ports.tenant, ref);
  }

  private remember(name: string, uploaded: number): void {
    this.uploadTimes.set(name, uploaded);
    this.ports.known.set(this.ports.tenant, name, true);
  }

  private async write(content: StoredContent): Promise<void> {
    try {
      const wasThere = await this.slots.run(() => this.ports.store.put(content, this.ports.log));
      if (!wasThere) this.ports.written?.();
      // The upload time only matters with retention.
      const uploaded = wasThere && this.ports.retention.isOn ? await this.uploaded(content.ref) : Date.now();
      if (uploaded !== undefined) this.remember(content.ref, uploaded);
    } catch (error) {
      // Not known to be written, so `ensure`'s caller leaves the content in the view.
      this.failed('a content could not be written')(error);
    }
  }

  /** A handler that logs a failure that the request survives. */
  private failed(message: string): (error: unknown) => undefined {
    return (error) => {
      if (!this.logged.has(message)) logCaught(this.ports.log, 'warn', message, error);
      this.logged.add(message);
      return undefined;
    };
  }

  /** Contents that are not known to be written, without duplicates. */
  private unknown(contents: readonly StoredContent[]): StoredContent[] {
    const missing = new Map<string, StoredContent>();
    for (const content of contents) if (!this.isKnown(content.ref)) missing.set(content.ref, content);
    return [...missing.values()];
  }
}

function refsOf(contents: readonly StoredContent[]): string[] {
  return contents.map(({ ref }) => ref);
}
