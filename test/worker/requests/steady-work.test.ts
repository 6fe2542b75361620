import { createHash, createHmac } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { Encoding } from '../../../src/memory/tokens/encoding.ts';
import { Scanner } from '../../../src/protocol/json/scanner.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket } from '../support.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

interface Work {
  /** Bytes of JSON strings that were scanned. */
  scanned: number;
  hashes: number;
  /** Texts that were tokenised, and their characters. */
  counted: number;
  characters: number;
}

/** Counts the work of an isolate. */
function watchWork(): Work {
  const work = { ...NOTHING };
  const watch = (
    owner: object,
    name: string,
    seen: (self: never, args: never[], run: () => unknown) => unknown,
  ) => {
    const methods = owner as Record<string, (...args: never[]) => unknown>;
    const real = methods[name];
    if (!real) throw new Error(`there is no method ${name} to watch`);
    vi.spyOn(methods, name).mockImplementation(function (this: never, ...args: never[]) {
      return seen(this, args, () => real.apply(this, args));
    });
  };
  watch(Scanner.prototype, 'skipString', (self: Scanner, _, run) => {
    const from = self.position;
    run();
    work.scanned += self.position - from;
  });
  for (const hash of [createHash('sha256'), createHmac('sha256', 'a key')])
    watch(Object.getPrototypeOf(hash), 'digest', (_, __, run) => {
      work.hashes++;
      return run();
    });
  watch(Encoding.prototype, 'count', (_, [text]: string[], run) => {
    work.counted++;
    work.characters += text?.length ?? 0;
    return run();
  });
  return work;
}

const NOTHING: Work = { scanned: 0, hashes: 0, counted: 0, characters: 0 };

/** What a request costs beside new messages: its other fields, its tenant, its refs. */
const FIELDS_BYTES = 100;
const OWN_HASHES = 4;

/** A step is two messages: names, the links of two chains, the name of a content and its ref. */
const STEP_HASHES = 14;
/** Contents and calls. */
const STEP_TEXTS = 6;

describe.each<MemoryStrategyRequest>([
  { mode: 'compact', token_budget: 6_000, low_watermark_pct: 0.5 },
  { mode: 'auto', token_budget: 6_000, low_watermark_pct: 0.5 },
  { mode: 'trim', token_budget: 6_000, low_watermark_pct: 0.5 },
])('the steady state of a known conversation, mode $mode', (memory_strategy) => {
  const talk = (steps: number) => {
    const all = Array.from({ length: steps }, (_, at) => step(`c${at}`, 'find', `${lines(40)} ${at}`));
    return body([user('go'), ...all.flat()], { memory_strategy });
  };

  it('reads, hashes and counts nothing again', async () => {
    const app = startApp(watchedBucket().bucket);
    let steps = 60;
    const next = () => app.chat(talk(++steps));
    // Go on until the frontier has just moved, so that it stays for the next steps.
    let frontier: string | null = null;
    while (frontier !== 'moved' && steps < 120) frontier = (await next()).headers.get('x-memory-frontier');
    expect(frontier).toBe('moved');
    await next();
    const work = watchWork();

    expect((await app.chat(talk(steps))).headers.get('x-memory-frontier')).toBe('kept');
    expect(work).toMatchObject({ counted: 0, characters: 0 });
    expect(work.scanned).toBeLessThan(FIELDS_BYTES);
    expect(work.hashes).toBeLessThanOrEqual(OWN_HASHES);

    Object.assign(work, NOTHING);
    const before = JSON.stringify(talk(steps)).length;
    expect((await next()).headers.get('x-memory-frontier')).toBe('kept');
    const added = JSON.stringify(talk(steps)).length - before;
    expect(added).toBeLessThan(before / 30);
    expect(work.scanned).toBeLessThan(added + FIELDS_BYTES);
    expect(work.characters).toBeLessThan(added);
    expect(work.counted).toBeGreaterThan(0);
    expect(work.counted).toBeLessThanOrEqual(STEP_TEXTS);
    expect(work.hashes).toBeLessThanOrEqual(OWN_HASHES + STEP_HASHES);
  });
});
