import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, PATIENT, readSummary, tokensIn } from '../../support/deployment/summarizer.ts';

/** The first pause after a failure. */
const REST_MS = 3_000;

const deployment = deploy({ ...PATIENT, limits: { ...PATIENT.limits, summaryRestMs: REST_MS } });

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

async function memoryOf(conversation: string): Promise<{ health?: string; statuses: string[] }> {
  const response = await deployment.fetch(`/v1/conversations/${encodeURIComponent(conversation)}/memory`);
  const memory = (await response.json()) as { health?: string; memories?: { status: string }[] };
  return { ...memory, statuses: memory.memories?.map(({ status }) => status) ?? [] };
}

overProtocols('a caller who leaves while a summary is being made', deployment, () => {
  it('has paid for it: the next request finds it', async () => {
    deployment.summarizer.next('slow');
    const fields = { memory_strategy: strategy, conversation_id: 'left' };
    const messages = conversation('apples', 4);
    const leaving = new AbortController();

    const left = deployment.fetch('/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1', ...fields, messages }),
      signal: leaving.signal,
    });
    await until('the summarizer is asked', () => deployment.summarizer.requests.length > 0);
    leaving.abort();
    await expect(left).rejects.toThrow();
    const { memory } = await deployment.ask({ ...fields, messages });

    expect(memory.summary?.status).toBe('completed');
    expect(deployment.summarizer.requests).toHaveLength(1);
  });
});

/**
 * Chat only, like the tests after it: they take long, and waiting does not depend on the protocol.
 */
describe('a summary that comes too late', () => {
  it('is waited for where it is to stay for good', async () => {
    deployment.summarizer.next('too slow');
    const input = conversation('medlars', 4).map(({ role, content }) => ({ role, content }));

    const response = await deployment.postTo('/v1/responses/compact', {
      model: 'gpt-4.1',
      input,
      memory_report: true,
    });
    const { memory } = (await response.json()) as WithMemory;

    expect(memory?.summary?.status).toBe('completed');
    expect(tokensIn(memory?.summary?.text ?? '')).toEqual([deployment.summarizer.lastReading().token]);
  });

  it('lets its request go on with the digest, and says so', async () => {
    deployment.summarizer.next('too slow');
    const fields = { memory_strategy: strategy, conversation_id: 'late' };

    const asked = await deployment.ask({ ...fields, messages: conversation('pears', 4) });

    const { text } = readSummary(asked.seen.body.messages[2].content);
    expect(asked.memory.summary).toMatchObject({ status: 'pending', text });
    expect(asked.memory.warnings).toEqual(['summary_pending']);
    expect(text).toContain('Question 1 about pears');
    expect(tokensIn(text)).toEqual([]);
    await until('the summary is made', async () => (await memoryOf('late')).statuses.includes('completed'));

    const next = await deployment.ask({ ...fields, messages: conversation('pears', 6) });
    expect(next.memory.summary).toMatchObject({ status: 'completed', covers: [1, 8] });
    expect(deployment.summarizer.requests).toHaveLength(2);
  });

  it('does not change what the digest has been used for until the frontier moves', async () => {
    deployment.summarizer.next('too slow');
    const fields = { memory_strategy: strategy, conversation_id: 'late again' };

    const asked = await deployment.ask({ ...fields, messages: conversation('plums', 4) });
    await until(
      'the summary is made',
      async () => !(await memoryOf('late again')).statuses.includes('processing'),
    );
    const longer = await deployment.ask({ ...fields, messages: conversation('plums', 5) });

    expect(asked.memory.summary?.status).toBe('pending');
    expect(longer.headers.get('x-memory-frontier')).toBe('kept');
    const opening = asked.seen.rawBody.toString().slice(0, -2);
    expect(longer.seen.rawBody.toString().startsWith(opening)).toBe(true);

    // The next summary is based on the late one, not on the digest.
    const next = await deployment.ask({ ...fields, messages: conversation('plums', 6) });

    const [late, newest] = deployment.summarizer.readings;
    expect(deployment.summarizer.requests).toHaveLength(2);
    expect(next.memory.summary).toMatchObject({ status: 'completed', covers: [1, 8] });
    expect(newest?.after).toEqual([late?.token]);
    expect(newest?.prior).not.toContain('Question 1 about plums');
    expect(newest?.messages.map(({ index }) => index)).toEqual([5, 6, 7, 8]);
    expect(tokensIn(next.seen.body.messages[2].content)).toEqual([late?.token, newest?.token]);
  });
});

describe('the health of a conversation', () => {
  it('is retry between two attempts, and healthy after the one that succeeds', async () => {
    deployment.summarizer.next('server error', 'slow');
    const fields = { memory_strategy: strategy, conversation_id: 'retried' };

    const asked = deployment.ask({ ...fields, messages: conversation('figs', 4) });
    await until('it is tried again', async () => (await memoryOf('retried')).health === 'retry');

    expect((await asked).memory.summary?.status).toBe('completed');
    expect((await memoryOf('retried')).health).toBe('healthy');
  });

  it('is healthy again when the summarizer has rested, and the next summary reads all that none covers', async () => {
    const fields = { memory_strategy: strategy, conversation_id: 'rested' };
    await deployment.ask({ ...fields, messages: conversation('limes', 4) });
    const { token } = deployment.summarizer.lastReading();
    deployment.summarizer.next('refusal');
    await deployment.ask({ ...fields, messages: conversation('limes', 6) });
    expect((await memoryOf('rested')).health).toBe('degraded');
    await sleep(REST_MS + 500);

    const { memory, seen } = await deployment.ask({ ...fields, messages: conversation('limes', 8) });

    const reading = deployment.summarizer.lastReading();
    expect(memory.summary?.status).toBe('completed');
    expect(reading.messages.map(({ index }) => index)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
    expect(tokensIn(seen.body.messages[2].content)).toEqual([token, reading.token]);
    expect((await memoryOf('rested')).health).toBe('healthy');
  });
});
