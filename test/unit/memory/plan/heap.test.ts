/** Bodies that fit the memory of an isolate: 128 MB for the requests of all its tenants. */
import { describe, expect, inject, it } from 'vitest';
import { toTheEnd, underHeap } from '../../../support/laws/under-heap.ts';

/** Each may hold nothing that it has read, so they share a process: a start takes half a second. */
const LARGEST = [
  'compacts, offloads and collects the ledger of a body of distinct ids',
  // Seven seconds of processor.
  ...(inject('properties').full ? ['weighs a body of parts with distinct keys'] : []),
  'reads arguments of millions of values',
];
const HOLDING_NOTHING = [
  'counts many texts',
  'remembers a fact under parts of many texts',
  'lists 200 contents of half a megabyte',
  'traces 200 requests with a model name of half a megabyte',
  'reads many outputs that begin like a marker',
];

/** Concurrent, since each test waits for its own process. */
describe.concurrent('a small heap', { timeout: 300_000 }, () => {
  it('F2: is enough for bodies of 16 MiB, of distinct ids and of arguments of millions of values', async () => {
    expect(await underHeap(100, ...LARGEST)).toEqual(toTheEnd(...LARGEST));
  });

  it('F3: holds no text that was counted, listed or a key, no name of a trace, and no forged marker', async () => {
    expect(await underHeap(64, ...HOLDING_NOTHING)).toEqual(toTheEnd(...HOLDING_NOTHING));
  });
});
