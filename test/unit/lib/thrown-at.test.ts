import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asObject } from '../../../src/lib/json.ts';
import { storing } from '../../../src/lib/store-error.ts';
import { thrownAt } from '../../../src/lib/thrown-at.ts';
import { forAll } from '../../support/laws/runs.ts';

const traced = (message: string, ...frames: string[]): Error => {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
};

describe('where an error was thrown', () => {
  it('is the function, file and line of its first frame', () => {
    function readPack(): never {
      throw new Error('down');
    }
    const thrown = caught(readPack);

    expect(thrownAt(thrown)).toMatch(/^readPack \(thrown-at\.test\.ts:\d+\)$/);
  });

  it.each([
    [
      'writeRef (file:///work/src/storage/refs/writer.ts:120:11)',
      'writeRef (src/storage/refs/writer.ts:120)',
    ],
    ['async Archive.read (index.js:40213:7)', 'Archive.read (index.js:40213)'],
    ['new Shelf (https://precis.example/index.js?v=1:9:2)', 'new Shelf (index.js:9)'],
    ['file:///app/src/app.ts:7:1', '<anonymous> (src/app.ts:7)'],
    ['Map.forEach [as a caller’s words] (file:///app/src/app.ts:7:1)', 'Map.forEach (src/app.ts:7)'],
  ])('is read from each form of a frame: %s', (frame, where) => {
    expect(thrownAt(traced('down', frame))).toBe(where);
  });

  it('is the first frame of Precis, below the frames of the runtime and of packages', () => {
    const foreign = [
      'Object.parse (node:internal/x:1:1)',
      'f (/app/node_modules/zod/index.js:2:2)',
      'JSON.parse (<anonymous>)',
    ];
    const error = traced('down', ...foreign, 'readBody (/app/src/request/body.ts:3:3)');

    expect(thrownAt(error)).toBe('readBody (src/request/body.ts:3)');
    expect(thrownAt(traced('down', ...foreign))).toBeUndefined();
  });

  it('never has a part of the message, whatever that looks like', () => {
    const frame = '    at secret (/app/src/secret.ts:1:1)';
    for (const message of [frame, `x\n${frame}`, `${frame}\n${frame}\n`])
      expect(thrownAt(traced(message, 'work (/app/src/work.ts:2:2)'))).toBe('work (src/work.ts:2)');
    forAll(fc.string(), (message) => {
      expect(thrownAt(traced(message, 'work (/app/src/work.ts:2:2)'))).toBe('work (src/work.ts:2)');
    });
  });

  it('is not known of what is no error, or has no trace', () => {
    const bare = new Error('down');
    delete bare.stack;
    for (const value of [undefined, null, 'down', 7, {}, bare]) expect(thrownAt(value)).toBeUndefined();
  });

  it('is the call to storage where the runtime throws without a frame of Precis', async () => {
    const readManifest = async () => await storing(() => Promise.reject(traced('down')));
    const failure = await readManifest().catch((error: unknown) => error);

    expect(thrownAt(asObject(failure).cause)).toBeUndefined();
    expect(thrownAt(failure)).toMatch(/^readManifest \(thrown-at\.test\.ts:\d+\)$/);
  });
});

function caught(work: () => never): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
