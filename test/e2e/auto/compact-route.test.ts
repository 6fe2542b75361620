import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { AgentCaller, markersIn, originalsOf, refsIn, tokensOf } from '../../support/clients/agent-caller.ts';
import { agentRun, type Message, tools } from '../../support/clients/agent-run.ts';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { tokensIn, turn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const model = 'gpt-4.1';
const strategy = {
  mode: 'auto',
  token_budget: 8_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
  compact_retrieval: 'off',
};

interface Compaction {
  object: string;
  messages: Message[];
  memory: Report;
}

async function compact(messages: Message[], fields: object = {}, headers = {}): Promise<Compaction> {
  const response = await deployment.fetch('/v1/compact', {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, tools, memory_strategy: strategy, ...fields, messages }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Compaction;
}

const withoutMarks = (messages: Message[]): Message[] =>
  messages.map(({ compacted, ...message }) => message as Message);

/** Fetches the content of each placeholder in a view, and compares it with the caller's array. */
async function expectKept(view: Message[], messages: Message[]): Promise<void> {
  for (const marker of markersIn(view)) {
    const text = await (await deployment.fetch(`/v1/refs/${marker.ref}`)).text();
    expect(originalsOf(messages, marker, (part) => part)).toContain(text);
  }
  for (const ref of refsIn(view)) expect((await deployment.fetch(`/v1/refs/${ref}`)).status).toBe(200);
}

describe('POST /v1/compact in mode auto', () => {
  it('gives the view that a completion is sent with, marks what it changed, and asks the upstream for nothing', async () => {
    const messages = agentRun('apples', 7);
    const { object, messages: view, memory } = await compact(messages);
    expect(deployment.upstream.requests.filter(({ path }) => !path.endsWith('/models'))).toEqual([]);
    const sent = await new AgentCaller(deployment, { memory_strategy: strategy }).send(messages);

    expect(object).toBe('memory.compaction');
    expect(sent.view).toEqual(withoutMarks(view));
    expect(memory.applied_edits).toEqual(sent.memory.applied_edits);
    const own = new Set(messages.map((message) => JSON.stringify(message)));
    for (const { compacted, ...message } of view)
      expect(compacted).toBe(own.has(JSON.stringify(message)) ? undefined : true);
    await expectKept(withoutMarks(view), messages);
  });

  it('force edits what no trigger would', async () => {
    const messages = toolTalk('pears', 6);
    const memory_strategy = {
      mode: 'auto',
      summary_max_tokens: 300,
      summary_focus: 'the heaviest',
      compact_retrieval: 'off',
    };
    const idle = await compact(messages, { memory_strategy });
    const forced = await compact(messages, { memory_strategy, force: true });

    expect(idle.messages).toEqual(messages);
    expect(idle.memory).toMatchObject({ trigger: 'none', applied_edits: [] });
    expect(forced.memory).toMatchObject({ trigger: 'force', frontier: { moved: true }, warnings: [] });
    expect(forced.memory.applied_edits.map(({ type }) => type)).toContain('summarize');
    expect(deployment.summarizer.readings.map(({ focus }) => focus)).toEqual(['the heaviest']);
    expect(forced.messages.slice(-1)).toEqual(messages.slice(-1));
    await expectKept(forced.messages, messages);
  });

  it('force trims nothing that fits the budget', async () => {
    const { memory } = await compact(toolTalk('grapes', 14), { force: true });

    expect(memory.tokens?.after).toBeLessThan(8_000);
    expect(memory.applied_edits.map(({ type }) => type)).not.toContain('trim');
  });

  it('dry_run asks nobody and stores nothing, and says what would be', async () => {
    const headers = { authorization: 'Bearer sk-the-key-of-a-rehearsing-caller' };
    const messages = toolTalk('plums', 14);
    const fields = { conversation_id: 'a rehearsal' };
    const { memory, messages: view } = await compact(messages, { ...fields, dry_run: true }, headers);

    expect(deployment.summarizer.requests).toEqual([]);
    expect(memory.summary).toMatchObject({ status: 'pending' });
    expect(memory.summary).not.toHaveProperty('ref');
    expect(memory.warnings).toContain('summary_pending');
    const kept = await deployment.fetch('/v1/conversations/a%20rehearsal/memory', { headers });
    expect(kept.status).toBe(404);
    const listed = await (await deployment.fetch('/v1/refs', { headers })).json();
    expect(listed).toMatchObject({ data: [] });
    expect(violations({ model, tools, messages: withoutMarks(view) })).toEqual([]);
  });

  it('dry_run shows the summary that there is, and the refs that would be', async () => {
    const messages = toolTalk('cherries', 14);
    const made = await compact(messages, { conversation_id: 'rehearsed' });
    const asked = deployment.summarizer.requests.length;

    const shown = await compact(messages, { conversation_id: 'rehearsed', dry_run: true });

    expect(made.memory.summary?.status).toBe('completed');
    expect(shown.messages).toEqual(made.messages);
    expect(deployment.summarizer.requests).toHaveLength(asked);
  });

  it('format conversation_memory gives plain turns beside the summary', async () => {
    const messages = toolTalk('figs', 14);
    const { memory } = await compact(messages);
    const answer = (await compact(messages, { format: 'conversation_memory' })) as unknown as {
      recent_turns: { user: string; assistant: string | null }[];
      summary: string;
    };

    expect(answer).not.toHaveProperty('messages');
    expect(answer.summary).toContain(memory.summary?.text);
    expect(answer.recent_turns.at(-1)).toEqual({
      user: messages.at(-1)?.content,
      assistant: null,
      // When the first of the two has asked for its view.
      ts: expect.any(Number),
      artifacts: [],
      digest: { tools: [], observations_summary: null, reasoning_summary: null },
    });
  });
});

describe('a view of mode auto that its caller takes for its own array', () => {
  it.each([
    ['of a run', agentRun('dates')],
    ['of a talk', toolTalk('limes', 14)],
  ])('%s is sent as it is, without its marks', async (_, messages) => {
    const { messages: view } = await compact(messages);
    expect(view.some(({ compacted }) => compacted)).toBe(true);
    const asked = deployment.summarizer.requests.length;

    const sent = await new AgentCaller(deployment, { memory_strategy: strategy }).send(view);
    const none = await new AgentCaller(deployment, { memory_strategy: 'none' }).send(view);

    expect(sent.view).toEqual(withoutMarks(view));
    expect(sent.headers.get('x-memory-applied')).toBe('none');
    expect(sent.headers.get('x-memory-frontier')).toBe('none');
    expect(none.view).toEqual(withoutMarks(view));
    expect(deployment.summarizer.requests).toHaveLength(asked);
    await expectKept(sent.view, messages);
  });

  it('keeps its placeholders when it is compacted again by force', async () => {
    const messages = agentRun('kilns').slice(0, 60);
    // Only reversible edits, of everything that can be edited: first all at once, then at each
    // request.
    const reversible = {
      mode: 'auto',
      low_watermark_pct: 0,
      // The tail has this many steps, whatever the budget leaves room for.
      compact_keep_steps: 3,
      min_reclaim_tokens: 0,
      compact_retrieval: 'off',
    };
    const token_soft_budget = tokensOf({ model, tools, messages }) - 1;
    const { messages: view } = await compact(messages, {
      memory_strategy: { ...reversible, token_soft_budget },
    });

    const again = await compact(view, {
      memory_strategy: { ...reversible, token_soft_budget: 100 },
      force: true,
    });

    const reasons = new Set(markersIn(view).map(({ reason }) => reason));
    expect(reasons).toEqual(new Set(['context_compaction', 'offloaded', 'duplicate', 'superseded']));
    expect(again.messages).toEqual(view);
    expect(again.memory.refs).toEqual([]);
  });

  it('gives the next summary its base', async () => {
    const first = toolTalk('quinces', 14);
    let messages = first;
    for (let round = 1; round <= 4; round++) {
      const { messages: view } = await compact(messages);
      const fresh = toolTalk(`quinces ${round}`, 8).slice(1);
      messages = [...view, ...turn('quinces', 90 + round).slice(1), ...fresh];
    }

    const { readings } = deployment.summarizer;
    expect(readings.length).toBeGreaterThan(2);
    expect(readings.map(({ after }) => after)).toEqual(
      readings.map((_, at) => readings.slice(0, at).map(({ token }) => token)),
    );
    const texts = readings.flatMap(({ messages: read }) => read.map(({ text }) => text));
    expect(texts.filter((text) => text.includes('session_summary'))).toEqual([]);
    expect(new Set(texts).size).toBe(texts.length);
    expect(tokensIn(JSON.stringify(messages.slice(0, 4)))).toEqual(readings.map(({ token }) => token));
    await expectKept(messages, [...first, ...messages]);
  });

  it('of another tenant is ordinary text', async () => {
    const { messages: view } = await compact(toolTalk('sloes', 14));
    const other = { authorization: 'Bearer sk-the-key-of-another-caller-0001' };

    const again = await compact(view, { force: true }, other);

    const asked = deployment.summarizer.lastReading();
    expect(asked.prior).toBe('');
    expect(again.memory.summary?.status).toBe('completed');
  });
});
