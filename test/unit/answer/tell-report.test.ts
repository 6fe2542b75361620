import { describe, expect, it, vi } from 'vitest';
import { tellReport } from '../../../src/answer/tell-report.ts';
import { LOG_LEVELS, type LogLevel } from '../../../src/config.ts';
import { Timings } from '../../../src/lib/server-timing.ts';
import { createLog } from '../../../src/log.ts';
import { idleReport } from '../../../src/memory/plan/report.ts';
import { chatFormat } from '../../../src/protocol/chat/format.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';

describe('the line about a request', () => {
  it.each(LOG_LEVELS)('is logged at info, and not put together without need: LOG_LEVEL %s', (logLevel) => {
    const print = vi.spyOn(console, 'info').mockImplementation(() => undefined);
    const timings = new Timings();
    const fields = vi.spyOn(timings, 'fields');
    const head = new Response();
    const services = { config: { logLevel }, log: createLog(logLevel), metrics: new Metrics() };
    const scope = { services, timings } as unknown as RequestScope;

    tellReport(head, idleReport('none', 'default'), chatFormat, scope);

    const times = (['debug', 'info'] as LogLevel[]).includes(logLevel) ? 1 : 0;
    expect(print).toHaveBeenCalledTimes(times);
    expect(fields).toHaveBeenCalledTimes(times);
    expect(head.headers.get('x-memory-mode')).toBe('none');
    print.mockRestore();
  });
});

describe('the count of warnings', () => {
  it('has those that tell of no fault apart, and the header has all', () => {
    const metrics = { isOn: true, count: vi.fn(), observe: vi.fn(), sendLater: vi.fn() };
    const services = { config: { logLevel: 'error' as const }, log: createLog('error'), metrics };
    const scope = { services, timings: new Timings() } as unknown as RequestScope;
    const head = new Response();

    tellReport(head, idleReport('auto', 'request', ['waiting', 'store_failed', 'idle']), chatFormat, scope);

    const counted = metrics.count.mock.calls.filter(([, labels]) => 'code' in labels);
    expect(counted).toEqual([
      ['precis_notices_total', { code: 'waiting' }],
      ['precis_warnings_total', { code: 'store_failed' }],
      ['precis_notices_total', { code: 'idle' }],
    ]);
    expect(head.headers.get('x-memory-warning')).toBe('waiting,store_failed,idle');
  });
});
