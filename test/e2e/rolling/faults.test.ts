import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { assistant, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';
import { readSummary } from '../../support/deployment/summarizer.ts';

const summarizer = await startRollingSummarizer();
// A conversation whose order waits for the end of a rest would ask the summarizer in a later test.
afterEach(async () => {
  summarizer.work();
  await Promise.all(talks.splice(0).map((one) => one.forget()));
});

const deployment = deploy({ vars: { ...summarizer.vars, LOG_LEVEL: 'debug' } });

const ALL = { mode: 'rolling_summary', full_zone_turns: 0 };
const REST_S = 0.2;

const talks: Talk[] = [];
let begun = 0;

/** A new conversation. */
function talk(strategy: object = {}, fields: object = {}): Talk {
  const memory_strategy = { ...ALL, ...strategy };
  const to = new Talk(deployment, { conversation_id: `faults-${++begun}`, memory_strategy, ...fields });
  talks.push(to);
  return to;
}

const warningOf = ({ response }: { response: Response }) => response.headers.get('x-memory-warning');
const frontierOf = ({ response }: { response: Response }) => response.headers.get('x-memory-frontier');

async function untilHealthIs(health: string, of: Talk): Promise<void> {
  await until(`the conversation is ${health}`, async () => (await of.stored())?.health === health);
}

const LINE = /^⟦removed: messages \d+-\d+; reason=trimmed; ref=(ref_[a-z2-7]{26}); tokens=\d+⟧\n\n/;

/** The rounds of a view from a message on, and the transcript that its line names. */
async function afterLine(view: readonly { content?: unknown }[], from: number) {
  const [first, ...rest] = view.slice(from);
  const content = String(first?.content);
  const stored = await deployment.fetch(`/v1/refs/${LINE.exec(content)?.[1]}`);
  return {
    messages: [{ ...first, content: content.replace(LINE, '') }, ...rest],
    transcript: await stored.text(),
  };
}

overProtocols('total_max_tokens', deployment, () => {
  /** Three rounds after the memory, and a question. */
  async function crowded() {
    const to = talk({ full_zone_turns: 3 });
    await to.rounds(1, 6, 4);
    const said = await to.send([user(question(7))]);
    const again = (total_max_tokens: number, overflow_policy: string) =>
      to.send([], { memory_strategy: { ...ALL, full_zone_turns: 3, total_max_tokens, overflow_policy } });
    return { to, said, again, after: said.memory.tokens?.after ?? 0 };
  }

  it('drops the oldest verbatim rounds, whole, where the policy is truncate_oldest', async () => {
    const { to, said, again, after } = await crowded();

    const { view, memory, response } = await again(after - 100, 'truncate_oldest');

    expect(said.view.slice(3)).toEqual(to.messages.slice(7));
    expect(view.slice(0, 3).map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
    const { messages, transcript } = await afterLine(view, 3);
    expect(messages).toEqual(to.messages.slice(9));
    expect(transcript).toContain(String(to.messages[7]?.content));
    expect(transcript).toContain(String(to.messages[8]?.content));
    expect(response.headers.get('x-memory-applied')).toBe('summarize,trim');
    expect(memory.applied_edits[1]).toMatchObject({ type: 'trim', messages: 2 });
    expect(memory.tokens?.after).toBeLessThanOrEqual(after - 100);
    expect(memory.warnings).toEqual([]);
  });

  it('never drops the round that is being worked on, and says that it is over budget', async () => {
    const { to, again } = await crowded();

    const { view, memory } = await again(50, 'truncate_oldest');

    expect((await afterLine(view, 3)).messages).toEqual([to.messages.at(-1)]);
    expect(memory.warnings).toEqual(['over_budget']);
  });

  it('cuts the memory line by line where the policy is truncate_summary', async () => {
    const { to, said, again, after } = await crowded();

    const { view, memory, response } = await again(after - 40, 'truncate_summary');

    expect(view.slice(3)).toEqual(to.messages.slice(7));
    // The report has the complete memory, so a caller who holds it loses nothing.
    const { text } = readSummary(view[2]?.content);
    expect(memory.summary?.text).toBe(said.memory.summary?.text);
    expect(memory.summary?.text.startsWith(text)).toBe(true);
    expect(text.length).toBeLessThan(memory.summary?.text.length ?? 0);
    expect(text).not.toBe('');
    expect(memory.tokens?.after).toBeLessThanOrEqual(after - 40);
    expect(response.headers.get('x-memory-applied')).toBe('summarize');
  });

  it('lets a request pass that fits to the token, where the policy is error', async () => {
    const { said, again, after } = await crowded();

    const { response, view } = await again(after, 'error');

    expect(response.status).toBe(200);
    expect(view).toEqual(said.view);
  });

  it('refuses one that does not, and asks the upstream nothing', async () => {
    const { to, after } = await crowded();
    const before = deployment.chats().length;

    const response = await deployment.chat({
      model: 'gpt-4.1-mini',
      ...to.fields,
      memory_strategy: {
        ...ALL,
        full_zone_turns: 3,
        total_max_tokens: after - 100,
        overflow_policy: 'error',
      },
      messages: to.messages,
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: 'memory_budget_exceeded',
        param: 'memory_strategy.total_max_tokens',
      },
    });
    expect(deployment.chats()).toHaveLength(before);
  });
});

overProtocols('total_max_tokens without a memory', deployment, (protocol) => {
  const bounded = (overflow_policy: string, more: object = {}) => ({
    ...ALL,
    total_max_tokens: 3_000,
    overflow_policy,
    ...more,
  });
  const long = Array.from({ length: 12 }, (_, n) => [user(question(n)), assistant(`Answer ${n}.`)]).flat();
  const last = user('And now?');

  it.each(['truncate_oldest', 'truncate_summary'])('holds from the first request on (%s)', async (policy) => {
    const to = talk(bounded(policy));
    to.messages.push(...long);
    const { view, memory, response } = await to.send([last]);

    expect(memory.tokens?.before).toBeGreaterThan(6_000);
    expect(memory.tokens?.after).toBeLessThanOrEqual(3_100);
    const { messages, transcript } = await afterLine(view, 1);
    const left = to.messages.slice(1, 1 - view.length);
    expect([view[0], ...messages]).toEqual(
      protocol.read([to.messages[0], ...to.messages.slice(1 - view.length)] as never),
    );
    for (const { content } of left) expect(transcript).toContain(content);
    expect(response.headers.get('x-memory-applied')).toBe('trim');
    expect(response.headers.get('x-memory-trigger')).toBe('token_budget');
    expect(memory.warnings).not.toContain('over_budget');
  });

  it('keeps what leaves where no answer has named the conversation yet', async () => {
    const to = talk(bounded('truncate_oldest'), { conversation_id: undefined });
    to.messages.push(...Array.from({ length: 12 }, (_, n) => user(question(n))));
    const { view } = await to.send([last]);

    expect((await afterLine(view, 1)).transcript).toContain(question(0));
  });

  it('holds while the conversation is degraded', async () => {
    const settings = {
      retry_attempts: 0,
      full_zone_turns: 2,
      degraded_retry_interval_s: 3_600,
      total_max_tokens: 1_500,
    };
    const to = talk(bounded('truncate_oldest', settings));
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);
    const said = [await to.ask(question(4)), await to.ask(question(5)), await to.ask(question(6))];

    for (const { memory } of said) {
      expect(memory.tokens?.after).toBeLessThanOrEqual(1_600);
      expect(memory.warnings).not.toContain('over_budget');
    }
    expect(said.at(-1)?.memory.tokens?.before).toBeGreaterThan(3_000);
  });

  it('is an error where the policy is error, and the upstream is asked nothing', async () => {
    const to = talk(bounded('error'));
    const before = deployment.chats().length;
    const response = await deployment.chat({
      model: 'gpt-4.1-mini',
      ...to.fields,
      messages: [...long, last],
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'memory_budget_exceeded', param: 'memory_strategy.total_max_tokens' },
    });
    expect(deployment.chats()).toHaveLength(before);
    await to.remembered(1);
  });
});

