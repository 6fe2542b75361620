import { describe, expect, it } from 'vitest';
import { saidFault } from '../../../../src/protocol/answers/said-fault.ts';

describe("an upstream's error", () => {
  it.each([
    ['as a member', { error: { message: 'Busy.', type: 'overloaded', param: 'p', code: 529, more: 1 } }],
    ['without all of its fields', { error: { message: 'Busy.' } }],
    ['as a text', { error: 'Busy.' }],
    ['as its own fields', { object: 'error', message: 'Busy.', code: 400 }],
    ['as the fields of an event', { type: 'error', message: 'Busy.', code: null, param: null }],
  ])('keeps what it says, %s', (_, said) => {
    const { error = said } = said as { error?: unknown };
    const fields = typeof error === 'object' ? error : {};
    const type = (said as { type?: unknown }).type === 'error' ? { type: 'server_error' } : {};
    expect(saidFault(said)).toEqual({
      message: 'Busy.',
      type: 'server_error',
      param: null,
      code: null,
      ...fields,
      ...type,
    });
  });

  it('has the words that it is given, if it has none of its own', () => {
    expect(saidFault({ detail: 'Too long.' }, '{"detail":"Too long."}').message).toBe(
      '{"detail":"Too long."}',
    );
    expect(saidFault({ error: { message: { en: 'Busy.' } } }, 'Busy.').message).toBe('Busy.');
    expect(saidFault({}).message).toMatch(/without a message/);
  });
});
