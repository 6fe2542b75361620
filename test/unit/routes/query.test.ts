import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/request/errors.ts';
import { countIn } from '../../../src/routes/query.ts';

const sizes = { usual: 20, largest: 100 };
const sizeOf = (limit: string | undefined) => countIn({ req: { query: () => limit } }, 'limit', sizes);

describe('the size of a page', () => {
  it.each([
    [undefined, 20],
    ['1', 1],
    ['007', 7],
    ['100', 100],
  ])('of limit=%s is %i', (limit, size) => {
    expect(sizeOf(limit)).toBe(size);
  });

  it.each(['', '0', '101', '0100', '-1', '+1', '1.5', '1e1', ' 1', '1\n', '１', 'many'])(
    'is refused for limit=%j',
    (limit) => {
      const error = new ApiError('invalid_value', 'limit must be a number from 1 to 100.', 'limit');
      expect(() => sizeOf(limit)).toThrow(error);
    },
  );
});
