/** Budgets through the client. `unit/memory/modes/auto-budgets.test.ts` has their rules. */
import { expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes } from '../../support/clients/agent-caller.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

overProtocols('below its budget, mode auto', deployment, (protocol) => {
  const strategy = { mode: 'auto', token_budget: 100_000 };

  it.each(ofTurn(1, [false, true]))(
    'leaves the body unchanged but for the usage asked of chat streams, and counts nothing (stream: %s)',
    async (stream) => {
      const elements = protocol.elements(toolTalk('apples', 5));
      const messages = JSON.stringify(elements).replaceAll('","', '" , "');
      const body = `{ "model":"gpt-4.1", "metadata":{"n":12345678901234567890},"stream":${stream},\n"top_p":1.0, "messages":${messages} }`;

      const response = await deployment.chat(body, { 'x-memory-strategy': JSON.stringify(strategy) });

      expect(response.status).toBe(200);
      const asksUsage = stream && protocol.name === 'chat';
      const start = asksUsage ? '{"stream_options":{"include_usage":true},' : '{';
      expect(deployment.lastChat().rawBody.toString()).toBe(protocol.text(body).replace('{', start));
      expect([...response.headers.keys()].filter((name) => name.startsWith('x-memory-tokens'))).toEqual([]);
      expect(response.headers.get('x-memory-applied')).toBe('none');
      expect(response.headers.get('x-memory-trigger')).toBe('none');
      expect(response.headers.get('x-memory-frontier')).toBe('none');
      expect(response.headers.get('x-memory-refs')).toBe('0');
      expect(response.headers.has('x-memory-warning')).toBe(false);
    },
  );
});

overProtocols('what cannot be made to fit its budget', deployment, () => {
  const huge = { role: 'user', content: rows('a question', 1_500) };

  it.each(ofTurn(0, [false, true]))('is sent all the same, with a warning (stream: %s)', async (stream) => {
    const memory_strategy = { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0 };
    const caller = new AgentCaller(deployment, { memory_strategy, stream });

    const { view, memory, headers } = await caller.send([huge]);

    expect(view).toEqual([huge]);
    expect(memory.warnings).toEqual(['over_budget']);
    expect(headers.get('x-memory-applied')).toBe('none');
  });
});

overProtocols('a limit of turns', deployment, () => {
  it('has turns summarized from context_limit on', async () => {
    const memory_strategy = {
      mode: 'auto',
      min_reclaim_tokens: 0,
      summary_max_tokens: 300,
      context_limit: 5,
    };
    const caller = new AgentCaller(deployment, { memory_strategy });
    const all = await caller.play(toolTalk('quinces', 6), [16, 18, 20]);

    expect(all.map(({ memory }) => memory.frontier.moved)).toEqual([false, true, false]);
    expect(all[1]?.memory).toMatchObject({
      trigger: 'turns',
      summary: { status: 'completed', covers: [1, 12] },
    });
    expect(brokenPrefixes(all)).toEqual([]);
  });
});

overProtocols('a request without a budget and a trigger', deployment, () => {
  const messages = toolTalk('medlars', 12);
  const ask = async (memory_strategy: object) => {
    const { memory, headers } = await new AgentCaller(deployment, { memory_strategy }).send(messages);
    expect(headers.get('x-memory-warning')).toBe(memory.warnings.join(',') || null);
    return memory;
  };

  it.each([
    ['auto', { context_limit: 100 }],
    ['compact', { compact_trigger_turns: 100 }],
    ['trim', { max_turns: 100 }],
    ['summarize', { context_limit: 100 }],
  ])('learns that %s waits for the window', async (mode, trigger) => {
    expect(await ask({ mode })).toMatchObject({ warnings: ['idle'], applied_edits: [] });
    expect((await ask({ mode, token_budget: 100_000 })).warnings).toEqual([]);
    expect((await ask({ mode, ...trigger })).warnings).toEqual([]);
  });

  it.each(['auto', 'compact'])('does not hear that %s waits once the window is near', async (mode) => {
    const counted = await ask({ mode, token_budget: 100_000, min_reclaim_tokens: 1_000_000 });
    const context_window_tokens = Math.ceil((counted.tokens?.before ?? 0) / 0.85);
    const edited = await ask({ mode, context_window_tokens });

    expect(edited.applied_edits).not.toEqual([]);
    expect(edited.warnings).toEqual([]);
  });
});
