/** Callers that say what an upstream does with thinking after a changed prefix. */
import { expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { BINDING_CONTROLS, blocksIn, type Dialect } from '../../../tools/upstream/bound-thinking.ts';
import { type SigningModel, signingModel } from '../../../tools/upstream/signing-model.ts';
import { ThinkingAgent, workingModel } from '../../support/clients/thinking-agent.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';

const STEPS = 2;

let model: SigningModel;
const behaviour: Behaviour = (...given) => {
  if (typeof model.behaviour === 'function') model.behaviour(...given);
};
const deployment = deploy({ upstream: { strict: false, chat: behaviour } });

const DIALECTS: readonly Dialect[] = ['openrouter', 'litellm', 'responses'];
const FORMS = [...DIALECTS, ...DIALECTS].map((dialect, at) => ({ dialect, stream: at % 2 === 0 }));
const HEADERS = { 'anthropic-beta': `context-1m-2025-08-07,${BINDING_CONTROLS}` };
const thinkingThat = (prefix_mismatch_behavior: string) => ({
  type: 'enabled',
  budget_tokens: 2_048,
  block_binding: { prefix_mismatch_behavior },
});

let conversations = 0;

/** @param defaultHeaders of every request */
function agentOf(dialect: Dialect, stream: boolean, fields: object, defaultHeaders = HEADERS) {
  model = signingModel({ dialect, answer: workingModel(STEPS) });
  const named = { model: 'claude-fable-5.2', conversation_id: `controller-${++conversations}`, user: 'u' };
  const client = deployment.client({ defaultHeaders });
  return new ThinkingAgent(client, { dialect, stream, fields: { ...named, ...fields } });
}

const sent = () => deployment.upstream.requests.filter(({ path }) => /completions|responses/.test(path));

/** Changes what precedes all thinking, as a caller may. */
function rewrite({ array }: ThinkingAgent): void {
  const index = array.findIndex(({ role }) => role === 'user');
  array[index] = { role: 'user', content: 'What does number 1 weigh, in grams?' };
}

const STRATEGIES: [mode: string, memory_strategy: unknown][] = [
  ['none', 'none'],
  ['auto', { mode: 'auto', token_budget: 100_000 }],
  ['compact', { mode: 'compact', token_budget: 3_000 }],
  ['trim', { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 }],
  ['observed', { mode: 'compact', token_budget: 3_000, observe: true }],
];

inTurn(
  FORMS,
  ({ dialect, stream }) => `the controls of bound thinking by ${dialect} (stream: ${stream})`,
  ({ dialect, stream }) => {
    it.each(STRATEGIES)('are sent unchanged in mode %s', async (_, memory_strategy) => {
      const thinking = thinkingThat('drop_block');
      const agent = agentOf(dialect, stream, { memory_strategy, thinking });
      await agent.turn('What does number 1 weigh?');
      await agent.turn('What does number 2 weigh?');

      expect(sent()).toHaveLength(2 * (STEPS + 1));
      for (const { body, headers } of sent()) {
        expect(body.thinking).toEqual(thinking);
        expect(headers['anthropic-beta']).toBe(HEADERS['anthropic-beta']);
      }
    });

    it('let an upstream drop what a caller has made invalid, which it is sent and asked once', async () => {
      const fields = { memory_strategy: { mode: 'compact', token_budget: 100_000 } };
      const agent = agentOf(dialect, stream, { ...fields, thinking: thinkingThat('drop_block') });
      await agent.turn('What does number 1 weigh?');
      rewrite(agent);
      const [first] = await agent.turn('What does number 2 weigh?');

      expect(model.refused).toBeGreaterThan(0);
      expect(sent()).toHaveLength(2 * (STEPS + 1));
      expect(first?.memory.warnings).not.toContain('thinking_dropped');
      expect(blocksIn(sent().at(-1)?.body ?? {})).toHaveLength(2 * STEPS + 1);
    });

    it('leave it to mode none to refuse, which never asks again', async () => {
      const agent = agentOf(dialect, stream, { memory_strategy: 'none', thinking: thinkingThat('error') });
      await agent.turn('What does number 1 weigh?');
      const asked = sent().length;
      rewrite(agent);
      for (const _ of [1, 2])
        await expect(agent.turn('What does number 2 weigh?')).rejects.toThrow(/400|Provider/);

      expect(sent()).toHaveLength(asked + 2);
      expect(blocksIn(sent().at(-1)?.body ?? {}).length).toBeGreaterThan(0);
    });
  },
);
