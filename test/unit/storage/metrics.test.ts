import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counts, exposition } from '../../../src/storage/metrics/families.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';
import type { Batch } from '../../../src/storage/metrics/object.ts';
import { forAllAsync } from '../../support/laws/runs.ts';

async function countsOf(work: (metrics: Metrics) => void): Promise<Counts> {
  const sent: Batch[] = [];
  const send = async (batch: Batch) => void sent.push(batch);
  const metrics = new Metrics({ send, log: () => undefined });
  work(metrics);
  await metrics.send();
  return sent[0]?.counts ?? {};
}

describe('the text of metrics', () => {
  it('has cumulative buckets in order, a sum and a count', async () => {
    const values = fc.array(fc.integer({ min: 0, max: 2_000_000 }), { minLength: 1, maxLength: 20 });
    await forAllAsync({}, values, async (tokens) => {
      const counts = await countsOf((metrics) => {
        for (const one of tokens) metrics.observe('memory_tokens_before_after', { stage: 'after' }, one);
      });
      const lines = exposition(counts).split('\n');
      const buckets = lines.flatMap(
        (line) =>
          /^memory_tokens_before_after_bucket\{stage="after",le="(.*)"\} (\d+)$/.exec(line)?.slice(1) ?? [],
      );
      const bounds = buckets
        .filter((_, at) => at % 2 === 0)
        .map((le) => (le === '+Inf' ? Infinity : Number(le)));
      const within = buckets.filter((_, at) => at % 2 === 1).map(Number);
      expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
      expect(bounds.at(-1)).toBe(Infinity);
      expect(within).toEqual(bounds.map((bound) => tokens.filter((one) => one <= bound).length));
      const sum = tokens.reduce((all, one) => all + one, 0);
      expect(lines).toContain(`memory_tokens_before_after_sum{stage="after"} ${sum}`);
      expect(lines).toContain(`memory_tokens_before_after_count{stage="after"} ${tokens.length}`);
    });
  });

  it('keeps the series of a family together', async () => {
    const counts = await countsOf((metrics) => {
      metrics.count('precis_warnings_total', { code: 'over_budget' });
      metrics.count('precis_refusals_total', { code: 'invalid_json' });
      metrics.count('precis_warnings_total', { code: 'no_user' }, 3);
    });
    expect(exposition(counts)).toContain(
      '# TYPE precis_warnings_total counter\nprecis_warnings_total{code="over_budget"} 1\nprecis_warnings_total{code="no_user"} 3\n# HELP',
    );
  });
});
