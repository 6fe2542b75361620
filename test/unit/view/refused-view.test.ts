import { describe, expect, it } from 'vitest';
import { idleReport } from '../../../src/memory/plan/report.ts';
import type { Call } from '../../../src/request/call.ts';
import { ApiError } from '../../../src/request/errors.ts';
import type { TextState } from '../../../src/storage/conversation/memories.ts';
import type { MadeView } from '../../../src/view/made-view.ts';
import { passed } from '../../../src/view/refused-view.ts';

const WITHOUT_A_TENANT = { owner: { off: [] }, scope: { caller: {} } } as unknown as Call;
const REPORT = idleReport('rolling_summary', 'request', []);
const OPTIONS = { force: false, dryRun: false, count: false, viewOnly: false };

/** A view whose memory is ordered with this result, and the answers it was ordered after. */
function viewWith(order: TextState | undefined, exceeded: MadeView['exceeded']) {
  const answers: unknown[] = [];
  const remember = async (answer: string | undefined) => {
    answers.push(answer);
    return order;
  };
  return { made: { view: undefined, report: REPORT, remember, exceeded }, answers };
}

async function refusalOf(order: TextState | undefined, dryRun = false) {
  const { made, answers } = viewWith(order, { tokens: 7_000, budget: 3_000 });
  const error: unknown = await passed(made, WITHOUT_A_TENANT, { ...OPTIONS, dryRun }).catch(
    (thrown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error('the view is not refused');
  expect([error.status, error.code]).toEqual([400, 'memory_budget_exceeded']);
  expect(error.message).toMatch(/have 7000 tokens, over the 3000 that/);
  return { message: error.message, answers };
}

describe('a view over its budget', () => {
  it.each<TextState>(['pending', 'ready'])(
    'may be asked for again where its memory is made (%s)',
    async (order) => {
      const { message, answers } = await refusalOf(order);

      expect(message).toMatch(
        /is being made: send the request again in some seconds, or .* force wait for it/,
      );
      expect(message).not.toContain('raise');
      expect(answers).toEqual([undefined]);
    },
  );

  it('is refused for as long as the summarizer rests after a failure', async () => {
    expect((await refusalOf('resting')).message).toMatch(
      /summarizer has failed: .* later, raise total_max_tokens/,
    );
  });

  it('is refused for good where no memory leaves less', async () => {
    expect((await refusalOf(undefined)).message).toMatch(/No memory is being made that leaves less: raise/);
  });

  it('orders nothing in a dry run', async () => {
    const { message, answers } = await refusalOf('pending', true);

    expect(answers).toEqual([]);
    expect(message).toContain('No memory is being made');
  });

  it('passes within it, and its conversation is remembered by whoever answers it', async () => {
    const { made, answers } = viewWith('pending', undefined);

    expect(await passed(made, WITHOUT_A_TENANT, OPTIONS)).toBe(made);
    expect(answers).toEqual([]);
  });
});
