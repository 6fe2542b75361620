/** What Anthropic's API says of a model's window, and the views after it. */
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { searchTurns } from '../../support/clients/agent-run.ts';
import { eventsIn } from '../../support/conversations/message-stream.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';

type Json = Record<string, unknown>;

const deployment = deployMessages();

const CONVERSATION = searchTurns('pears', 12);

const asked = (question: string): Json => ({
  tools: [{ name: 'search', description: 'Searches.', input_schema: { type: 'object' } }],
  memory_strategy: { mode: 'auto' },
  messages: [...CONVERSATION, { role: 'user', content: question }],
});

/** A limit is learned of a tenant. */
const keyOf = (name: string) => ({ 'x-api-key': `sk-ant-the-key-of-a-full-window-${name}` });

describe.each(ofTurn(1, [true, false]))('an answer that fills the window (stream: %s)', (stream) => {
  const name = `window-${stream}`;

  it('goes out unchanged, is reported, and leaves the next view with room for a whole one', async () => {
    const headers = keyOf(name);
    deployment.upstream.next({
      type: 'answer',
      content: 'They weigh',
      stopReason: 'model_context_window_exceeded',
    });
    const first = { ...asked('And now?'), conversation_id: name, memory_report: true, stream };
    const response = await deployment.post(first, headers);
    const text = await response.text();
    const [last] = (stream ? eventsIn(text) : [JSON.parse(text)]).filter((event) => event.memory);
    expect({ ...last, ...(last?.delta as Json) }.stop_reason).toBe('model_context_window_exceeded');
    expect(deployment.upstream.messages()).toHaveLength(1);
    await until('the event is there', async () => {
      const listed = await deployment.fetch(`/v1/conversations/${name}/requests`, { headers });
      const { data } = (await listed.json()) as { data: RunEvent[] };
      return data[0]?.ended === 'window_full';
    });

    const before = last?.memory as Report;
    const { memory } = await deployment.ask(asked('And in all?'), headers);
    expect(memory.warnings).toContain('limit_learned');
    expect(memory.tokens?.after).toBeLessThan(before.tokens?.after ?? 0);
    expect(deployment.upstream.messages()).toHaveLength(2);
  });
});

it('is believed where the API refuses a prompt for it, in the request and in those after it', async () => {
  const window = 8_000;
  const headers = keyOf('refusal');
  deployment.upstream.next({ type: 'window', tokens: window });
  expect((await deployment.ask(asked('And now?'), headers)).memory.trigger).toBe('upstream_limit');
  expect(deployment.upstream.messages()).toHaveLength(2);
  deployment.upstream.next({ type: 'window', tokens: window });
  const { memory } = await deployment.ask(asked('And in all?'), headers);
  expect(memory.warnings).toContain('limit_learned');
  expect(deployment.upstream.messages()).toHaveLength(3);
});
