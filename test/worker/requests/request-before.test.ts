/** Whether the frontier has moved since the request before, in isolates that have not seen it. */
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

let keys = 0;

/** Isolates of one deployment, and a caller of its own. */
function deployment() {
  const key = `sk-a-caller-who-skips-requests-${++keys}`;
  const { bucket } = watchedBucket();
  const isolate = (variables: Partial<Env> = {}) => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const app = startApp(
      bucket,
      { CONVERSATION_MEMORY: objects.namespace, ...variables } as Partial<Env>,
      key,
    );
    let began = 0;
    const send = async (steps: number, named = true) => {
      began = objects.calls.length;
      const outputs = Array.from({ length: steps }, (_, at) =>
        step(`c${at}`, 'find', `${lines(60)} ${at} ${key}`),
      );
      const response = await app.chat(
        body([user('go'), ...outputs.flat()], {
          memory_strategy: {
            mode: 'compact',
            token_budget: 3_500,
            low_watermark_pct: 0.5,
            min_reclaim_tokens: 0,
          },
          ...(named && { conversation_id: 'c' }),
        }),
      );
      return response.headers.get('x-memory-frontier');
    };
    return {
      send,
      objects,
      asked: () => objects.calls.slice(began).filter((call) => call === 'listRuns').length,
    };
  };
  return { isolate };
}

describe('an isolate that has not seen the request before', () => {
  it('asks for it, and tells of a move since', async () => {
    const { isolate } = deployment();
    expect(await isolate().send(4)).toBe('none');
    const states: (string | null)[] = [];
    const plain = isolate();
    for (let steps = 5; steps < 12; steps++) states.push(await plain.send(steps, false));
    const last = states.indexOf('kept') + 5;
    expect(last).toBeGreaterThan(5);

    const other = isolate();
    expect(await other.send(last)).toBe('moved');
    expect(other.asked()).toBe(1);
    // What it has sent itself, it knows.
    expect(await other.send(last)).toBe('kept');
    expect(other.asked()).toBe(0);
  });

  it.each(['failing', 'hanging'] as const)(
    'takes the word of the array where the object is %s',
    async (how) => {
      const { isolate } = deployment();
      const first = isolate();
      await first.send(4);
      const plain = isolate();
      let last = 5;
      while ((await plain.send(last, false)) !== 'kept') last++;

      const other = isolate();
      other.objects[how].add('listRuns');
      expect(await other.send(last)).toBe('kept');
      expect(other.asked()).toBe(1);
    },
  );

  it('asks nothing where nothing has moved, or where events are off', async () => {
    const { isolate } = deployment();
    await isolate().send(3);
    const other = isolate();
    expect(await other.send(4)).toBe('none');
    expect(other.asked()).toBe(0);
    const off = isolate({ EVENTS: 'false' } as Partial<Env>);
    await off.send(8);
    expect(off.asked()).toBe(0);
  });
});
