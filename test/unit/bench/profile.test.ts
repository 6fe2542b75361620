import { describe, expect, it } from 'vitest';
import { selfTimes } from '../../../bench/profile.ts';

const frame = (id: number, functionName: string) => ({ id, callFrame: { functionName, lineNumber: 6 } });
const nodes = [frame(1, '(root)'), frame(2, 'read'), frame(3, ''), frame(4, '(idle)')];

describe('the time of functions in a profile', () => {
  it('is the usual distance of two samples for each of theirs, most first', () => {
    const samples = [2, 3, 2, 2];
    const timeDeltas = [1_100, 1_100, 1_200, 1_100];

    expect(selfTimes({ startTime: 0, nodes, samples, timeDeltas }, 1_000)).toEqual([
      { name: 'read', ms: expect.closeTo(3.3) },
      { name: '(line 7)', ms: expect.closeTo(1.1) },
    ]);
  });

  it('has nothing of the time in which the isolate waits', () => {
    const samples = [2, 2, 4, 2];
    const timeDeltas = [1_000, 1_000, 70_000, 40_000];

    expect(selfTimes({ startTime: 0, nodes, samples, timeDeltas }, 1_000)).toEqual([{ name: 'read', ms: 3 }]);
  });

  it('counts a late sample and the next one, which follows at once, by their distances', () => {
    const samples = Array.from({ length: 12 }, () => 2);
    const timeDeltas = [2_150, 50, 2_150, 50, 2_150, 50, 1_100, 1_100, 1_100, 1_100, 2_150, 50];

    const [read] = selfTimes({ startTime: 0, nodes, samples, timeDeltas }, 1_000);

    expect(read?.ms).toBeCloseTo(8 * 1.1 + 4 * 0.05);
  });

  it('is the one of a part of the profile', () => {
    const profile = { startTime: 5_000, nodes, samples: [2, 2, 2], timeDeltas: [1_000, 1_000, 1_000] };

    expect(selfTimes(profile, 1_000, (us) => us >= 6_500)).toEqual([{ name: 'read', ms: 2 }]);
  });

  it('has the interval as the distance of samples that are alone', () => {
    expect(selfTimes({ startTime: 0, nodes, samples: [2, 2], timeDeltas: [50_000, 50_000] }, 1_000)).toEqual([
      { name: 'read', ms: 2 },
    ]);
  });
});
