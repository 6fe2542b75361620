import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { Encoding } from '../../../src/memory/tokens/encoding.ts';
import { Scanner } from '../../../src/protocol/json/scanner.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket } from '../support.ts';

interface Work {
  /** Bytes of JSON strings that were scanned. */
  scanned: number;
  hashes: number;
  /** Texts that were tokenized, and their characters. */
  counted: number;
  characters: number;
}

const NOTHING: Work = { scanned: 0, hashes: 0, counted: 0, characters: 0 };

/**
 * Counts the work that a call causes, after its answer too. Tests share an isolate, and what those
 * before have left running is not the call's.
 */
function watchWork(): <Result>(call: () => Promise<Result>) => Promise<Work> {
  const current = new AsyncLocalStorage<Work>();
  const watch = (
    owner: object,
    name: string,
    note: (work: Work, self: never, args: readonly unknown[], run: () => unknown) => unknown,
  ) => {
    const methods = owner as Record<string, (...args: unknown[]) => unknown>;
    const real = methods[name];
    if (!real) throw new Error(`there is no method ${name} to watch`);
    vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...args) {
      const work = current.getStore();
      const run = () => real.apply(this, args);
      return work ? note(work, this as never, args, run) : run();
    });
  };
  watch(Scanner.prototype, 'skipString', (work, self: Scanner, _, run) => {
    const from = self.position;
    run();
    work.scanned += self.position - from;
  });
  for (const hash of [createHash('sha256'), createHmac('sha256', 'a key')])
    watch(Object.getPrototypeOf(hash), 'digest', (work, _, __, run) => {
      work.hashes++;
      return run();
    });
  watch(Encoding.prototype, 'count', (work, _, [text], run) => {
    work.counted++;
    work.characters += String(text).length;
    return run();
  });
  return async (call) => {
    const work = { ...NOTHING };
    await current.run(work, call);
    return work;
  };
}

/**
 * A request beside its new messages: its other fields, its tenant, the name of its manifest and the
 * record of what was sent.
 */
const FIELDS_BYTES = 100;
const OWN_HASHES = 3;

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
    const workOf = watchWork();
    const kept = async (response: Promise<Response>) =>
      expect((await response).headers.get('x-memory-frontier')).toBe('kept');

    const again = await workOf(() => kept(app.chat(talk(steps))));
    expect(again).toMatchObject({ counted: 0, characters: 0 });
    expect(again.scanned).toBeLessThan(FIELDS_BYTES);
    expect(again.hashes).toBeLessThanOrEqual(OWN_HASHES);

    const before = JSON.stringify(talk(steps)).length;
    const grown = await workOf(() => kept(next()));
    const added = JSON.stringify(talk(steps)).length - before;
    expect(added).toBeLessThan(before / 30);
    expect(grown.scanned).toBeLessThan(added + FIELDS_BYTES);
    expect(grown.characters).toBeLessThan(added);
    expect(grown.counted).toBeGreaterThan(0);
    expect(grown.counted).toBeLessThanOrEqual(STEP_TEXTS);
    expect(grown.hashes).toBeGreaterThan(0);
    expect(grown.hashes).toBeLessThanOrEqual(OWN_HASHES + STEP_HASHES);
  });
});
