import { describe, expect, it } from 'vitest';
import {
  AgentCaller,
  brokenPrefixes,
  markersIn,
  type Sent,
  tokensOf,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { agentRun, type Message, tools } from '../../support/clients/agent-run.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { untimed } from '../../support/deployment/memory-report.ts';
import { prepared } from '../../support/deployment/prepared.ts';
import { overProtocols, RESPONSES } from '../../support/deployment/protocol.ts';
import { conversation, type Reading, readSummary, tokensIn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const NOTHING_SPENT = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const strategy = {
  mode: 'auto' as const,
  compact_retrieval: 'off' as const,
  token_budget: 8_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
};

/** A request, and the tokens of all summaries made before it. */
interface Played extends Sent {
  readonly made: ReadonlySet<string>;
}

/** Sends the requests of an array, the shortest first, and waits for background work after each. */
async function play(
  messages: Message[],
  fields: {
    conversation_id: string;
    memory_strategy?: typeof strategy & { incremental?: boolean; keep_first_user?: boolean };
  },
) {
  const asked = { memory_strategy: strategy, ...fields };
  const caller = new AgentCaller(deployment, asked);
  const all: Played[] = [];
  for (const length of requestsIn(messages)) {
    const made = new Set(deployment.summarizer.readings.map(({ token }) => token));
    const sent = await caller.send(messages.slice(0, length));
    all.push({ ...sent, made });
    await prepared(deployment, sent, asked.conversation_id, asked.memory_strategy);
  }
  return all;
}

/** A talk, its requests, and what the summarizer read during it. */
interface Talk {
  readonly messages: Message[];
  readonly all: readonly Played[];
  readonly readings: readonly Reading[];
}

let talk: Promise<Talk> | undefined;

/** A talk under `strategy`, played once for all tests. */
function played(): Promise<Talk> {
  talk ??= playOnce();
  return talk;
}

async function playOnce(): Promise<Talk> {
  const messages = toolTalk('plums', 20);
  const all = await play(messages, { conversation_id: 'played' });
  return { messages, all, readings: [...deployment.summarizer.readings] };
}

/** Expects each summary to be made before the first request with it, at no cost to that request. */
function expectReady(all: readonly Played[]): void {
  const summarized = all.filter(({ memory }) => memory.summary);
  const versions = new Set(summarized.map(({ memory }) => memory.summary?.memory_id));
  expect(versions.size).toBeGreaterThan(1);
  for (const sent of summarized) {
    expect(sent.memory.summary).toMatchObject({ status: 'completed', usage: NOTHING_SPENT });
    expect(tokensIn(summaryIn(sent)).filter((token) => !sent.made.has(token))).toEqual([]);
    expect(sent.memory.warnings).toEqual([]);
  }
}

const summaryIn = ({ view }: Sent): string => JSON.stringify(view.slice(1, 3));
const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);

/** A message as it was in the last view that had it. */
function lastSeen(all: readonly Sent[], index: number): Message | undefined {
  const shown = all.flatMap(({ view, messages }) => {
    // A summary replaces messages at the beginning only, so count from the end.
    const at = view.length - (messages.length - index);
    const message = view[at];
    return message?.tool_call_id === messages[index]?.tool_call_id && at > 0 ? [message] : [];
  });
  return shown.at(-1);
}

overProtocols('a summary in mode auto', deployment, (protocol) => {
  it('is made in front of the first move that needs one, of what lies before the new frontier', async () => {
    const memory_strategy = { ...strategy, token_budget: 4_000 };
    const messages = conversation('apples', 7);
    const caller = new AgentCaller(deployment, { memory_strategy });

    const before = await caller.send(messages.slice(0, -2));
    const sent = await caller.send(messages);

    expect(before.memory).toMatchObject({ applied_edits: [], trigger: 'none' });
    const { token, messages: read, usage } = deployment.summarizer.lastReading();
    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(sent.memory).toMatchObject({ trigger: 'token_budget', frontier: { moved: true }, warnings: [] });
    expect(sent.memory.applied_edits.map(({ type }) => type)).toEqual(['summarize']);
    expect(sent.memory.summary).toMatchObject({ status: 'completed', covers: [1, 10], base_memory_id: null });
    expect(sent.memory.summary?.usage.total_tokens).toBe(usage.total_tokens);
    expect(read.map(({ text }) => text)).toEqual(messages.slice(1, 11).map(({ content }) => content));
    const [preamble, shadow, answer, ...tail] = sent.view;
    expect([preamble, shadow?.role, ...tail]).toEqual([messages[0], 'user', ...messages.slice(11)]);
    expect(tokensIn(String(answer?.content))).toEqual([token]);
    expect(readSummary(answer?.content)).toMatchObject({ covers: '1-10', ref: sent.memory.summary?.ref });
    expect(wrongReport(sent)).toEqual([]);
  });

  it('is made in the background on top of one that came back, too', async () => {
    const messages = toolTalk('quinces', 22);
    const memory_strategy = { ...strategy, keep_first_user: false };
    const first = await play(messages.slice(0, 52), { conversation_id: 'first', memory_strategy });
    const last = first.findLast(({ memory }) => memory.summary);
    if (!last) throw new Error('there is no summary');
    const taken = [...last.view, ...messages.slice(last.messages.length)];

    const all = await play(taken, { conversation_id: 'second', memory_strategy });

    const own = all.filter(({ memory }) => typeof memory.summary?.memory_id === 'number');
    expect(own.length).toBeGreaterThan(0);
    for (const { memory } of own)
      expect(memory.summary).toMatchObject({ status: 'completed', usage: NOTHING_SPENT });
  });

  it('reads everything again where the caller says so', async () => {
    await play(toolTalk('medlars', 16), {
      conversation_id: 'again',
      memory_strategy: { ...strategy, incremental: false },
    });

    const { readings } = deployment.summarizer;
    expect(readings.length).toBeGreaterThan(1);
    for (const { prior, messages } of readings) {
      expect(prior).toBe('');
      expect(messages.map(({ index }) => index)).toEqual(upTo(messages.length));
    }
  });

  it('reads a run with large arguments, offloaded outputs and images as the view had them', async () => {
    const messages = agentRun('kilns');
    const [former, later] = [messages.slice(0, 90), messages.slice(0, 96)];
    // The first request makes all placeholders. Then a summary is requested.
    const weighed = protocol.body({ model: 'gpt-4.1', tools });
    const token_budget = tokensOf({ ...weighed, messages: former }) - 1;
    const memory_strategy = {
      mode: 'auto',
      compact_retrieval: 'off',
      token_budget,
      low_watermark_pct: 0,
      min_reclaim_tokens: 0,
      // So that its images go too.
      keep_first_user: false,
    };
    const { view } = await new AgentCaller(deployment, { memory_strategy }).send(former);
    const response = await deployment.postTo('/v1/compact', {
      ...weighed,
      memory_strategy,
      force: true,
      messages: later,
    });

    expect(await response.json()).toMatchObject({ memory: { summary: { status: 'completed' } } });
    const { messages: read, request } = deployment.summarizer.lastReading();
    expect(read.length).toBeGreaterThan(60);
    for (const { index, role, text } of read) if (role === 'tool') expect(text).toBe(view[index]?.content);
    const reasons = new Set(markersIn(read.map(({ text }) => text).join()).map(({ reason }) => reason));
    expect(reasons).toEqual(new Set(['context_compaction', 'offloaded', 'duplicate', 'superseded']));
    const prompt = request.body.messages.at(-1).content;
    expect(prompt).toContain('tool input for write_file');
    expect(prompt).toContain('removed: image for user_message');
    expect(prompt).not.toContain('base64');
    // Rows from the middle of an offloaded output and of a cleared input.
    expect(prompt).not.toMatch(/row 300 of/);
    expect(prompt).not.toMatch(/row 40 of kilns 4:/);
  });
});

/** Over chat alone: the plan decides when the frontier moves, and does not know the protocol. */
describe('the next summary in mode auto', () => {
  it('is ready before the request that needs it', async () => {
    const all = await play(toolTalk('figs', 26), {
      conversation_id: 'ready',
      memory_strategy: { ...strategy, token_budget: 11_000, summary_max_tokens: 600 },
    });

    expectReady(all);
    expect(all.flatMap(wrongReport)).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
  });
});

/** Over the Responses API alone: all of its cases look at one talk. */
describe('the summaries of a talk in mode auto', () => {
  deployment.over(RESPONSES);
  it('is built upon the one before, and reads each message once', async () => {
    const { readings } = await played();

    const indices = readings.flatMap(({ messages }) => messages.map(({ index }) => index));
    const last = Math.max(...indices);
    expect(last).toBeGreaterThan(40);
    expect(indices).toEqual(upTo(last));
    expect(readings.map(({ after }) => after)).toEqual(
      readings.map((_, at) => readings.slice(0, at).map(({ token }) => token)),
    );
  });

  it('is made of placeholders where the view had them, and never of what they replace', async () => {
    const { all, readings } = await played();

    const outputs = readings.flatMap(({ messages }) => messages).filter(({ role }) => role === 'tool');
    expect(outputs.length).toBeGreaterThan(8);
    for (const { index, text } of outputs) {
      expect(markersIn(text)).toHaveLength(1);
      expect(text).toBe(lastSeen(all, index)?.content);
    }
    const prompts = readings.map(({ request }) => request.rawBody.toString()).join();
    expect(prompts).not.toContain('row 20 of');
  });

  it('keeps the tail, and all that it covers can be fetched', async () => {
    const { messages, all } = await played();
    const last = all.findLast(({ memory }) => memory.summary);
    if (!last?.memory.summary?.ref) throw new Error('there is no summary with a ref');

    const { covers } = last.memory.summary;
    let ref: string | undefined = last.memory.summary.ref;
    let transcripts = '';
    while (ref) {
      const text: string = await (await deployment.fetch(`/v1/refs/${ref}`)).text();
      transcripts += text;
      ref = /is kept under (ref_\w{26})/.exec(text)?.[1];
    }
    for (const { content } of messages.slice(covers[0], covers[1] + 1))
      if (content) expect(transcripts).toContain(String(content));
    const tail = last.messages.slice(covers[1] + 1);
    const seen = last.view.slice(-tail.length);
    expect(seen.map(({ role }) => role)).toEqual(tail.map(({ role }) => role));
    const unedited = seen.filter((message) => markersIn(message).length === 0);
    expect(tail).toEqual(expect.arrayContaining(unedited));
  });

  it('in a stream is the one of the whole answer, byte for byte', async () => {
    const { messages } = await played();
    const fields = { conversation_id: 'played', memory_strategy: strategy };

    const whole = await new AgentCaller(deployment, fields).send(messages);
    const streamed = await new AgentCaller(deployment, { ...fields, stream: true }).send(messages);

    expect(whole.memory.summary?.status).toBe('completed');
    expect(untimed(streamed.memory)).toEqual(untimed(whole.memory));
    expect(streamed.view).toEqual(whole.view);
  });

  it('is ready before the request that needs it where each one adds a tenth of the budget', async () => {
    expectReady((await played()).all);
  });
});
