import { describe, expect, it, vi } from 'vitest';
import { Timings } from '../../../src/lib/server-timing.ts';
import { CallLife } from '../../../src/listeners/life.ts';
import { createLog } from '../../../src/log.ts';
import { idleReport } from '../../../src/memory/plan/report.ts';
import type { RequestScope } from '../../../src/request/scope.ts';

describe('the count of warnings', () => {
  it('has those that tell of no fault apart, and the header has all', () => {
    const metrics = { isOn: true, count: vi.fn(), observe: vi.fn(), sendLater: vi.fn() };
    const services = { config: { logLevel: 'error' as const }, log: createLog('error'), metrics };
    const incoming = new Request('https://precis.example');
    const waitUntil = vi.fn();
    const scope = { services, timings: new Timings(), incoming, waitUntil } as unknown as RequestScope;
    const head = new Response();

    new CallLife(scope, 'chat').answered(
      head,
      idleReport('auto', 'request', ['waiting', 'store_failed', 'idle']),
    );

    const counted = metrics.count.mock.calls.filter(([, labels]) => 'code' in labels);
    expect(counted).toEqual([
      ['precis_notices_total', { code: 'waiting' }],
      ['precis_warnings_total', { code: 'store_failed' }],
      ['precis_notices_total', { code: 'idle' }],
    ]);
    expect(head.headers.get('x-memory-warning')).toBe('waiting,store_failed,idle');
  });
});
