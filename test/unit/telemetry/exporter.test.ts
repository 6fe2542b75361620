import { afterEach, describe, expect, it, vi } from 'vitest';
import { Exporter } from '../../../src/telemetry/exporter.ts';
import { CLIENT, type Span } from '../../../src/telemetry/otlp.ts';

const SPAN: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  name: 'chat',
  kind: CLIENT,
  start: 1_790_000_000_000,
  end: 1_790_000_000_025,
  attributes: { text: 'a', whole: 3, part: 0.5, flag: true, list: ['x', 'y'], absent: undefined },
  hasFailed: false,
};

afterEach(() => {
  vi.unstubAllGlobals();
});

/** An exporter whose collector answers with these statuses; 0: it can't be reached. */
function exporting(...statuses: number[]) {
  const sent: { url: string; headers: unknown; body: unknown }[] = [];
  const lost: number[] = [];
  const lines: unknown[] = [];
  const waits: number[] = [];
  const work: Promise<unknown>[] = [];
  vi.stubGlobal('fetch', async (url: string, { headers, body }: { headers: unknown; body: string }) => {
    sent.push({ url, headers, body: JSON.parse(body) });
    const status = statuses.shift() ?? 200;
    if (status === 0) throw new TypeError('no connection, with a secret in the message');
    return new Response(null, { status });
  });
  const exporter = new Exporter({
    endpoint: 'https://collector.example/otlp/',
    headers: { authorization: 'Bearer secret' },
    log: (...line) => void lines.push(line),
    lost: (count) => void lost.push(count),
    now: () => 1_790_000_001_000,
    wait: async (milliseconds) => void waits.push(milliseconds),
  });
  const flush = async () => {
    exporter.sendLater((one) => void work.push(one));
    await Promise.all(work);
  };
  return { exporter, sent, lost, lines, waits, work, flush };
}

describe('an exporter', () => {
  it('sends spans in the encoding of the protocol', async () => {
    const { exporter, sent, flush } = exporting();
    exporter.add([SPAN]);
    await flush();

    expect(sent).toHaveLength(1);
    expect(sent[0]?.url).toBe('https://collector.example/otlp/v1/traces');
    expect(sent[0]?.headers).toEqual({ authorization: 'Bearer secret', 'content-type': 'application/json' });
    expect(sent[0]?.body).toEqual({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'precis' } }] },
          scopeSpans: [
            {
              scope: { name: 'precis' },
              spans: [
                {
                  traceId: SPAN.traceId,
                  spanId: SPAN.spanId,
                  name: 'chat',
                  kind: 3,
                  startTimeUnixNano: '1790000000000000000',
                  endTimeUnixNano: '1790000000025000000',
                  attributes: [
                    { key: 'text', value: { stringValue: 'a' } },
                    { key: 'whole', value: { intValue: '3' } },
                    { key: 'part', value: { doubleValue: 0.5 } },
                    { key: 'flag', value: { boolValue: true } },
                    {
                      key: 'list',
                      value: { arrayValue: { values: [{ stringValue: 'x' }, { stringValue: 'y' }] } },
                    },
                  ],
                  status: {},
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('does not wait where there is nothing to send', async () => {
    const { sent, work, flush } = exporting();
    await flush();
    expect([sent, work]).toEqual([[], []]);
  });

  it('waits once for requests side by side', async () => {
    const { exporter, sent, work } = exporting();
    exporter.add([SPAN]);
    exporter.sendLater((one) => void work.push(one));
    exporter.add([SPAN]);
    exporter.sendLater((one) => void work.push(one));
    expect(work).toHaveLength(1);
    await Promise.all(work);
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent[0]?.body).split(SPAN.spanId)).toHaveLength(3);
  });

  it.each([
    [[503], 2, []],
    [[0], 2, []],
    [[503, 503, 200], 2, [1]],
    [[400], 1, [1]],
    [[302], 1, [1]],
  ] as const)('tries %j: %i times', async (statuses, tries, gone) => {
    const { exporter, sent, lost, lines, flush } = exporting(...statuses);
    exporter.add([SPAN]);
    await flush();

    expect(sent).toHaveLength(tries);
    expect(lost).toEqual(gone);
    expect(lines).toHaveLength(gone.length);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('holds no more than its limit, and says what it has dropped', async () => {
    const { exporter, sent, lost, flush } = exporting();
    exporter.add(Array.from({ length: 2_003 }, () => SPAN));
    exporter.add([SPAN]);
    expect(lost).toEqual([3, 1]);
    await flush();
    expect(JSON.stringify(sent[0]?.body).split('"spanId"')).toHaveLength(2_001);
  });
});
