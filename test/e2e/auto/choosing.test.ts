import { expect, it } from 'vitest';
import { rows } from '../../support/clients/agent-run.ts';
import { calls, result, user } from '../../support/conversations/chat.ts';
import { settingsOf } from '../../support/deployment/conversation-settings.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { dataOf } from '../../support/deployment/event-stream.ts';
import { untimed, type WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

// Its own summarizer, so that background work does not reach the upstream.
const deployment = deploy({ summarizer: true });
const byDefault = deploy({ vars: { DEFAULT_MEMORY_STRATEGY: 'auto' } });

const model = 'gpt-4.1';
const strategy = { mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 0 };
const settings = settingsOf(deployment);

/** A question and steps with about 700 tokens each; the model has not answered yet. */
const messages = [
  user('Go.'),
  ...[1, 2, 3, 4, 5].flatMap((step) => [
    calls([`call_${step}`, 'search']),
    result(`call_${step}`, rows(`choice ${step}`, 40)),
  ]),
];

overProtocols('the mode auto', [deployment, byDefault], (protocol) => {
  it.each<[string, object, Record<string, string>]>([
    ['a field of the body', { memory_strategy: strategy }, {}],
    ['a header', {}, { 'x-memory-strategy': JSON.stringify(strategy) }],
  ])('is chosen by %s, and acts', async (_, fields, headers) => {
    for (const stream of [false, true]) {
      const response = await deployment.chat({ model, ...fields, stream, messages }, headers);

      expect(response.status).toBe(200);
      expect(response.headers.get('x-memory-mode')).toBe('auto');
      expect(response.headers.get('x-memory-source')).toBe('request');
      expect(response.headers.get('x-memory-applied')).toBe('dedupe');
      expect(response.headers.get('x-memory-frontier')).toBe('moved');
      const { body } = deployment.lastChat();
      const asked = stream && protocol.name === 'chat' ? ['stream_options'] : [];
      expect(Object.keys(body)).toEqual([...asked, 'model', 'stream', 'messages']);
      expect(body.messages[2].content).toMatch(/^⟦removed: tool output for search \(call_id=call_1\); /);
    }
  });

  it.each<[string, object, Record<string, string>]>([
    ['body', { memory_strategy: 'auto' }, {}],
    ['header', {}, { 'x-memory-strategy': 'auto' }],
  ])('is chosen by its bare name in the %s', async (_, fields, headers) => {
    const response = await deployment.chat({ model, ...fields, memory_report: true, messages }, headers);

    const { memory } = (await response.json()) as { memory: object };
    // The budget is four fifths of the model's window.
    expect(memory).toMatchObject({ mode: 'auto', source: 'request', tokens: { budget: 838_061 } });
    expect(deployment.lastChat().body.messages).toEqual(messages);
  });

  it('is chosen by the setting of a conversation, in whole or by its name', async () => {
    const id = 'set to auto';
    const body = { model, conversation_id: id, messages };
    const set = await settings(id, { method: 'PATCH', body: strategy });
    const acting = await deployment.chat(body);
    await settings(id, { method: 'PATCH', body: { mode: 'auto' } });
    const idle = await deployment.chat(body);

    expect(await set.json()).toMatchObject({ memory_strategy: strategy });
    expect([acting, idle].map(({ headers }) => headers.get('x-memory-mode'))).toEqual(['auto', 'auto']);
    expect([acting, idle].map(({ headers }) => headers.get('x-memory-source'))).toEqual([
      'conversation',
      'conversation',
    ]);
    expect([acting, idle].map(({ headers }) => headers.get('x-memory-frontier'))).toEqual(['moved', 'none']);
  });

  it('gives way to the strategy of the request, and wins over an agent’s', async () => {
    const { headers } = await deployment.postTo('/agents/coding/v1/chat/completions', {
      model,
      memory_strategy: strategy,
      messages,
    });
    const id = 'auto by setting';
    await settings(id, { method: 'PATCH', body: strategy });
    const none = await deployment.chat({ model, conversation_id: id, memory_strategy: 'none', messages });

    expect([headers.get('x-memory-mode'), headers.get('x-memory-source')]).toEqual(['auto', 'request']);
    expect(none.headers.get('x-memory-mode')).toBe('none');
  });

  it("is chosen by the deployment's default", async () => {
    const response = await byDefault.chat({ model, messages });

    expect(response.headers.get('x-memory-mode')).toBe('auto');
    expect(response.headers.get('x-memory-source')).toBe('default');
  });

  it('says in a stream what it says in a whole answer', async () => {
    const body = { model, memory_strategy: strategy, memory_report: true, messages };
    const whole = (await (await deployment.chat(body)).json()) as WithMemory;
    const stream = await (await deployment.chat({ ...body, stream: true })).text();

    const last = JSON.parse(dataOf(stream).at(-2) ?? '') as WithMemory;
    expect(untimed(last.memory)).toEqual(untimed(whole.memory));
  });
});

overProtocols('a strategy of mode auto that cannot hold', [deployment, byDefault], () => {
  const auto = { mode: 'auto' };

  it.each<[string, object, string, string]>([
    ['a misspelt field', { compact_keep_step: 1 }, 'compact_keep_step', "'compact_keep_steps'"],
    ['a field without its first word', { min_tokens: 1 }, 'min_tokens', "'compact_min_tokens'"],
    ['a field that is half of another', { offload: true }, 'offload', "'compact_offload'"],
    ['another misspelt field', { offload_min_token: 9_000 }, 'offload_min_token', "'offload_min_tokens'"],
    ['a field of mode trim', { max_turns: 4 }, 'max_turns', "mode 'auto'"],
    ['a field of rolling memory', { rolling_window_size: 14 }, 'rolling_window_size', "mode 'auto'"],
    ['retrieval by whom it likes', { compact_retrieval: 'on' }, 'compact_retrieval', 'tool'],
    [
      'retrieval of what is not kept',
      { compact_retrieval: 'tool', compact_offload: false },
      'compact_retrieval',
      'compact_offload',
    ],
    ['an archive that is neither on nor off', { archive: 'yes' }, 'archive', 'true, false, or an object'],
    ['offloading what is small', { offload_min_tokens: 999 }, 'offload_min_tokens', '1000'],
    ['digests by whom it likes', { offload_digest: 'summarizer' }, 'offload_digest', '"model"'],
    ['digests that are on', { offload_digest: true }, 'offload_digest', '"preview"'],
    [
      'digests of what is not offloaded',
      { offload_digest: 'model', compact_offload: false },
      'offload_digest',
      'compact_offload',
    ],
    ['offloading nothing at all', { offload_min_tokens: 0 }, 'offload_min_tokens', '1000'],
    [
      'a soft budget over the hard one',
      { token_budget: 10, token_soft_budget: 11 },
      'token_soft_budget',
      '10',
    ],
    [
      'a soft share over the hard one',
      { token_remaining_pct: 0.5, token_soft_remaining_pct: 0.1 },
      'token_soft_remaining_pct',
      'hard budget',
    ],
    [
      'a soft budget over the share',
      { context_window_tokens: 1_000, token_remaining_pct: 0.5, token_soft_budget: 501 },
      'token_soft_budget',
      '500',
    ],
    [
      'more turns to keep than to have',
      { context_limit: 2, keep_last_n_turns: 3 },
      'keep_last_n_turns',
      '(2)',
    ],
    ['a watermark over 1', { low_watermark_pct: 1.1 }, 'low_watermark_pct', '1'],
    ['a negative reclaim', { min_reclaim_tokens: -1 }, 'min_reclaim_tokens', '0'],
    ['a preview that is a page', { compact_preview_tokens: 1_001 }, 'compact_preview_tokens', '1000'],
    ['a summary of no room', { summary_max_tokens: 63 }, 'summary_max_tokens', '64'],
    ['a summarizer that is not offered', { summarizer_model: 'gpt-4' }, 'summarizer_model', 'gpt-4.1-nano'],
    ['a frontier that does neither', { frontier: 'creep' }, 'frontier', 'jump'],
  ])('is refused for %s', async (_, fields, field, says) => {
    const memory_strategy = { ...auto, ...fields };
    const inBody = await deployment.chat({ model, memory_strategy, messages });
    const inHeader = await deployment.chat(
      { model, messages },
      { 'x-memory-strategy': JSON.stringify(memory_strategy) },
    );
    const set = await settings('refused', { method: 'PATCH', body: memory_strategy });

    for (const response of [inBody, inHeader]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({
        error: {
          message: expect.stringContaining(says),
          type: 'invalid_request_error',
          param: `memory_strategy.${field}`,
          code: 'invalid_memory_strategy',
        },
      });
    }
    // Faults that depend on the model's window are only found with a model.
    if (!field.includes('soft')) expect(set.status).toBe(400);
    expect(deployment.chats()).toEqual([]);
  });

  it.each<[string, object]>([
    ['a keep of nothing', { compact_keep: 0, compact_keep_steps: 0 }],
    ['a keep beyond the conversation', { compact_keep: 1_000, keep_last_n_turns: 1_000 }],
    ['a budget of nothing', { token_budget: 0, min_reclaim_tokens: 0 }],
    ['a limit of no turns', { context_limit: 0, keep_last_n_turns: 0 }],
    ['a trigger at every turn', { compact_trigger_turns: 0 }],
    ['a soft budget alone', { token_soft_budget: 100 }],
    ['sliding', { frontier: 'slide', token_budget: 100 }],
    ['retrieval that is off', { compact_retrieval: 'off', archive: false }],
    ['an archive', { archive: true }],
  ])('is not one for %s', async (_, fields) => {
    const response = await deployment.chat({ model, memory_strategy: { ...auto, ...fields }, messages });

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-mode')).toBe('auto');
  });
});
