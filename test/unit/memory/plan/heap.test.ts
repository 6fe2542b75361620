/** Bodies that fit the memory of an isolate: 128 MB for the requests of all its tenants. */
import { describe, expect, inject, it } from 'vitest';
import { underHeap } from '../../../support/laws/under-heap.ts';

const TO_THE_END = { code: 0, output: '' };

/** Concurrent, since each test waits for its own process. */
describe.concurrent('a small heap', { timeout: 300_000 }, () => {
  it.each([
    'compacts, offloads and collects the ledger of a body of distinct ids',
    // Seven seconds of processor.
    ...(inject('properties').full ? ['weighs a body of parts with distinct keys'] : []),
    'reads arguments of millions of values',
  ])('F2: %s, of 16 MiB', async (work) => {
    expect(await underHeap(100, work)).toEqual(TO_THE_END);
  });

  it('F3: holds no text that was counted', async () => {
    expect(await underHeap(64, 'counts many texts')).toEqual(TO_THE_END);
  });

  it.each([
    'lists 200 contents of half a megabyte',
    'traces 200 requests with a model name of half a megabyte',
  ])('F3: %s, and holds none of them', async (work) => {
    expect(await underHeap(64, work)).toEqual(TO_THE_END);
  });

  it('F3: holds no output that begins like a marker', async () => {
    expect(await underHeap(64, 'reads many outputs that begin like a marker')).toEqual(TO_THE_END);
  });
});
