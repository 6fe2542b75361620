import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/request/errors.ts';
import { reportedRefusal } from '../../../src/request/refusal.ts';
import type { Services } from '../../../src/request/services.ts';

describe('a refusal', () => {
  const lineOf = (error: ApiError): unknown => {
    const log = vi.fn();
    const metrics = { count: vi.fn(), sendLater: vi.fn() };
    reportedRefusal(error, { log, metrics } as unknown as Services, () => {});
    return log.mock.calls;
  };

  it('is logged with its cause, if it has one', () => {
    const error = new ApiError('invalid_json', 'The request body broke off before it was complete.');
    error.cause = new RangeError('what the sender has written');
    const said = { code: 'invalid_json', status: 400, request_id: error.requestId };
    const at = expect.stringContaining('refusal.test.ts');
    expect(lineOf(error)).toEqual([['info', 'a request was refused', { ...said, error: 'RangeError', at }]]);
  });

  it('has no more in the log without one', () => {
    const error = new ApiError('overloaded', 'Try again.');
    const said = { code: 'overloaded', status: 503, request_id: error.requestId };
    expect(lineOf(error)).toEqual([['info', 'a request was refused', said]]);
  });
});
