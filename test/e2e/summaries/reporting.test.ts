import { expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import type { Report } from '../../../src/memory/plan/report.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { dataOf } from '../../support/deployment/event-stream.ts';
import { untimed } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, readSummary, readTranscript, work } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

async function kept(ref: string | undefined, query = ''): Promise<string> {
  const response = await deployment.fetch(`/v1/refs/${ref}${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  return response.text();
}

function usageIn(text: string): unknown {
  if (!text.startsWith('data:')) return JSON.parse(text).usage;
  return dataOf(text)
    .slice(0, -1)
    .map((data) => JSON.parse(data).usage)
    .find((usage) => usage);
}

overProtocols('the report of a summary', deployment, () => {
  it.each([
    ['in the body', {}],
    ['in a stream', { stream: true, stream_options: { include_usage: true } }],
  ])('holds its text, coverage, hash, ref, state and price %s', async (where, fields) => {
    const messages = conversation(`apples ${where}`, 4);

    const { memory, seen, text } = await deployment.ask({ memory_strategy: strategy, ...fields, messages });

    const { ref, text: shown } = readSummary(seen.body.messages[2].content);
    const { usage } = deployment.summarizer.lastReading();
    expect(memory.summary).toEqual({
      text: shown,
      covers: [1, 4],
      prefix_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      ref,
      status: 'completed',
      memory_id: 1,
      base_memory_id: null,
      usage: {
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        total_tokens: usage.total_tokens,
        // Nanodollars, at the prices of gpt-4.1-nano.
        cost: 100 * usage.prompt_tokens + 400 * usage.completion_tokens,
      },
    });
    const { tokens } = memory;
    expect(memory.applied_edits).toEqual([
      {
        type: 'summarize',
        // The first request stays.
        messages: 3,
        cleared_tokens: (tokens?.before ?? 0) - (tokens?.after ?? 0),
        memory_id: 1,
        base_memory_id: null,
      },
    ]);
    expect(memory.warnings).toEqual([]);
    expect(usageIn(text)).toMatchObject({ prompt_tokens: Math.ceil(seen.rawBody.length / 4) });
  });

  it('says the same of the same request, streaming or not', async () => {
    const messages = conversation('pears', 4);
    await deployment.ask({ memory_strategy: strategy, messages });
    const whole = await deployment.ask({ memory_strategy: strategy, messages });
    const streamed = await deployment.ask({ memory_strategy: strategy, stream: true, messages });

    expect(untimed(streamed.memory)).toEqual(untimed(whole.memory));
    expect(streamed.seen.body.messages).toEqual(whole.seen.body.messages);
  });

  it.each([
    ['between turns', conversation('plums', 4), strategy],
    ['inside a turn', work('Weigh plums.', 'plums', 14), { mode: 'summarize', token_budget: 4_000 }],
  ])('counts the tokens that the upstream is sent: %s', async (_, messages, memory_strategy) => {
    const { memory, seen } = await deployment.ask({ memory_strategy, messages });
    const counted = await deployment.ask({
      memory_strategy: { mode: 'trim', max_turns: 100 },
      messages: seen.body.messages,
    });

    const difference = (memory.tokens?.after ?? 0) - (counted.memory.tokens?.before ?? 0);
    expect(Math.abs(difference)).toBeLessThan(20);
  });

  it("counts the summary's ref in x-memory-refs, where it has one", async () => {
    const messages = conversation('sorbs', 4);

    const below = await deployment.ask({ memory_strategy: strategy, messages: conversation('sorbs', 2) });
    const named = await deployment.ask({ memory_strategy: strategy, messages });
    const nameless = await deployment.ask(
      { memory_strategy: strategy, messages },
      { authorization: 'Bearer EMPTY' },
    );

    const refs = [below, named, nameless].map(({ headers }) => headers.get('x-memory-refs'));
    expect(refs).toEqual(['0', '1', '0']);
    expect(named.seen.rawBody.toString().match(/ref_[a-z2-7]{26}/g)).toEqual([named.memory.summary?.ref]);
    expect(nameless.seen.rawBody.toString()).toContain('<session_summary covers=');
  });

  it('reports a move only at the request that made it', async () => {
    const reports: Report[] = [];
    for (const turns of [3, 4, 5]) {
      const messages = conversation('figs', turns);
      reports.push((await deployment.ask({ memory_strategy: strategy, messages })).memory);
    }

    expect(reports.map(({ frontier }) => frontier)).toEqual([
      { unit: 0, moved: false },
      { unit: 4, moved: true },
      { unit: 4, moved: false },
    ]);
    expect(reports.map(({ summary }) => summary?.status)).toEqual([undefined, 'completed', 'completed']);
  });
});

overProtocols('the transcript of what a summary covers', deployment, () => {
  it('holds the messages unchanged, and can be searched', async () => {
    const messages = conversation('cherries', 4);
    const { memory } = await deployment.ask({ memory_strategy: strategy, messages });

    const transcript = await kept(memory.summary?.ref);
    expect([...readTranscript(transcript)]).toEqual(
      messages.slice(1, 5).map(({ role, content }, at) => ({ index: at + 1, role, text: content })),
    );
    const line = 'The cherries of row 2 and column 7 weighs 207 grams.';
    const found = await kept(memory.summary?.ref, `?grep=${encodeURIComponent('column 7 weighs 207')}`);
    expect(found).toContain(line);
    expect(found.length).toBeLessThan(transcript.length / 4);
  });

  it('names the one before', async () => {
    const first = await deployment.ask({ memory_strategy: strategy, messages: conversation('limes', 4) });
    const second = await deployment.ask({ memory_strategy: strategy, messages: conversation('limes', 6) });

    const transcript = await kept(second.memory.summary?.ref);
    expect(second.memory.summary?.ref).not.toBe(first.memory.summary?.ref);
    expect(transcript).toContain(String(first.memory.summary?.ref));
    expect([...readTranscript(transcript)].map(({ index }) => index)).toEqual([5, 6, 7, 8]);
  });

  it('is not found by another tenant', async () => {
    const { memory } = await deployment.ask({ memory_strategy: strategy, messages: conversation('figs', 4) });

    const authorization = 'Bearer sk-the-key-of-another-caller-0001';
    const response = await deployment.fetch(`/v1/refs/${memory.summary?.ref}`, {
      headers: { authorization },
    });

    expect(response.status).toBe(404);
  });

  it('holds calls, their inputs and their results', async () => {
    const messages = work('Weigh them.', 'melons', 14);
    const memory_strategy = { mode: 'summarize', token_budget: 4_000 };

    const { memory } = await deployment.ask({ memory_strategy, messages });

    const transcript = await kept(memory.summary?.ref);
    expect(transcript).toContain('-> weigh (call_1) {"item":"melons 1"}');
    expect(transcript).toContain(String(messages[3]?.content));
  });

  it('is written again, under the same ref, when the conversation comes again', async () => {
    const messages = conversation('olives', 4);
    const { memory, seen } = await deployment.ask({ memory_strategy: strategy, messages });
    const before = await kept(memory.summary?.ref);
    await deployment.fetch(`/v1/refs/${memory.summary?.ref}`, { method: 'DELETE' });

    const again = await deployment.ask({ memory_strategy: strategy, messages });

    expect(again.seen.rawBody.equals(seen.rawBody)).toBe(true);
    expect(again.memory.warnings).toEqual([]);
    expect(await kept(memory.summary?.ref)).toBe(before);
  });
});

overProtocols('a recorded conversation', deployment, () => {
  it('is summarized move by move, each message is read once, and the upstream accepts every view', async () => {
    const { model, tools } = recording;
    const memory_strategy = { mode: 'summarize', token_budget: 20_000, summary_max_tokens: 1_000 };
    const ends = recording.messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
    let former = '';
    for (const end of ends) {
      const messages = recording.messages.slice(0, end);
      const { seen, headers } = await deployment.ask({ model, tools, memory_strategy, messages });
      const body = seen.rawBody.toString();
      if (headers.get('x-memory-frontier') !== 'moved') expect(body.startsWith(former)).toBe(true);
      former = body.slice(0, -2);
    }

    const { readings } = deployment.summarizer;
    expect(readings.length).toBeGreaterThan(1);
    const read = readings.flatMap(({ messages }) => messages.map(({ index }) => index));
    expect(read).toEqual(read.map((_, at) => at + 1));
  });
});
