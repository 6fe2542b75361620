import { afterEach, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
afterEach(() => summarizer.work());
const deployment = deploy({ vars: summarizer.vars });

const OTHER_KEY = 'sk-the-key-of-another-test-caller';
const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0, retry_attempts: 0 };

type Message = Record<string, unknown>;
let named = 0;
const newId = () => `conversation ${++named}`;

overProtocols('memory that is made in the background', deployment, (protocol) => {
  const flush = (id: string, query = '', headers: Record<string, string> = {}) =>
    deployment.fetch(`/v1/conversations/${encodeURIComponent(id)}/memory/flush${query}`, {
      method: 'POST',
      headers,
    });

  async function compact(messages: readonly Message[], fields: Message) {
    const response = await deployment.postTo('/v1/compact', {
      model: 'gpt-4.1-mini',
      [protocol.field]: protocol.elements(messages),
      ...fields,
    });
    expect(response.status).toBe(200);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
    return ((await response.json()) as any).memory;
  }

  /** A conversation of some rounds, none of which waits for memory. */
  async function talk(rounds: number, fields: Message = {}) {
    const conversation_id = newId();
    const to = new Talk(deployment, { conversation_id, memory_strategy: ROLLING, ...fields });
    for (let n = 1; n <= rounds; n++) await to.ask(question(n));
    return { id: conversation_id, to, fields: to.fields };
  }

  it.each([
    ['', {}],
    [', after a stream', { stream: true }],
  ])('is up to date after flush%s', async (_, fields) => {
    const { id, to } = await talk(3, fields);

    const response = await flush(id);

    expect(response.status).toBe(200);
    const finished = (await response.json()) as { memories: unknown[] };
    expect(finished).toMatchObject({
      id,
      object: 'memory.conversation',
      up_to_date: true,
      health: 'healthy',
    });
    expect(finished.memories).toMatchObject([{ status: 'completed', end_sequence: 5 }]);
    expect(finished).toEqual({ ...(await to.stored()), up_to_date: true });
  });

  it('is waited for by flush while the summarizer works', async () => {
    const release = summarizer.hold();
    const { id } = await talk(3);
    let isOver = false;
    const flushed = flush(id).then((response) => {
      isOver = true;
      return response.json();
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isOver).toBe(false);

    release();

    expect(await flushed).toMatchObject({ up_to_date: true, memories: [{ status: 'completed' }] });
  });

  it('is not up to date when it could not be made, until a later one is', async () => {
    summarizer.fail(400);
    const { id, to } = await talk(3, { memory_strategy: { ...ROLLING, degraded_retry_interval_s: 0 } });

    const failed = await flush(id);
    expect(failed.status).toBe(202);
    expect(await failed.json()).toMatchObject({
      up_to_date: false,
      health: 'degraded',
      memories: [{ status: 'failed' }],
    });

    summarizer.work();
    await until('the rest is over', async () => {
      await to.ask(question(4));
      return (await flush(id)).status === 200;
    });
    const { memories } = (await to.stored()) as { memories: { status: string }[] };
    expect(memories.map(({ status }) => status).toSorted()).toContain('failed');
    expect(memories[0]).toMatchObject({ status: 'completed' });
  });

  it('is not up to date when neither the view’s memory nor the user’s could be made', async () => {
    summarizer.fail(400);
    const user = newId();
    const { id } = await talk(3, { user, memory_injection: { publish: 'each_round' } });

    const response = await flush(id, `?user=${encodeURIComponent(user)}`);

    const { memories, ...finished } = (await response.json()) as { memories: { status: string }[] };
    expect(finished).toMatchObject({ up_to_date: false, health: 'degraded' });
    expect(new Set(memories.map(({ status }) => status))).toEqual(new Set(['failed']));
  });

  it('includes what a user gets of a session', async () => {
    const user = newId();
    const { id } = await talk(1, {
      user,
      memory_strategy: 'none',
      memory_injection: { publish: 'each_round' },
    });

    await flush(id, `?user=${encodeURIComponent(user)}`);

    const response = await deployment.fetch(`/v1/users/${encodeURIComponent(user)}/memory`);
    expect(await response.json()).toMatchObject({ conversations: [{ id }] });
  });

  it('is not known to another key or user, nor of a conversation that nobody knows', async () => {
    const { id } = await talk(3);

    const refused = [
      await flush(id, '', { authorization: `Bearer ${OTHER_KEY}` }),
      await flush(id, '?user=ann'),
      await flush('nobody knows this one'),
    ];

    expect(refused.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(await refused[0]?.json()).toMatchObject({ error: { code: 'conversation_not_found' } });
    const get = await deployment.fetch(`/v1/conversations/${id}/memory/flush`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('is shown by /v1/compact as soon as it is made, when no round is in progress', async () => {
    const { id, to, fields } = await talk(3);
    await flush(id);

    const between = await compact(to.messages, fields);

    expect(between.summary).toMatchObject({ memory_id: 1, covers: [1, 6], status: 'completed' });
    // The newest one too, though the last round has seen the one before.
    const fourth = await to.ask(question(4));
    expect(fourth.memory.summary).toMatchObject({ memory_id: 1 });
    await flush(id);
    expect((await compact(to.messages, fields)).summary).toMatchObject({ memory_id: 2, covers: [1, 8] });
  });

  it('is the one of the round for a caller in the middle of it', async () => {
    const { id, to, fields } = await talk(3);
    await flush(id);
    await to.ask(question(4));
    await flush(id);
    const inRound = to.messages.slice(0, -1);

    const memory = await compact(inRound, { ...fields, force: true });

    expect(memory.summary).toMatchObject({ memory_id: 1 });
    expect(to.messages).toHaveLength(inRound.length + 1);
  });

  it('is waited for by /v1/compact with force, even before it is due', async () => {
    const { to, fields } = await talk(1);

    const without = await compact(to.messages, fields);
    const forced = await compact(to.messages, { ...fields, force: true });

    expect(without.summary).toBeUndefined();
    expect(forced.summary).toMatchObject({ covers: [1, 2], status: 'completed' });
  });

  it('is not made by a dry run with force', async () => {
    const { id, to, fields } = await talk(1);

    const memory = await compact(to.messages, { ...fields, force: true, dry_run: true });

    expect(memory.summary).toBeUndefined();
    expect((await flush(id)).status).toBe(404);
  });

  it('leaves the messages in full when force waits in vain', async () => {
    summarizer.fail(400);
    const { to, fields } = await talk(1);

    const memory = await compact(to.messages, { ...fields, force: true });

    expect(memory.summary).toBeUndefined();
    expect(memory.warnings).toContain('summary_degraded');
  });
});
