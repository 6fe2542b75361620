/** One bound over all bodies that an isolate is reading. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { tryBody } from '../../../src/request/body.ts';
import { ReadingBodies, readingBodies } from '../../../src/request/reading-bodies.ts';
import { shorten } from '../../support/time-limits.ts';

const KIB = 1024;

beforeEach(() => shorten({ bodyPatienceMs: 60_000 }));

/** A body of which so much comes, and no more before `end`. */
function unfinished(bytes: number) {
  const stream = new IdentityTransformStream();
  const writer = stream.writable.getWriter();
  const sent = writer.write(new Uint8Array(bytes)).catch(() => undefined);
  const end = async () => {
    await sent;
    await writer.close().catch(() => undefined);
  };
  return { body: stream.readable as ReadableStream<Uint8Array>, sent, end };
}

describe('the bodies that are being read', () => {
  it('are read whole while there is room', async () => {
    const bodies = new ReadingBodies(100 * KIB);
    const { body, end } = unfinished(30 * KIB);
    const reading = bodies.read(body, 50 * KIB);
    await end();
    expect(await reading).toEqual(new Uint8Array(30 * KIB));
    expect(bodies.held).toBe(0);
  });

  it('hold no more than the bound, however many are unfinished', async () => {
    const bodies = new ReadingBodies(100 * KIB);
    const all = Array.from({ length: 16 }, () => unfinished(30 * KIB));
    const reading = all.map(({ body }) => bodies.read(body, 50 * KIB));
    let refused = 0;
    for (const one of reading) void one.then((read) => (refused += read === 'no_room' ? 1 : 0));
    await expect.poll(() => refused).toBe(13);
    expect(bodies.held).toBe(90 * KIB);
    for (const { end } of all) void end();
    const whole = (await Promise.all(reading)).filter((read) => read !== 'no_room');
    expect(whole).toEqual(Array.from({ length: 3 }, () => new Uint8Array(30 * KIB)));
    expect(bodies.held).toBe(0);
  });

  it('give way when they have had their time, the first one first', async () => {
    const bodies = new ReadingBodies(100 * KIB);
    const held = Array.from({ length: 3 }, () => unfinished(30 * KIB));
    const reading = held.map(({ body }) => bodies.read(body, 50 * KIB));
    await Promise.all(held.map(({ sent }) => sent));
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + 61_000);
    const { body, end } = unfinished(30 * KIB);
    const late = bodies.read(body, 50 * KIB);
    await end();
    expect(await late).toEqual(new Uint8Array(30 * KIB));
    expect(await reading[0]).toBe('no_room');
    expect(bodies.held).toBeLessThanOrEqual(60 * KIB);
    await Promise.all(held.slice(1).map((one) => one.end()));
    for (const read of reading.slice(1)) expect(await read).toEqual(new Uint8Array(30 * KIB));
  });

  it('keep no smaller one out, however new they are', async () => {
    const bodies = new ReadingBodies(100 * KIB);
    const held = [50, 30, 20].map((size) => unfinished(size * KIB));
    const reading = held.map(({ body }) => bodies.read(body, 60 * KIB));
    await Promise.all(held.map(({ sent }) => sent));
    const { body, end } = unfinished(10 * KIB);
    const small = bodies.read(body, 50 * KIB);
    await end();
    expect(await small).toEqual(new Uint8Array(10 * KIB));
    expect(await reading[0]).toBe('no_room');
    await Promise.all(held.slice(1).map((one) => one.end()));
    expect((await Promise.all(reading.slice(1))).every((read) => read !== 'no_room')).toBe(true);
  });

  it('let one through that is larger than the bound, if it is alone', async () => {
    const bodies = new ReadingBodies(10 * KIB);
    const { body, end } = unfinished(30 * KIB);
    const reading = bodies.read(body, 50 * KIB);
    await end();
    expect(await reading).toEqual(new Uint8Array(30 * KIB));
  });

  it('go on as a stream beyond their own limit, and are no longer held', async () => {
    const bodies = new ReadingBodies(100 * KIB);
    const { body, end } = unfinished(60 * KIB);
    const reading = bodies.read(body, 50 * KIB);
    const read = await reading;
    expect(read).toMatchObject({ read: expect.any(Array) });
    expect(bodies.held).toBe(0);
    await end();
  });

  it('are refused with a code and a time, by the one bound of the isolate', async () => {
    vi.spyOn(readingBodies, 'read').mockResolvedValue('no_room');
    const request = new Request('http://precis.test/', { method: 'POST', body: new Uint8Array(100 * KIB) });
    const refused = await tryBody(request, null).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'overloaded', status: 503, headers: { 'retry-after': '60' } });
  });

  it.each([
    ['short', { 'content-length': `${2 * KIB}` }],
    ['of unknown length', {}],
  ])('are refused where a sender leaves, and no fault of Precis: %s', async (_, headers: HeadersInit) => {
    const { readable, writable } = new IdentityTransformStream();
    const request = new Request('http://precis.test/', { method: 'POST', headers, body: readable });
    const read = tryBody(request, null);
    const writer = writable.getWriter();
    await writer.write(new Uint8Array(KIB));
    await Promise.all([
      expect(read).rejects.toMatchObject({ code: 'invalid_json', status: 400, cause: expect.any(Error) }),
      writer.abort(new Error('gone')),
    ]);
    expect(readingBodies.held).toBe(0);
  });

  it('cost nothing where they are short', async () => {
    const read = vi.spyOn(readingBodies, 'read');
    const headers = { 'content-length': `${KIB}` };
    const body = new Uint8Array(KIB);
    const request = new Request('http://precis.test/', { method: 'POST', headers, body });
    expect(await tryBody(request, null)).toMatchObject({ bytes: body });
    expect(read).not.toHaveBeenCalled();
  });
});
