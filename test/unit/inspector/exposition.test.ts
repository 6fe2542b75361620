import { expect, it } from 'vitest';
import { readExposition } from '../../../inspector/read/exposition.ts';

it('reads counters and histograms, without buckets', () => {
  const text = `# HELP a_total What it counts.
# TYPE a_total counter
a_total{mode="auto",model="m 1"} 3
a_total{mode="none",model="m"} 4
# HELP t_seconds How long.
# TYPE t_seconds histogram
t_seconds_bucket{le="1"} 2
t_seconds_sum 1.5
t_seconds_count 2
# HELP empty_total Nothing yet.
# TYPE empty_total counter
`;

  expect(readExposition(text)).toEqual([
    {
      name: 'a_total',
      help: 'What it counts.',
      type: 'counter',
      samples: [
        { labels: 'mode="auto", model="m 1"', value: '3' },
        { labels: 'mode="none", model="m"', value: '4' },
      ],
    },
    {
      name: 't_seconds',
      help: 'How long.',
      type: 'histogram',
      samples: [
        { labels: 'sum', value: '1.5' },
        { labels: 'count', value: '2' },
      ],
    },
  ]);
});
