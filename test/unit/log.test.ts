import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/lib/invariant-error.ts';
import { StoreError, storing } from '../../src/lib/store-error.ts';
import { within } from '../../src/lib/time-limit.ts';
import { type LogFields, logCaught } from '../../src/log.ts';
import { ApiError } from '../../src/request/errors.ts';

describe('a failure that is caught', () => {
  const fieldsOf = (error: unknown): LogFields | undefined => {
    let logged: LogFields | undefined;
    logCaught((_level, _message, fields) => (logged = fields), 'warn', 'storage was used', error);
    return logged;
  };

  it('F30: is logged as one of storage only where storage has failed, and always by its name', () => {
    const down = new Error('get: We encountered an internal error (10001)');
    expect(fieldsOf(new StoreError(down))).toMatchObject({ code: 'store_failed', error: 'Error' });
    expect(fieldsOf(down)).toMatchObject({ code: 'internal_error', error: 'Error' });
    expect(fieldsOf(new StoreError('thrown'))).toMatchObject({ code: 'store_failed', error: 'unknown' });
    expect(fieldsOf('thrown')).toMatchObject({ code: 'internal_error', error: 'unknown' });
  });

  it.each([
    ['R2', () => storing(() => Promise.reject(new Error('down'))), 'Error'],
    ['SQLite', () => storing(() => throwing(new Error('disk full'))), 'Error'],
    [
      'a step of several',
      () => storing(() => storing(() => throwing(new DOMException('', 'OperationError')))),
      'OperationError',
    ],
    ['an object that does not answer', () => within(1, new Promise(() => undefined)), 'Error'],
  ])('F30: is one of storage if it is thrown by %s', async (_, work, error) => {
    const failure = await work().catch((thrown: unknown) => thrown);
    expect(fieldsOf(failure)).toMatchObject({ code: 'store_failed', error });
  });

  it('F30: is our own, in a call to storage too, if only a bug can throw it', () => {
    const bug = new TypeError('x is undefined');
    for (const error of [bug, new StoreError(bug)])
      expect(fieldsOf(error)).toMatchObject({ code: 'internal_error', error: 'TypeError' });
    expect(fieldsOf(new InvariantError('no name'))).toMatchObject({
      code: 'internal_error',
      error: 'InvariantError',
    });
    expect(fieldsOf(new ApiError('invalid_api_key', 'no'))).toMatchObject({
      code: 'invalid_api_key',
      error: 'ApiError',
    });
  });

  it('is logged with the place where it was thrown, its own or the call to storage', () => {
    const bug = new TypeError('x is undefined');
    for (const error of [bug, new StoreError(bug)])
      expect(fieldsOf(error)?.at).toMatch(/^<anonymous> \(log\.test\.ts:\d+\)$/);
    const foreign = new Error('down');
    foreign.stack = 'Error: down';
    expect(fieldsOf(new StoreError(foreign))?.at).toMatch(/^<anonymous> \(log\.test\.ts:\d+\)$/);
    expect(fieldsOf('thrown')).not.toHaveProperty('at');
  });

  it('F30: is logged without its message, which may hold content', () => {
    const error = new Error('the secret words');
    for (const thrown of [error, new StoreError(error)])
      expect(JSON.stringify(fieldsOf(thrown))).not.toContain('secret');
  });
});

function throwing(error: Error): never {
  throw error;
}
