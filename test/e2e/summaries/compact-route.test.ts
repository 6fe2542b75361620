import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import {
  conversation,
  type Message,
  question,
  readSummary,
  tokensIn,
  turn,
  work,
} from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

interface Compaction {
  messages: Message[];
  memory: Report;
  recent_turns?: { user: string; assistant: string | null }[];
  pending_turns?: object[];
  summary?: string | null;
}

async function compact(messages: Message[], fields: object = {}): Promise<Compaction> {
  const response = await deployment.postTo('/v1/compact', {
    model: 'gpt-4.1',
    memory_strategy: strategy,
    ...fields,
    messages,
  });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Compaction;
}

function withoutMarks(messages: Message[]): Message[] {
  return messages.map(({ compacted, ...message }) => message as Message);
}

describe('POST /v1/compact in mode summarize', () => {
  it('gives the view that a completion is sent with, and marks what is not of the caller', async () => {
    const messages = conversation('apples', 4);

    const { messages: view, memory } = await compact(messages);
    const asked = await deployment.ask({ memory_strategy: strategy, messages });

    expect(view.map(({ compacted }) => compacted)).toEqual([
      undefined,
      undefined,
      true,
      ...Array(3).fill(undefined),
    ]);
    expect(asked.seen.body.messages).toEqual(withoutMarks(view));
    expect(asked.memory.summary).toEqual({ ...memory.summary, usage: asked.memory.summary?.usage });
    expect(deployment.summarizer.requests).toHaveLength(1);
  });

  it('marks a request that a summary was put into', async () => {
    const memory_strategy = { mode: 'summarize', token_budget: 4_000, keep_first_user: false };

    const { messages: view } = await compact(work('Weigh them.', 'melons', 14), { memory_strategy });

    expect(view.filter(({ compacted }) => compacted)).toEqual([view[1]]);
    expect(readSummary(view[1]?.content).rest).toBe('Weigh them.');
  });

  it('force summarizes what no trigger would, with the focus as its hint', async () => {
    const messages = conversation('pears', 6);
    const memory_strategy = { mode: 'summarize', keep_last_n_turns: 2, summary_focus: 'the heaviest' };

    const idle = await compact(messages, { memory_strategy });
    const forced = await compact(messages, { memory_strategy, force: true });

    expect(idle.messages).toEqual(messages);
    expect(forced.memory).toMatchObject({ trigger: 'force', summary: { covers: [1, 8] }, warnings: [] });
    expect(forced.messages.slice(3)).toEqual(messages.slice(9));
    expect(deployment.summarizer.readings.map(({ focus }) => focus)).toEqual(['the heaviest']);
  });

  it('dry_run asks nobody and stores nothing, and says what would be', async () => {
    const messages = conversation('plums', 4);
    const fields = { conversation_id: 'a rehearsal' };

    const { memory, messages: view } = await compact(messages, { ...fields, dry_run: true });

    expect(deployment.summarizer.requests).toEqual([]);
    const kept = await deployment.fetch('/v1/conversations/a%20rehearsal/memory');
    expect(kept.status).toBe(404);
    expect(memory.summary).toMatchObject({ status: 'pending', covers: [1, 4] });
    expect(memory.warnings).toContain('summary_pending');
    expect(memory.summary).not.toHaveProperty('ref');
    expect(view.slice(3)).toEqual(messages.slice(5));
  });

  it('dry_run shows a summary that there is', async () => {
    const messages = conversation('cherries', 4);
    const made = await compact(messages);

    const { messages: view } = await compact(messages, { dry_run: true });

    expect(view).toEqual(made.messages);
    expect(deployment.summarizer.requests).toHaveLength(1);
  });

  it("does not have the deployment's summarizer work for a caller who has no tenant", async () => {
    const response = await deployment.postTo(
      '/v1/compact',
      { memory_strategy: strategy, messages: conversation('dates', 4) },
      { authorization: 'Bearer EMPTY' },
    );

    const { memory } = (await response.json()) as Compaction;
    expect(memory.summary?.status).toBe('degraded');
    expect(memory.summary).not.toHaveProperty('ref');
    expect(deployment.summarizer.requests).toEqual([]);
  });

  it('asks the summarizer for nothing when the upstream has not accepted the key', async () => {
    await deployment.postTo(
      '/v1/compact',
      { memory_strategy: strategy, messages: conversation('grapes', 4) },
      { authorization: 'Bearer sk-invalid-key-of-nobody-0001' },
    );

    expect(deployment.summarizer.requests).toEqual([]);
  });

  it('format conversation_memory gives plain turns beside the summary', async () => {
    const messages = conversation('figs', 4);

    const answer = await compact(messages, { format: 'conversation_memory' });

    const digest = { tools: [], observations_summary: null, reasoning_summary: null };
    const plain = { artifacts: [], digest };
    expect(answer.recent_turns).toEqual([
      { user: messages[5]?.content, assistant: messages[6]?.content, ...plain },
      { user: messages[7]?.content, assistant: null, ...plain },
    ]);
    expect(answer.pending_turns).toEqual([]);
    expect(answer.summary).toMatch(/^<session_summary ref="ref_/);
    expect(readSummary(answer.summary)).toMatchObject({ covers: '1-4', text: answer.memory.summary?.text });
    expect(answer).not.toHaveProperty('messages');
  });
});

describe('a view that its caller takes for its own array', () => {
  it('is sent with its marks cut and its summary as it is', async () => {
    const { messages: view } = await compact(conversation('limes', 4));

    const { seen, headers } = await deployment.ask({ memory_strategy: strategy, messages: view });

    expect(seen.body.messages).toEqual(withoutMarks(view));
    expect(headers.get('x-memory-applied')).toBe('none');
    expect(deployment.summarizer.requests).toHaveLength(1);
  });

  it('has its marks cut in mode none, too', async () => {
    const { messages: view } = await compact(conversation('lemons', 4));

    const response = await deployment.chat({ model: 'gpt-4.1', messages: view });

    expect(response.status).toBe(200);
    expect(deployment.lastChat().body.messages).toEqual(withoutMarks(view));
  });

  it('gives the next summary its base, and not its material', async () => {
    const { messages: view, memory } = await compact(conversation('quinces', 4));
    const { token } = deployment.summarizer.lastReading();
    const grown = [...view, ...turn('quinces', 4).slice(1), ...turn('quinces', 5), question('quinces', 6)];

    const { seen, memory: next } = await deployment.ask({ memory_strategy: strategy, messages: grown });

    const reading = deployment.summarizer.lastReading();
    expect(deployment.summarizer.requests).toHaveLength(2);
    expect(reading.after).toEqual([token]);
    expect(reading.messages.map(({ text }) => text)).toEqual(grown.slice(3, 7).map(({ content }) => content));
    const [, , answer, ...tail] = seen.body.messages;
    expect(tokensIn(answer.content)).toEqual([token, reading.token]);
    expect(tail).toEqual(withoutMarks(grown).slice(7));
    expect(next.summary?.ref).not.toBe(memory.summary?.ref);
    const transcript = await (await deployment.fetch(`/v1/refs/${next.summary?.ref}`)).text();
    expect(transcript).toContain(`kept under ${memory.summary?.ref}`);
    expect(transcript).not.toContain('session_summary');
  });

  it('inside a turn gives the next summary its base, and keeps the request without it', async () => {
    const memory_strategy = { mode: 'summarize', token_budget: 4_000, keep_first_user: false };
    const { messages: view } = await compact(work('Weigh each one.', 'loaves', 14), { memory_strategy });
    const { token } = deployment.summarizer.lastReading();
    const later = work('', 'later loaves', 12).slice(2);

    const { seen } = await deployment.ask({ memory_strategy, messages: [...view, ...later] });

    const reading = deployment.summarizer.lastReading();
    expect(deployment.summarizer.requests).toHaveLength(2);
    expect(reading.after).toEqual([token]);
    expect(reading.messages.filter(({ text }) => text.includes('session_summary'))).toEqual([]);
    const request = seen.body.messages[1].content;
    expect(request.match(/<session_summary/g)).toHaveLength(1);
    expect(readSummary(request).rest).toBe('Weigh each one.');
    expect(tokensIn(request)).toEqual([token, reading.token]);
  });

  it('again and again has each message read once', async () => {
    let messages = conversation('dates', 4);
    for (let turns = 4; turns <= 12; turns += 2) {
      const { messages: view } = await compact(messages);
      messages = [
        ...view,
        ...turn('dates', turns).slice(1),
        ...turn('dates', turns + 1),
        question('dates', turns + 2),
      ];
    }

    const { readings } = deployment.summarizer;
    const read = readings.flatMap(({ messages: each }) => each.map(({ text }) => text));
    expect(readings).toHaveLength(5);
    expect(read).toEqual(
      conversation('dates', 11)
        .slice(1, 21)
        .map(({ content }) => content),
    );
    expect(readings.at(-1)?.after).toEqual(readings.slice(0, -1).map(({ token }) => token));
  });

  it('of another tenant is ordinary text', async () => {
    const { messages: view } = await compact(conversation('sloes', 4));
    const grown = [...view, ...turn('sloes', 4).slice(1), ...turn('sloes', 5), question('sloes', 6)];

    await deployment.ask(
      { memory_strategy: strategy, messages: grown },
      { authorization: 'Bearer sk-the-key-of-another-caller-0001' },
    );

    const { prior, messages } = deployment.summarizer.lastReading();
    expect(prior).toBe('');
    expect(messages[1]?.text).toContain('session_summary');
  });

  it('with a forged ref is ordinary text', async () => {
    const { messages: view } = await compact(conversation('medlars', 4));
    const forged = JSON.parse(JSON.stringify(view).replace(/ref_\w{26}/, `ref_${'a'.repeat(26)}`));
    const grown = [...forged, ...turn('medlars', 4).slice(1), ...turn('medlars', 5), question('medlars', 6)];

    await deployment.ask({ memory_strategy: strategy, messages: grown });

    expect(deployment.summarizer.lastReading().prior).toBe('');
  });
});
