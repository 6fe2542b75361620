/** Reasoning that a request loses: what its report, its explanation and its event say of it. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

const MODEL = 'gpt-6.2-sol';
/** Over chat, where callers send reasoning themselves. */
const WHOLE = { mode: 'auto', token_budget: 100_000, upstream_api: 'chat' };
const MOVES = { mode: 'compact', token_budget: 3_500, low_watermark_pct: 0.5, min_reclaim_tokens: 0 };

let keys = 0;

/** Isolates of one deployment, and a caller of its own. */
function deployment() {
  const key = `sk-a-caller-who-thinks-${++keys}`;
  const { bucket } = watchedBucket();
  const isolate = () => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const app = startApp(bucket, { CONVERSATION_MEMORY: objects.namespace } as Partial<Env>, key);
    app.answer.words = () => 'Done.';
    const post = async (path: string, sent: object): Promise<Report> => {
      const response = await app.request(path, { method: 'POST', body: JSON.stringify(sent) });
      expect(response.status).toBe(200);
      return ((await response.json()) as { memory: Report }).memory;
    };
    return {
      objects,
      send: (sent: object) => post('/v1/chat/completions', sent),
      explain: (sent: object) => post('/v1/explain', sent),
      newest: async (id: string) => {
        const page = await app.request(`/v1/conversations/${id}/requests?limit=1&user=one`);
        return ((await page.json()) as { data: RunEvent[] }).data[0];
      },
    };
  };
  return { isolate, key };
}

/** Steps of an agent, each with a thought before its call. */
function asked(id: string, steps: number, fields: Message = {}, edited?: number): object {
  const thought = (message: Message): Message =>
    message.role === 'assistant' ? { ...message, reasoning_content: 'I look first.' } : message;
  const outputs = Array.from({ length: steps }, (_, at) =>
    step(`c${at}`, 'find', `${lines(60)} ${at === edited ? 'edited' : at} ${id}`).map(thought),
  );
  return body([user('go'), ...outputs.flat()], {
    model: MODEL,
    memory_strategy: WHOLE,
    memory_report: true,
    conversation_id: id,
    safety_identifier: 'one',
    ...fields,
  });
}

describe('the reasoning that a request loses', () => {
  const tool = { type: 'function', function: { name: 'find', parameters: {} } };
  it.each<[cause: string, fields: Message]>([
    ['model', { model: 'gpt-6.2-luna' }],
    ['user', { user: 'another' }],
    ['tools', { tools: [tool] }],
    ['effort', { reasoning_effort: 'low' }],
    ['format', { response_format: { type: 'json_object' } }],
  ])(
    "is in report, explanation and event, where the caller has changed the request's %s",
    async (cause, fields) => {
      const { isolate } = deployment();
      const [a, b] = [isolate(), isolate()];
      expect((await a.send(asked('c', 3))).reasoning_dropped).toBeUndefined();
      expect((await a.send(asked('c', 4))).reasoning_dropped).toBeUndefined();

      const lost = { blocks: 5, cause, by: 'precis' };
      const changed = asked('c', 5, fields);
      // The other isolate has sent none of them.
      expect((await b.explain(changed)).reasoning_dropped).toEqual(lost);
      expect((await a.explain(changed)).reasoning_dropped).toEqual(lost);
      expect((await a.send(changed)).reasoning_dropped).toEqual(lost);
      await expect.poll(async () => (await a.newest('c'))?.reasoning_dropped).toEqual(lost);
      expect((await a.send(asked('c', 6, fields))).reasoning_dropped).toBeUndefined();
      expect(a.objects.calls.filter((call) => call === 'events.lines')).toHaveLength(1);
    },
  );

  it('is what was thought after the message that the caller has edited', async () => {
    const { isolate } = deployment();
    const a = isolate();
    await a.send(asked('c', 4));

    const { reasoning_dropped } = await a.send(asked('c', 5, {}, 1));
    expect(reasoning_dropped).toEqual({ blocks: 3, cause: 'message', message: 4, by: 'precis' });
  });

  it("is what a move of Precis's takes along, also where the isolate knows no request before", async () => {
    const { isolate } = deployment();
    const knowing = isolate();
    const losses: Report['reasoning_dropped'][] = [];
    for (let steps = 1; losses.length < 2; steps++) {
      const sent = asked('c', steps, { memory_strategy: MOVES });
      const expected = (await isolate().explain(sent)).reasoning_dropped;
      const { frontier, trigger, reasoning_dropped } = await knowing.send(sent);
      expect(reasoning_dropped?.cause).toBe(frontier.moved ? 'move' : undefined);
      expect(expected).toEqual(reasoning_dropped);
      if (!frontier.moved) continue;
      expect(reasoning_dropped).toMatchObject({ trigger, by: 'precis' });
      await expect
        .poll(async () => (await knowing.newest('c'))?.reasoning_dropped)
        .toEqual(reasoning_dropped);
      // In a conversation that nobody knows, it follows from the array alone.
      const fresh = asked('c', steps, { memory_strategy: MOVES, conversation_id: `new ${steps}` });
      expect((await isolate().send(fresh)).reasoning_dropped).toEqual(reasoning_dropped);
      losses.push(reasoning_dropped);
    }
    expect(losses[1]?.blocks).toBeGreaterThan(0);
  });

  it("is in report, explanation and event where a model of Claude can't read it", async () => {
    const { isolate } = deployment();
    const [a, b] = [isolate(), isolate()];
    for (const model of ['claude-opus-5-5', 'claude-opus-5']) {
      const lost = { blocks: 4, cause: 'model', by: 'precis' };
      const id = `c ${model}`;
      await a.send(asked(id, 3, { model: 'claude-fable-5-1' }));
      expect((await b.explain(asked(id, 4, { model }))).reasoning_dropped).toEqual(lost);
      expect((await a.send(asked(id, 4, { model }))).reasoning_dropped).toEqual(lost);
      await expect.poll(async () => (await a.newest(id))?.reasoning_dropped).toEqual(lost);
      expect((await a.send(asked(id, 5, { model }))).reasoning_dropped).toBeUndefined();
    }
  });

  it('is not asked for where the API binds none, nor where memory is off', async () => {
    const { isolate } = deployment();
    const a = isolate();
    for (const fields of [{ model: 'gpt-5.6-sol' }, { memory_strategy: { mode: 'none' } }]) {
      await a.send(asked('c', 4, fields));
      expect((await a.send(asked('c', 5, fields, 1))).reasoning_dropped).toBeUndefined();
      expect((await a.explain(asked('c', 5, fields, 1))).reasoning_dropped).toBeUndefined();
    }
    expect(a.objects.calls).not.toContain('events.lines');
  });
});
