/** Triggers that count steps and messages. */
import { expect, it } from 'vitest';
import { AgentCaller } from '../../support/clients/agent-caller.ts';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

overProtocols('a trigger that counts', deployment, () => {
  it.each(ofTurn(1, [false, true]))('compacts after a number of steps (stream: %s)', async (stream) => {
    const memory_strategy = { mode: 'compact', compact_trigger_steps: 5, compact_keep_steps: 2 };
    const caller = new AgentCaller(deployment, { memory_strategy, stream });
    const { memory, headers } = await caller.send(toolTalk('pears', 12));
    expect(headers.get('x-memory-trigger')).toBe('steps');
    expect(memory.applied_edits.map(({ type }) => type)).toEqual(['compact']);
  });

  it('summarizes from a number of messages on, and drops them in trim', async () => {
    const messages = toolTalk('plums', 10);
    for (const mode of ['summarize', 'trim']) {
      const memory_strategy = { mode, max_messages: 12, keep_last_n_turns: 2 };
      const { memory, headers } = await new AgentCaller(deployment, { memory_strategy }).send(messages);
      expect(headers.get('x-memory-trigger')).toBe('messages');
      expect(memory.applied_edits.map(({ type }) => type)).toEqual([mode]);
    }
  });

  it.each([
    ['compact_trigger_steps', { mode: 'compact', compact_trigger_steps: -1 }],
    ['compact_keep_steps', { mode: 'compact', compact_trigger_steps: 2, compact_keep_steps: 3 }],
    ['compact_keep_steps', { mode: 'auto', compact_trigger_steps: 2, compact_keep_steps: 3 }],
    ['max_messages', { mode: 'summarize', max_messages: 1.5 }],
    ['max_messages', { mode: 'compact', max_messages: 15 }],
  ])('refuses a bad %s', async (field, memory_strategy) => {
    const response = await deployment.chat({
      model: 'gpt-4.1',
      memory_strategy,
      messages: [{ role: 'user', content: 'hello' }],
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { param: string } };
    expect(error.param).toBe(`memory_strategy.${field}`);
  });
});
