import { describe, expect, it } from 'vitest';
import { AgentCaller, type Sent, wrongReport } from '../../support/clients/agent-caller.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { prepared } from '../../support/deployment/prepared.ts';
import { conversation, summarize, tokensIn } from '../../support/deployment/summarizer.ts';

const narrow = deploy({ summarizer: true, vars: { SUMMARIZER_WINDOW_TOKENS: '3000' } });
/** The upstream is the summarizer too. It answers other requests in the same way. */
const own = deploy({ upstream: { chat: summarize } });

const strategy = {
  mode: 'auto' as const,
  token_budget: 8_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
};

const isSummary = (body: { messages: { content: unknown }[] }): boolean =>
  String(body.messages.at(-1)?.content).includes('<transcript-');

describe('a summarizer with a small window', () => {
  it('reads what the first move of mode auto needs in parts, each message once', async () => {
    const memory_strategy = { ...strategy, token_budget: 4_000 };
    const messages = conversation('apples', 8);
    const sent = await new AgentCaller(narrow, { memory_strategy }).send(messages);

    const { readings } = narrow.summarizer;
    expect(readings.length).toBeGreaterThan(1);
    expect(sent.memory.summary?.status).toBe('completed');
    const [, last = 0] = sent.memory.summary?.covers ?? [];
    const read = readings.flatMap(({ messages }) => messages.map(({ index }) => index));
    expect([...new Set(read)]).toEqual(Array.from({ length: last }, (_, at) => at + 1));
    expect(tokensIn(sent.seen.rawBody.toString())).toEqual(readings.map(({ token }) => token));
    expect(wrongReport(sent)).toEqual([]);
  });

  it('reads what is prepared in parts, too, as placeholders', async () => {
    const fields = { memory_strategy: strategy, conversation_id: 'narrow' };
    const messages = toolTalk('pears', 22);
    const all: Sent[] = [];
    for (const length of requestsIn(messages)) {
      const sent = await new AgentCaller(narrow, fields).send(messages.slice(0, length));
      all.push(sent);
      await prepared(narrow, sent, 'narrow', strategy);
    }

    const { readings } = narrow.summarizer;
    const outputs = readings.flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool'));
    expect(outputs.length).toBeGreaterThan(4);
    for (const { text } of outputs) expect(text).toMatch(/^⟦removed: tool output for search/);
    const summarized = all.filter(({ memory }) => memory.summary);
    expect(summarized.length).toBeGreaterThan(2);
    for (const { memory } of summarized)
      expect(memory.summary).toMatchObject({ status: 'completed', usage: { total_tokens: 0 } });
    expect(all.flatMap(wrongReport)).toEqual([]);
  });
});

describe('without a summarizer of the deployment, mode auto', () => {
  it("asks the request's own upstream, with the caller's key, also in the background", async () => {
    const fields = { memory_strategy: strategy, conversation_id: 'own' };
    const messages = toolTalk('figs', 22);
    const all: Sent[] = [];
    for (const length of requestsIn(messages)) {
      const params = {
        model: 'gpt-4.1',
        ...fields,
        memory_report: true,
        messages: messages.slice(0, length),
      };
      const response = await own.chat(params);
      const { memory } = (await response.json()) as Pick<Sent, 'memory'>;
      const seen = own.chats().findLast(({ body }) => !isSummary(body));
      if (!seen) throw new Error('the upstream was asked for no completion');
      const view = seen.body.messages;
      const sent: Sent = {
        memory,
        seen,
        view,
        messages: params.messages,
        headers: response.headers,
        answer: '',
      };
      all.push(sent);
      await prepared(own, sent, 'own', strategy);
    }

    const summaries = own.chats().filter(({ body }) => isSummary(body));
    expect(summaries.length).toBeGreaterThan(1);
    for (const { headers, body } of summaries) {
      expect(headers.authorization).toBe(`Bearer ${KEY}`);
      expect(body.model).toBe('gpt-4.1');
    }
    const summarized = all.filter(({ memory }) => memory.summary);
    expect(summarized.length).toBeGreaterThan(2);
    for (const { memory } of summarized) expect(memory.summary?.status).toBe('completed');
    expect(own.worker.output()).not.toContain(KEY);
  });
});
