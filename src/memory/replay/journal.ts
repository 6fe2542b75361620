/** The removals of a replay so far, with prefix sums of the tokens they free, and undo. */
import { ChangingSums } from '../../lib/prefix-sums.ts';
import { freedBy, type Removal, unusedBy } from '../edits/removal.ts';

/** One phase's removals in one unit. */
export interface JournalEntry {
  readonly unit: number;
  readonly removals: readonly Removal[];
  readonly freed: number;
  /** The array of the move that has made it ended before this message. */
  readonly at: number;
}

/** Adding, undoing and summing take logarithmic time in the number of units. */
export class Journal {
  /** The array of the current move ends before this message. */
  at = 0;
  /** Tokens that all entries free. */
  freed = 0;
  private readonly list: JournalEntry[] = [];
  /** The entries of removed outputs, by message. */
  private readonly outputs = new Map<number, JournalEntry>();
  private readonly sums: ChangingSums;
  /** Absent while no removal has a place for a digest. */
  private unused: ChangingSums | undefined;
  private readonly units: number;
  private readonly freesOf: (unit: number, tokens: number) => void;

  /** @param freesOf called with the tokens that a unit loses; negative when a removal is undone */
  constructor(units: number, freesOf: (unit: number, tokens: number) => void = () => {}) {
    this.units = units;
    this.sums = new ChangingSums(units);
    this.freesOf = freesOf;
  }

  get length(): number {
    return this.list.length;
  }

  /** Tokens that entries of units before one free. */
  freedBefore(unit: number): number {
    return this.sums.before(unit);
  }

  /** Tokens that entries of units before one count for digests that may not come. */
  unusedBefore(unit: number): number {
    return this.unused?.before(unit) ?? 0;
  }

  /** Adds the removals of a unit, if there are any. */
  add(unit: number, removals: readonly Removal[]): void {
    if (removals.length > 0) this.append({ unit, removals, freed: freedBy(removals), at: this.at });
  }

  /** Adds an entry, new or of an earlier journal. */
  append(entry: JournalEntry): void {
    this.list.push(entry);
    for (const { kind, message } of entry.removals) if (kind === 'output') this.outputs.set(message, entry);
    this.count(entry, 1);
  }

  /** Undoes the latest entries down to a length. */
  truncate(length: number): void {
    while (this.list.length > length) {
      const entry = this.list.pop();
      if (!entry) return;
      for (const { kind, message } of entry.removals) if (kind === 'output') this.outputs.delete(message);
      this.count(entry, -1);
    }
  }

  /** The removal of an output, and the end of the array at whose move it was made. */
  removalOf(message: number): { readonly removal: Removal; readonly at: number } | undefined {
    const entry = this.outputs.get(message);
    const removal = entry?.removals.find((one) => one.kind === 'output' && one.message === message);
    return entry && removal && { removal, at: entry.at };
  }

  entries(from: number, to: number): readonly JournalEntry[] {
    return this.list.slice(from, to);
  }

  /** The entries of the latest moves whose array ends before this message. */
  madeAt(messages: number): readonly JournalEntry[] {
    return this.list.slice(1 + this.list.findLastIndex(({ at }) => at < messages));
  }

  private count({ unit, removals, freed }: JournalEntry, sign: 1 | -1): void {
    this.freed += sign * freed;
    this.freesOf(unit, sign * freed);
    this.sums.add(unit, sign * freed);
    const unused = unusedBy(removals);
    if (unused === 0) return;
    this.unused ??= new ChangingSums(this.units);
    this.unused.add(unit, sign * unused);
  }
}
