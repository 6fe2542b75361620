/** Models of one's own: nobody has stated their prices or their windows. */
import { expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes, type Sent } from '../../support/clients/agent-caller.ts';
import { image } from '../../support/clients/agent-run.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const PLACEHOLDER_KEY = 'ollama';
const BUDGET = 5_000;

const deployment = deploy({
  summarizer: true,
  vars: {
    LOCAL_TENANT: 'me',
    MODEL_WINDOWS: '[{"family":"mine","window":32768}]',
  },
});

const callerOf = (model: string, memory_strategy: object, stream = false): AgentCaller =>
  new AgentCaller(deployment, { model, memory_strategy, stream }, PLACEHOLDER_KEY);

overProtocols('auto with a model whose price is not known', deployment, () => {
  let run = 0;
  const sizesOf = async (model: string, fields: object, stream = false): Promise<number[]> => {
    const messages = toolTalk(`quinces of run ${++run}`, 9);
    const strategy = { mode: 'auto', token_budget: BUDGET, ...fields };
    const all = await callerOf(model, strategy, stream).play(messages, requestsIn(messages));
    const views = ({ body }: Sent['seen']) => JSON.stringify(body.messages);
    expect(brokenPrefixes(all, views)).toEqual([]);
    return all.flatMap(({ memory }) => memory.tokens?.after ?? []);
  };

  it.each([
    [false, 'off'],
    [true, 'tool'],
  ] as const)(
    'keeps every view within its budget (stream: %s, compact_retrieval: %s)',
    async (stream, tool) => {
      const sizes = await sizesOf('qwen4-coder:30b', { compact_retrieval: tool }, stream);
      expect(sizes.length).toBeGreaterThan(10);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(BUDGET);
    },
  );
});

overProtocols('a model whose window is not known', deployment, () => {
  const never = { mode: 'compact', compact_trigger_turns: 100 };
  const warningsOf = async (model: string, fields: object, turns = 16): Promise<readonly string[]> => {
    const caller = callerOf(model, { ...never, ...fields });
    const { memory, headers } = await caller.send(toolTalk('sorbs', turns));
    expect(headers.get('x-memory-warning')).toBe(memory.warnings.join(',') || null);
    return memory.warnings;
  };

  it.each([
    ['no budget', {}],
    ['a budget that is never reached', { token_budget: 100_000 }],
    ['a budget that is', { token_budget: 14_000 }],
  ])('is reported with %s', async (_, fields) => {
    expect(await warningsOf('qwen4-coder:30b', fields)).toEqual(['window_unknown']);
  });

  it('is not reported where the window is, or where any window would do', async () => {
    expect(await warningsOf('qwen4-coder:30b', { context_window_tokens: 32_768 })).toEqual([]);
    expect(await warningsOf('mine', {})).toEqual([]);
    expect(await warningsOf('gpt-4.1', {})).toEqual([]);
    expect(await warningsOf('qwen4-coder:30b', {}, 2)).toEqual([]);
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, image('a sorb', 66_000)] }];
    const { memory } = await callerOf('qwen4-coder:30b', never).send(messages);
    expect(memory.warnings).toEqual([]);
  });
});
