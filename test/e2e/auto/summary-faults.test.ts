import { describe, expect, it } from 'vitest';
import {
  AgentCaller,
  brokenPrefixes,
  refsIn,
  type Sent,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { type Deployment, deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  conversation,
  HASTY,
  type Manner,
  PATIENT,
  readSummary,
  tokensIn,
  UNWANTED,
} from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true, limits: { summaryBackoffMs: 20 } });

const strategy = {
  mode: 'auto' as const,
  token_budget: 4_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
};

/**
 * An array at which the frontier moves for the first time. It needs a summary, since it has nothing
 * to replace by placeholders.
 */
const needy = (topic: string) => conversation(topic, 7);

const summaryIn = ({ view }: Sent) => readSummary(view[2]?.content);

function expectDigest(sent: Sent, topic: string): void {
  const { text } = summaryIn(sent);
  expect(text).toContain(`Question 1 about ${topic}`);
  expect(tokensIn(text)).toEqual([]);
  expect(sent.seen.rawBody.toString()).not.toContain(UNWANTED);
  const [, last = 0] = sent.memory.summary?.covers ?? [];
  expect(sent.view.slice(3)).toEqual(sent.messages.slice(last + 1));
  expect(wrongReport(sent)).toEqual([]);
}

function leavesDigest(of: Deployment, bad: readonly Manner[]): void {
  it.each(bad)('with %s leaves mode auto its digest, and says so', async (manner) => {
    of.summarizer.always(manner);
    const topic = `apples (${manner})`;

    const sent = await new AgentCaller(of, { memory_strategy: strategy }).send(needy(topic));

    expect(sent.memory.summary?.status).toBe('degraded');
    expect(sent.memory.warnings).toEqual(['summary_degraded']);
    expectDigest(sent, topic);
    for (const ref of refsIn(sent.view)) expect((await of.fetch(`/v1/refs/${ref}`)).status).toBe(200);
  });
}

describe('a summarizer that falls silent', () => {
  const hasty = deploy(HASTY);

  overProtocols('a summarizer that fails', hasty, () => leavesDigest(hasty, ['hang']));
});

overProtocols('a summarizer that fails', deployment, () => {
  leavesDigest(deployment, ['refusal', 'tool call', 'too long', 'error sentence', 'orders']);

  it('that nobody listens at leaves it too, in a stream as well', async () => {
    const caller = new AgentCaller(deployment, { memory_strategy: strategy, stream: true });

    const sent = await deployment.summarizer.away(() => caller.send(needy('pears')));

    expect(sent.memory.summary?.status).toBe('degraded');
    expectDigest(sent, 'pears');
  });

  it('leaves the digest in its place until the frontier moves', async () => {
    deployment.summarizer.always('refusal');
    const fields = { memory_strategy: strategy, conversation_id: 'degraded' };
    const caller = new AgentCaller(deployment, fields);
    const messages = conversation('plums', 10);
    const all = await caller.play(messages, [14, 16]);
    deployment.summarizer.always('summary');
    all.push(await caller.send(messages.slice(0, 18)));

    expect(all.map(({ memory }) => memory.frontier.moved)).toEqual([true, false, false]);
    expect(all.map(({ memory }) => memory.summary?.status)).toEqual(['degraded', 'degraded', 'degraded']);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
  });

  it('in the background costs nobody anything but the digest', async () => {
    deployment.summarizer.always('refusal');
    const messages = toolTalk('limes', 16);
    const caller = new AgentCaller(deployment, {
      memory_strategy: { ...strategy, token_budget: 8_000 },
      conversation_id: 'bad background',
    });

    const all = await caller.play(messages, requestsIn(messages));

    const summarized = all.filter(({ memory }) => memory.summary);
    expect(summarized.length).toBeGreaterThan(2);
    expect(new Set(summarized.map(({ memory }) => memory.summary?.status))).toEqual(new Set(['degraded']));
    for (const { memory } of summarized) expect(memory.warnings).toEqual(['summary_degraded']);
    expect(all.flatMap(wrongReport)).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
  });
});

/** Over chat alone: it takes long, and the wait does not depend on the protocol. */
describe('a summarizer that is late', () => {
  const patient = deploy(PATIENT);

  it('leaves mode auto its digest, pending, and the next summary is built upon what came', async () => {
    patient.summarizer.next('too slow');
    const caller = new AgentCaller(patient, { memory_strategy: strategy, conversation_id: 'late' });

    const sent = await caller.send(needy('figs'));

    expect(sent.memory.summary?.status).toBe('pending');
    expect(sent.memory.warnings).toEqual(['summary_pending']);
    expectDigest(sent, 'figs');
    await until('the summary is made', async () => {
      const response = await patient.fetch('/v1/conversations/late/memory');
      return JSON.stringify(await response.json()).includes('kenning');
    });
    const kept = await caller.send(conversation('figs', 8));
    expect(brokenPrefixes([sent, kept])).toEqual([]);
  });
});

overProtocols('a caller without a tenant', deployment, () => {
  it('gets the digest, and placeholders without refs', async () => {
    const anonymous = new AgentCaller(deployment, { memory_strategy: strategy }, 'EMPTY');
    const messages = toolTalk('dates', 16);

    const all = await anonymous.play(messages, requestsIn(messages));

    expect(deployment.summarizer.requests).toEqual([]);
    const summarized = all.filter(({ memory }) => memory.summary);
    expect(summarized.length).toBeGreaterThan(2);
    for (const { memory } of summarized) {
      expect(memory.summary?.status).toBe('degraded');
      expect(memory.summary).not.toHaveProperty('ref');
      expect(memory.warnings).toEqual(expect.arrayContaining(['no_tenant', 'summary_degraded']));
    }
    expect(all.some(({ view }) => JSON.stringify(view).includes('reason=context_compaction⟧'))).toBe(true);
    expect(all.flatMap(({ view }) => refsIn(view))).toEqual([]);
    expect(all.flatMap(({ memory }) => memory.refs)).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
  });

  it('is not taken what could not be fetched again: nothing is offloaded', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'word '.repeat(12_000) },
      ...conversation('quinces', 3).slice(1),
    ];
    const memory_strategy = { ...strategy, compact_keep: 1 };

    const { memory, view } = await new AgentCaller(deployment, { memory_strategy }, 'EMPTY').send(messages);

    expect(memory.applied_edits.map(({ type }) => type)).toEqual(['compact']);
    expect(view[2]?.content).toMatch(
      /^⟦removed: tool output for search \(call_id=call_1\); reason=context_compaction⟧/,
    );
  });
});