overProtocols('a summarizer that is down', deployment, () => {
  const patient = { retry_attempts: 2, retry_backoff_base_s: 0.01, degraded_retry_interval_s: 30 };

  it('is asked again a few times, and then the conversation is degraded', async () => {
    const to = talk(patient);
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    expect(summarizer.requests).toHaveLength(3);
    expect(await to.memories()).toMatchObject([
      { status: 'failed', attempts: 3, error: 'upstream_error', memory_text: null },
    ]);
  });

  it('is no reason to summarize less than it was when it comes back in time', async () => {
    const to = talk({ ...patient, retry_backoff_base_s: 0.5 });
    summarizer.fail(429);
    await to.rounds(1, 3, 99);
    await untilHealthIs('retry', to);
    summarizer.work();
    await to.remembered(1);

    const { memory } = await to.ask(question(4));

    expect(memory.summary).toMatchObject({ covers: [1, 6], status: 'completed' });
    expect(memory.warnings).toEqual([]);
    await to.remembered(2);
    expect((await to.stored()).health).toBe('healthy');
  });

  it('is not asked what it has refused for good', async () => {
    const to = talk(patient);
    summarizer.fail(401);
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    expect(summarizer.requests).toHaveLength(1);
    expect(await to.memories()).toMatchObject([{ status: 'failed', error: 'refused' }]);
  });

  it('leaves up to recovery_backlog_limit rounds verbatim, with a warning', async () => {
    const to = talk(patient);
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    const said = await to.ask(question(4));

    expect(said.view).toEqual(to.messages.slice(0, -1));
    expect(warningOf(said)).toBe('summary_degraded');
    expect(said.memory.applied_edits).toEqual([]);
  });

  it('lets a digest replace the rounds before those, made of their own words', async () => {
    const to = talk({ ...patient, recovery_backlog_limit: 2 });
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    const said = await to.ask(question(4));

    expect(warningOf(said)).toBe('summary_degraded');
    expect(said.memory.summary).toMatchObject({ covers: [1, 2], status: 'degraded' });
    expect(said.memory.summary?.text).toContain('Question 1: what follows from these lines?');
    expect(said.view.slice(3)).toEqual(to.messages.slice(3, -1));
  });

  it('moves the frontier where the digest reaches further, and nowhere else', async () => {
    const to = talk({ ...patient, recovery_backlog_limit: 4 });
    summarizer.fail();
    await to.rounds(1, 4, 99);
    await untilHealthIs('degraded', to);

    const said = await to.rounds(5, 9, 99);

    // The memory covers 2 rounds from round 6 on, and 4 from round 8 on.
    expect(said.map(({ memory }) => memory.summary?.covers[1])).toEqual([undefined, 4, 4, 8, 8]);
    expect(said.map(frontierOf)).toEqual(['none', 'moved', 'kept', 'moved', 'kept']);
  });

  it('names a ref under which what the digest replaces can be fetched', async () => {
    const to = talk({ ...patient, recovery_backlog_limit: 2 });
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    const { memory } = await to.ask(question(4));

    expect(memory.summary?.ref).toMatch(/^ref_/);
    const kept = await deployment.fetch(`/v1/refs/${memory.summary?.ref}`);
    expect(await kept.text()).toContain(question(1));
  });

  it('lets the view grow at its end only, as long as the digest reaches as far', async () => {
    const to = talk({ ...patient, recovery_backlog_limit: 4 });
    summarizer.fail();
    await to.rounds(1, 4, 99);
    await untilHealthIs('degraded', to);

    const [, first, second] = await to.rounds(5, 7, 99);

    expect(first?.memory.summary?.covers).toEqual([1, 4]);
    expect(second?.view.slice(0, first?.view.length)).toEqual(first?.view);
  });

  it('is left alone for degraded_retry_interval_s, and then asked once more; the conversation recovers', async () => {
    const to = talk({ ...patient, retry_attempts: 0, degraded_retry_interval_s: REST_S });
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);
    summarizer.work();
    await sleep(REST_S * 1_000);
    const release = summarizer.hold();
    await to.ask(question(4));
    await untilHealthIs('recovering', to);
    release();
    await to.remembered(1);

    const said = await to.ask(question(5));

    expect(summarizer.requests.length).toBeGreaterThanOrEqual(2);
    expect(said.memory.summary).toMatchObject({ covers: [1, 8], status: 'completed' });
    expect(warningOf(said)).toBeNull();
    expect((await to.stored()).health).toBe('healthy');
    // Nothing that was said in the meantime is lost.
    const [, prompt = ''] = summarizer.prompts();
    expect([1, 2, 3, 4].filter((n) => prompt.includes(`Question ${n}:`))).toEqual([1, 2, 3, 4]);
    await to.remembered(2);
  });

  it('is not asked while the conversation rests', async () => {
    const to = talk({ ...patient, retry_attempts: 0 });
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);

    await to.rounds(4, 6, 99);

    expect(summarizer.requests).toHaveLength(1);
    expect(await to.memories()).toHaveLength(1);
  });

  it('keeps its digest in the view while the next attempt is being made', async () => {
    const to = talk({
      ...patient,
      retry_attempts: 0,
      recovery_backlog_limit: 2,
      degraded_retry_interval_s: REST_S,
    });
    summarizer.fail();
    await to.rounds(1, 3, 99);
    await untilHealthIs('degraded', to);
    const before = await to.ask(question(4));
    await sleep(REST_S * 1_000);
    const release = summarizer.hold();
    let round = 5;
    // If the fourth round came late, it was an attempt too, and the pause after it is twice as
    // long.
    await until('the conversation is recovering', async () => {
      await to.ask(question(round++));
      await sleep(200);
      return (await to.stored())?.health === 'recovering';
    });

    const during = await to.ask(question(round));
    release();

    expect(before.memory.summary?.status).toBe('degraded');
    expect(during.memory.summary?.status).toBe('degraded');
    expect(warningOf(during)).toBe('summary_degraded');
  });

  it('does not take away the memory that there is', async () => {
    const to = talk(patient);
    await to.rounds(1, 3);
    summarizer.fail();
    await to.ask(question(4));
    await untilHealthIs('degraded', to);

    const said = await to.ask(question(5));

    expect(said.memory.summary).toMatchObject({ covers: [1, 6], status: 'completed' });
    expect(said.view.slice(3)).toEqual(to.messages.slice(7, -1));
    expect(warningOf(said)).toBe('summary_degraded');
    expect(frontierOf(said)).toBe('kept');
  });

  it('goes on from the memory before where the backlog is too long', async () => {
    const to = talk({ ...patient, recovery_backlog_limit: 2 });
    await to.rounds(1, 3);
    summarizer.fail();
    await to.ask(question(4));
    await untilHealthIs('degraded', to);
    await to.rounds(5, 6, 99);

    const said = await to.ask(question(7));

    // Three rounds are after the memory, one more than the limit.
    expect(said.memory.summary).toMatchObject({ covers: [1, 8], status: 'degraded' });
    expect(said.memory.summary?.text).toContain('This is summary number');
    expect(said.memory.summary?.text).toContain('Question 4:');
    expect(said.view.slice(3)).toEqual(to.messages.slice(9, -1));
  });
});

overProtocols('a caller whose key is too short for a tenant', deployment, () => {
  it('is forwarded without memory, and the answer says so', async () => {
    const headers = { authorization: 'Bearer ollama' };
    const to = new Talk(deployment, { conversation_id: 'short', memory_strategy: ALL }, headers);

    const said = await to.rounds(1, 4, 99);

    expect(said.map(warningOf)).toEqual(Array(4).fill('no_tenant'));
    expect(said.at(-1)?.view).toEqual(to.messages.slice(0, -1));
    expect(summarizer.requests).toEqual([]);
  });
});

overProtocols('a stored row', deployment, () => {
  it('and the log hold neither the keys nor, the log, any content', async () => {
    const to = talk({ rolling_window_size: 6 });
    await to.rounds(1, 4);

    const stored = JSON.stringify(await to.stored());
    const log = deployment.worker.output();
    expect(stored).not.toMatch(/sk-the-key-of/);
    expect(log).not.toMatch(/sk-the-key-of/);
    expect(log).not.toContain('what follows from these lines');
    expect(log).not.toContain('This is summary number');
    expect(log).toMatch(/Summarized messages 0-5 for [0-9a-f]{16} in /);
    expect(log).not.toContain(String(to.fields.conversation_id));
  });
});
