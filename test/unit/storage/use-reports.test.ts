import { describe, expect, it } from 'vitest';
import { UseReports } from '../../../src/storage/conversation/use-reports.ts';

class Shelf {
  readonly #books: string[] = [];

  count(): number {
    return this.#books.length;
  }

  add(...books: string[]): number {
    return this.#books.push(...books);
  }

  clear(): void {
    this.#books.length = 0;
  }
}

/** The uses of a stored conversation, and what is reported to its tenant's object. */
function conversation(shelf: Shelf, reportedAt: number, reported: () => Promise<void> = async () => {}) {
  const calls: string[] = [];
  const uses = new UseReports({
    exists: () => true,
    reportedAt: () => reportedAt,
    saveReportedAt: () => void calls.push('noted'),
    report: () => {
      calls.push(`reports ${shelf.count()} books`);
      return reported();
    },
    now: () => 90 * 60_000,
    log: () => undefined,
    waitUntil: () => undefined,
  });
  return { calls, uses };
}

describe('a part of an object', () => {
  it('has the methods that are named, and no other', async () => {
    const { uses } = conversation(new Shelf(), 1);
    const part = uses.part(new Shelf(), { count: 'looks', add: 'writes' });

    expect(Object.keys(part)).toEqual(['count', 'add']);
    expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
    expect(await part.add('one', 'two')).toBe(2);
    expect(part.count()).toBe(2);
  });

  it('has a use noted by a method that reads, and none by one that looks', () => {
    const shelf = new Shelf();
    const { calls, uses } = conversation(shelf, 1);

    uses.part(shelf, { count: 'looks' }).count();
    expect(calls).toEqual([]);
    uses.part(shelf, { count: 'reads' }).count();
    expect(calls).toEqual(['noted', 'reports 0 books']);
  });

  it('makes the conversation known before its first write, and writes nothing where that fails', async () => {
    const shelf = new Shelf();
    const { calls, uses } = conversation(shelf, 0);
    await uses.part(shelf, { add: 'writes' }).add('one');
    expect(calls).toEqual(['reports 0 books', 'noted', 'reports 1 books']);

    const failing = conversation(shelf, 0, () => Promise.reject(new Error('the object is down')));
    await expect(failing.uses.part(shelf, { add: 'writes' }).add('two')).rejects.toThrow('is down');
    expect(shelf.count()).toBe(1);
  });
});
