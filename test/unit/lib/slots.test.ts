import { describe, expect, it } from 'vitest';
import { AT_ONCE, fewAtOnce, Room, Slots } from '../../../src/lib/slots.ts';

describe('work in slots', () => {
  it('is as many as are allowed, with the results in order', async () => {
    let running = 0;
    let most = 0;
    const results = await fewAtOnce(AT_ONCE, [...Array(40).keys()], async (item) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, (item * 7) % 5));
      running--;
      return item * 2;
    });
    expect(results).toEqual([...Array(40).keys()].map((item) => item * 2));
    expect(most).toBe(6);
  });

  it('ends with the first failure, and begins nothing after it', async () => {
    const first = Promise.withResolvers<number>();
    const begun: number[] = [];
    const all = fewAtOnce(2, [0, 1, 2, 3, 4], async (item) => {
      begun.push(item);
      if (item === 1) throw new Error('of one');
      return item === 0 ? first.promise : item;
    });
    await expect(all).rejects.toThrow('of one');
    first.resolve(0);
    await new Promise((resolve) => setTimeout(resolve));
    expect(begun).toEqual([0, 1]);
  });
});

describe('a slot', () => {
  it('is free again when its work has failed', async () => {
    const slots = new Slots(1);
    const failing = slots.run(() => Promise.reject(new Error('failed')));
    const next = slots.run(async () => 'done');
    await expect(failing).rejects.toThrow('failed');
    expect(await next).toBe('done');
    expect(await slots.run(async () => 'done later')).toBe('done later');
  });

  it('goes to what came first', async () => {
    const slots = new Slots(2);
    const begun: number[] = [];
    await Promise.all(
      [0, 1, 2, 3, 4].map((item) =>
        slots.run(async () => {
          begun.push(item);
          await Promise.resolve();
        }),
      ),
    );
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('a room', () => {
  it('has at most this many bytes taken, and lets those that wait in by their turn', async () => {
    const room = new Room(10);
    const entered: string[] = [];
    const enter = async (name: string, bytes: number) => {
      const leave = await room.take(bytes);
      entered.push(name);
      return leave;
    };
    const [a, b] = await Promise.all([enter('a', 6), enter('b', 4)]);
    const c = enter('c', 7);
    const d = enter('d', 1);
    const e = enter('e', 99);
    b();
    await Promise.resolve();
    expect(entered).toEqual(['a', 'b']);
    a();
    const leaveC = await c;
    const leaveD = await d;
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    leaveC();
    await Promise.resolve();
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    leaveD();
    (await e)();
    expect(await Promise.all([enter('f', 5), enter('g', 5)])).toHaveLength(2);
  });
});
