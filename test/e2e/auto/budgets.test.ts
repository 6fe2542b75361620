import { expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes, type Sent, wrongReport } from '../../support/clients/agent-caller.ts';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

overProtocols('below its budget, mode auto', (protocol) => {
  deployment.over(protocol);
  const strategy = { mode: 'auto', token_budget: 100_000 };

  it.each([false, true])(
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

  it('does not act on a repeated or huge output either', async () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'search', arguments: '{}' } });
    const output = rows('pears', 600);
    const messages = [1, 2, 3, 4, 5, 6].flatMap((at): Message[] => [
      { role: 'user', content: `Question ${at}` },
      { role: 'assistant', content: null, tool_calls: [call(`call_${at}`)] },
      { role: 'tool', tool_call_id: `call_${at}`, content: output },
    ]);

    const { view, memory } = await new AgentCaller(deployment, { memory_strategy: strategy }).send(messages);

    expect(view).toEqual(messages);
    expect(memory).toMatchObject({ applied_edits: [], refs: [], frontier: { moved: false }, warnings: [] });
  });
});

overProtocols('what can not be made to fit', (protocol) => {
  deployment.over(protocol);
  const huge = { role: 'user', content: rows('a question', 1_500) };

  it.each<[string, object]>([
    ['its budget', { token_budget: 4_000 }],
    ['its budget, and moves cost nothing', { token_budget: 4_000, min_reclaim_tokens: 0 }],
    ['the window', { context_window_tokens: 8_000 }],
    ['a budget of nothing', { token_budget: 0, min_reclaim_tokens: 0 }],
  ])('is sent all the same, with a warning: one message over %s', async (_, fields) => {
    for (const stream of [false, true]) {
      const caller = new AgentCaller(deployment, { memory_strategy: { mode: 'auto', ...fields }, stream });

      const { view, memory, headers } = await caller.send([huge]);

      expect(view).toEqual([huge]);
      expect(memory.warnings).toEqual(['over_budget']);
      expect(headers.get('x-memory-applied')).toBe('none');
    }
  });

  it('is sent with all before it made as small as it gets', async () => {
    const messages = [...toolTalk('plums', 10).slice(0, -1), huge];
    const memory_strategy = {
      mode: 'auto',
      token_budget: 4_000,
      min_reclaim_tokens: 0,
      summary_max_tokens: 300,
    };

    const sent = await new AgentCaller(deployment, { memory_strategy }).send(messages);

    expect(sent.view.at(-1)).toEqual(huge);
    expect(sent.memory.warnings).toContain('over_budget');
    expect(sent.memory.tokens?.after).toBeLessThan((sent.memory.tokens?.before ?? 0) / 1.2);
    expect(wrongReport(sent)).toEqual([]);
  });

  it('is sent with a huge fresh output in full: the model has not seen it', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } };
    const fresh = { role: 'tool', tool_call_id: 'call_1', content: rows('fresh', 2_000) };
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      fresh,
    ];
    const memory_strategy = { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0 };

    const { view, memory } = await new AgentCaller(deployment, { memory_strategy }).send(messages);

    expect(view).toEqual(messages);
    expect(memory.warnings).toEqual(['over_budget']);
  });
});

overProtocols('a soft budget', (protocol) => {
  deployment.over(protocol);
  it('has only what can be fetched again taken away', async () => {
    const messages = toolTalk('dates', 24);
    const memory_strategy = {
      mode: 'auto',
      token_soft_budget: 6_000,
      token_budget: 1_000_000,
      min_reclaim_tokens: 0,
      summary_max_tokens: 300,
    };

    const all = await new AgentCaller(deployment, { memory_strategy }).play(messages, requestsIn(messages));

    const applied = new Set(all.map(({ headers }) => headers.get('x-memory-applied')));
    expect(applied).toEqual(new Set(['none', 'compact']));
    expect(all.at(-1)?.headers.get('x-memory-trigger')).toBe('token_soft_budget');
    expect(deployment.summarizer.requests).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
    for (const sent of all) expect(sent.view).toHaveLength(sent.messages.length);
  });
});

overProtocols('a limit of turns', (protocol) => {
  deployment.over(protocol);
  const messages = toolTalk('quinces', 16);
  const settings = { mode: 'auto', min_reclaim_tokens: 0, summary_max_tokens: 300 };
  let played: Promise<Sent[]> | undefined;
  const play = (): Promise<Sent[]> => {
    const caller = new AgentCaller(deployment, { memory_strategy: { ...settings, context_limit: 5 } });
    played ??= caller.play(messages, requestsIn(messages));
    return played;
  };

  it('summarizes from context_limit on', async () => {
    const all = await play();

    const first = all.find(({ memory }) => memory.frontier.moved);
    expect(first?.messages).toHaveLength(4 * 5 - 2);
    expect(first?.memory).toMatchObject({
      trigger: 'turns',
      summary: { status: 'completed', covers: [1, 12] },
    });
    expect(brokenPrefixes(all)).toEqual([]);
  });

  it('summarizes at each move, and trims nothing that fits the budget', async () => {
    const applied = (await play()).flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type));

    expect(applied).toContain('summarize');
    expect(applied).not.toContain('trim');
  });
});

overProtocols('a request without a limit for its answer', (protocol) => {
  deployment.over(protocol);
  const messages = toolTalk('medlars', 12);
  const tokensIn = async (): Promise<number> => {
    const memory_strategy = { mode: 'compact', token_budget: 0, min_reclaim_tokens: 1_000_000 };
    const { memory } = await new AgentCaller(deployment, { memory_strategy }).send(messages);
    return memory.tokens?.before ?? 0;
  };

  it.each([false, true])('leaves room for the longest one (stream: %s)', async (stream) => {
    const window = Math.ceil((await tokensIn()) / 0.85);
    const memory_strategy = { mode: 'compact', context_window_tokens: window, token_remaining_pct: 0 };
    const caller = new AgentCaller(deployment, { memory_strategy, stream });
    const { memory } = await caller.send(messages);

    expect(memory.applied_edits).toMatchObject([{ type: 'compact' }]);
    expect(memory.tokens).toMatchObject({ window, budget: window - Math.floor(window / 5) });
  });

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
  ])('learns that %s waits for the window without a budget and a trigger', async (mode, trigger) => {
    expect(await ask({ mode })).toMatchObject({ warnings: ['idle'], applied_edits: [] });
    expect((await ask({ mode, token_budget: 100_000 })).warnings).toEqual([]);
    expect((await ask({ mode, ...trigger })).warnings).toEqual([]);
  });

  it.each(['auto', 'compact'])('does not hear that %s waits once the window is near', async (mode) => {
    const edited = await ask({ mode, context_window_tokens: Math.ceil((await tokensIn()) / 0.85) });

    expect(edited.applied_edits).not.toEqual([]);
    expect(edited.warnings).toEqual([]);
  });

  it('learns that its soft budget can not act', async () => {
    const memory_strategy = { mode: 'summarize', token_soft_budget: 10 };
    const { memory, headers } = await new AgentCaller(deployment, { memory_strategy }).send(messages);

    expect(memory.warnings).toEqual(['soft_budget_idle']);
    expect(headers.get('x-memory-warning')).toBe('soft_budget_idle');
  });
});
