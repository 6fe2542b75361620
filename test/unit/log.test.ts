import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/lib/invariant-error.ts';
import { type LogFields, logCaught } from '../../src/log.ts';
import { ApiError } from '../../src/request/errors.ts';

describe('a failure that is caught', () => {
  const fieldsOf = (error: unknown): LogFields | undefined => {
    let logged: LogFields | undefined;
    logCaught((_level, _message, fields) => (logged = fields), 'warn', 'storage was used', error);
    return logged;
  };

  it('F30: is logged as one of storage only where storage has failed, and always by its name', () => {
    expect(fieldsOf(new Error('get: We encountered an internal error (10001)'))).toEqual({
      code: 'store_failed',
      error: 'Error',
    });
    expect(fieldsOf(new TypeError('x is undefined'))).toEqual({ code: 'internal_error', error: 'TypeError' });
    expect(fieldsOf(new InvariantError('no name'))).toEqual({
      code: 'internal_error',
      error: 'InvariantError',
    });
    expect(fieldsOf(new ApiError('invalid_api_key', 'no'))).toEqual({
      code: 'invalid_api_key',
      error: 'ApiError',
    });
    expect(fieldsOf('thrown')).toEqual({ code: 'store_failed', error: 'unknown' });
  });

  it('F30: is logged without its message, which may hold content', () => {
    expect(JSON.stringify(fieldsOf(new Error('the secret words')))).not.toContain('secret');
  });
});
