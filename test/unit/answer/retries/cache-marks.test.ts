import { expect, it } from 'vitest';
import { roomForMarks } from '../../../../src/answer/retries/cache-marks.ts';
import { MARK, read, user, view } from '../../protocol/messages/edited.ts';

it('leaves marks of ours what the marks of a caller of Messages leave of four', () => {
  const left = [0, 1, 3, 4, 5].map((count) => {
    const system = Array.from({ length: count }, (_, at) => ({
      type: 'text',
      text: `${at}`,
      cache_control: MARK,
    }));
    const request = read([user('The word "cache_control" is no mark.')], { system });
    return roomForMarks(request, view({ marks: [count] }));
  });
  expect(left).toEqual([3, 3, 1, 0, 0]);
});
