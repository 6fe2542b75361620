/** A model whose price has a step, and a window that only the deployer knows. */
import { expect, it } from 'vitest';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { calls, result } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const STEP = { above: 6_000, input: 2, output: 1.5 };
const PRICE = { family: 'my-model', fresh: 2, cached: 0.2, written: 2.5, output: 10, step: STEP };
/** An agent's steps of about 1,050 tokens each. */
function agentSteps(count: number): Message[] {
  const steps = Array.from({ length: count }, (_, at): Message[] => [
    calls([`call_${at}`, 'search', JSON.stringify({ at })]),
    result(`call_${at}`, rows(`apples ${at}`, 60)),
  ]);
  return [{ role: 'user', content: 'Weigh all apples.' }, ...steps.flat()];
}

const deployment = deploy({
  vars: {
    MODEL_PRICES: JSON.stringify([PRICE]),
    MODEL_WINDOWS: JSON.stringify([
      { family: 'my-', window: 1_000_000 },
      { family: 'my-small', window: 5_000, output: 500 },
    ]),
  },
});

overProtocols('a model with a step in its price', deployment, () => {
  const messages = agentSteps(11);
  const tokens = async (end: number, fields: object, stream = false, model = 'my-model-1') => {
    const memory_strategy = { mode: 'auto', ...fields };
    const request = { model, stream, memory_strategy, messages: messages.slice(0, end), memory_report: true };
    const { memory } = await deployment.ask(request);
    return memory.tokens ?? { before: 0, after: 0, budget: null };
  };

  it.each(ofTurn(0, [false, true]))('gets no request over it by default (stream: %s)', async (stream) => {
    let longest = 0;
    for (let end = 1; end <= messages.length; end += 2) {
      const { before, after, budget } = await tokens(end, {}, stream);
      longest = Math.max(longest, before);
      expect(after).toBeLessThanOrEqual(STEP.above);
      expect(budget).toBe(0.8 * STEP.above);
    }
    expect(longest).toBeGreaterThan(1.5 * STEP.above);
  });

  it('gets what the caller says where it names a budget of its own', async () => {
    for (const fields of [{ token_budget: 500_000 }, { token_remaining_pct: 0.2 }]) {
      const { before, after } = await tokens(messages.length, fields);
      expect(after).toBe(before);
    }
  });

  it('is planned for the window that the deployer says, of the longest family', async () => {
    const { budget } = await tokens(messages.length, {}, false, 'me/my-small-2');
    expect(budget).toBe(0.8 * 5_000);
  });
});
