import { describe, expect, it } from 'vitest';
import { withRetryText } from '../../../src/answer/stream-errors.ts';

const fault = { message: 'Wait.', type: 'requests', param: null, code: null };
const wordsOf = (headers: Record<string, string>, message = 'Wait.') =>
  withRetryText({ ...fault, message }, new Headers(headers)).message;

describe('when to try again, in words', () => {
  it('is what the headers say, the finer one first', () => {
    expect(wordsOf({ 'retry-after': '7' })).toBe('Wait. Please try again in 7s.');
    expect(wordsOf({ 'retry-after-ms': '1500', 'retry-after': '7' })).toBe('Wait. Please try again in 1.5s.');
  });

  it('is the time until a date, and nothing for one that has passed', () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    expect(wordsOf({ 'retry-after': inAnHour })).toMatch(/in (?:3599|3600)s\.$/);
    expect(wordsOf({ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })).toMatch(/in 0s\.$/);
  });

  it('is left to the message, if that says it so that clients can read it', () => {
    const said = 'Please try again in 250 ms.';
    expect(wordsOf({ 'retry-after': '7' }, said)).toBe(said);
    expect(wordsOf({ 'retry-after': '65' }, 'Try again in 1m5s.')).toBe(
      'Try again in 1m5s. Please try again in 65s.',
    );
  });

  it('is missing where no header says it', () => {
    expect(wordsOf({})).toBe('Wait.');
    expect(wordsOf({ 'retry-after': 'soon' })).toBe('Wait.');
  });
});
