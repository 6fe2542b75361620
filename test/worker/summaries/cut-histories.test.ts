/** Clients that send only their newest messages under one id: no array holds an earlier one. */
import { expect, it } from 'vitest';
import { boundary, conversation, recordLog } from './conversation-object.ts';

recordLog();

/** A version of an array that begins at another message. */
const windowAt = (start: number) => ({
  boundary: boundary(6, `window ${start}`),
  bases: [boundary(2, `window ${start}`), boundary(4, `window ${start}`)],
});
const terms = { strategyHash: 'strategy', boundaries: [boundary(6, 'a window that nobody has seen')] };

it('rest for an hour after five summaries that none of them holds, and say why', async () => {
  const { make, look, call, clock } = conversation();
  for (let start = 0; start < 5; start++) await make(6, 'a summary', windowAt(start));
  expect(await look(6, windowAt(5))).toMatchObject({ state: 'resting', unlinked: true });
  expect(await call((memory) => memory.versions.find(terms))).toMatchObject({ memory: null, unlinked: true });
  clock.now += 60 * 60_000;
  await make(6, 'a summary', windowAt(6));
  expect((await look(6, windowAt(7))).state).toBe('resting');
});

it('are not taken for conversations that fork, and go on', async () => {
  const { make, look, call } = conversation();
  for (let fork = 0; fork < 12; fork++) {
    const first = await make(6, 'a summary', windowAt(fork));
    const bases = [boundary(6, `window ${fork}`)];
    const next = await look(8, { boundary: boundary(8, `window ${fork}`), bases });
    expect(next).toMatchObject({ state: 'wanted', base: { memory_id: first.memory_id } });
  }
  expect(await call((memory) => memory.versions.find(terms))).not.toHaveProperty('unlinked');
});

it('are made again at once when a request continues an earlier one', async () => {
  const { make, look } = conversation();
  for (let start = 0; start < 5; start++) await make(6, 'a summary', windowAt(start));
  const bases = [boundary(6, 'window 2')];
  expect((await look(8, { boundary: boundary(8, 'window 2'), bases })).state).toBe('wanted');
  expect((await look(6, windowAt(9))).state).toBe('wanted');
});
