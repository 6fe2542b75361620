/** Texts in the making: each comes to an end for those who wait, whatever its maker does. */
import { expect, it } from 'vitest';
import { Making } from '../../../src/storage/conversation/making.ts';

it('ends a text whose maker has failed, and then nobody makes it', async () => {
  const awake: Promise<void>[] = [];
  const making = new Making<number, string>((work) => void awake.push(work));
  const ended = making.begin(1, 0, () => Promise.reject(new Error('no storage')));
  const failed = expect(awake[0]).rejects.toThrow('no storage');

  expect(await Promise.race([ended, failed.then(() => 'waits for ever')])).toEqual({ state: 'dropped' });
  await failed;
  expect([making.keys(), making.get(1), making.work()]).toEqual([[], undefined, []]);
});
