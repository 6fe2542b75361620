import { describe, expect, it, vi } from 'vitest';
import { LOG_LEVELS, type LogLevel } from '../../../src/config.ts';
import { Timings } from '../../../src/lib/server-timing.ts';
import { CallLife } from '../../../src/listeners/life.ts';
import { createLog } from '../../../src/log.ts';
import { idleReport } from '../../../src/memory/plan/report.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';

describe('the line about a request', () => {
  it.each(LOG_LEVELS)('is logged at info, and not put together without need: LOG_LEVEL %s', (logLevel) => {
    const print = vi.spyOn(console, 'info').mockImplementation(() => undefined);
    const timings = new Timings();
    const fields = vi.spyOn(timings, 'fields');
    const head = new Response();
    const services = { config: { logLevel }, log: createLog(logLevel), metrics: new Metrics() };
    const incoming = new Request('https://precis.example');
    const scope = { services, timings, incoming } as unknown as RequestScope;

    new CallLife(scope, 'chat').answered(head, idleReport('none', 'default'));

    const times = (['debug', 'info'] as LogLevel[]).includes(logLevel) ? 1 : 0;
    expect(print).toHaveBeenCalledTimes(times);
    expect(fields).toHaveBeenCalledTimes(times);
    expect(head.headers.get('x-memory-mode')).toBe('none');
    print.mockRestore();
  });

  it.each(['x-request-id', 'request-id'])('has the upstream’s id, by %s', (header) => {
    const lines: string[] = [];
    vi.spyOn(console, 'info').mockImplementation((line: string) => void lines.push(line));
    const services = { config: { logLevel: 'info' }, log: createLog('info'), metrics: new Metrics() };
    const incoming = new Request('https://precis.example');
    const scope = { services, timings: new Timings(), incoming } as unknown as RequestScope;

    const answer = new Response(null, { headers: { [header]: 'req_of_the_vendor' } });
    new CallLife(scope, 'messages').answered(answer, idleReport('none', 'default'));

    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ request_id: 'req_of_the_vendor' }]);
  });
});
