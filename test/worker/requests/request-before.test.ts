/** Whether the frontier has moved since the request before, in isolates that have not seen it. */
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import { conversation } from '../summaries/conversation-object.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

let keys = 0;

const COMPACT = { mode: 'compact', token_budget: 3_500, low_watermark_pct: 0.5, min_reclaim_tokens: 0 };

/** Isolates of one deployment, and a caller of its own. */
function deployment(memory_strategy: object = COMPACT) {
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
    const send = async (steps: number, named = true, branch = '') => {
      began = objects.calls.length;
      const outputs = Array.from({ length: steps }, (_, at) =>
        step(`c${at}`, 'find', `${lines(60)} ${at} ${at < 4 ? '' : branch} ${key}`),
      );
      const response = await app.chat(
        body([user('go'), ...outputs.flat()], {
          memory_strategy,
          ...(named && { conversation_id: 'c' }),
        }),
      );
      return response.headers.get('x-memory-frontier');
    };
    return {
      send,
      objects,
      asked: () => objects.calls.slice(began).filter((call) => call === 'events.answered').length,
    };
  };
  return { isolate };
}

type Isolate = ReturnType<ReturnType<typeof deployment>['isolate']>;

/** A number of steps at which the frontier stays, and has moved one or two steps before. */
async function justMoved({ send }: Isolate): Promise<number> {
  let steps = 5;
  while ((await send(steps, false)) !== 'kept') steps++;
  return steps;
}

describe('an isolate that has not seen the request before', () => {
  it.each([
    ['compact', COMPACT],
    ['native', { mode: 'native', compact_threshold: 6_000 }],
  ])('asks for it, and reports a move since, in the mode %s', async (_, strategy) => {
    const { isolate } = deployment(strategy);
    expect(await isolate().send(4)).toBe('none');
    const last = await justMoved(isolate());

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
      const last = await justMoved(isolate());

      const other = isolate();
      other.objects[how].add('events.answered');
      expect(await other.send(last)).toBe('kept');
      expect(other.asked()).toBe(1);
    },
  );

  it('reports no move since that has edited only what was never sent', async () => {
    const { isolate } = deployment();
    const last = await justMoved(isolate());
    const knowing = isolate();
    await knowing.send(0);

    expect(await knowing.send(last)).toBe('kept');
    // Another one was answered in between, whose view it does not know.
    const other = deployment();
    const between = other.isolate();
    await between.send(0);
    await other.isolate().send(3);
    expect(await between.send(last)).toBe('moved');
  });

  it('knows an array that comes again after a shorter one', async () => {
    const { isolate } = deployment();
    const knowing = isolate();
    const last = await justMoved(isolate());
    await knowing.send(last);
    await knowing.send(4);

    expect([await isolate().send(last), await knowing.send(last)]).toEqual(['kept', 'kept']);
  });

  it('takes no longer request of another branch for the one before', async () => {
    const { isolate } = deployment();
    const knowing = isolate();
    const last = await justMoved(isolate());
    for (const steps of [4, last, last + 1]) await knowing.send(steps);

    // Of these branches only the first four steps were sent, before their move.
    expect(await knowing.send(last, true, 'one')).toBe('moved');
    expect(await isolate().send(last, true, 'other')).toBe('moved');
  });

  it('counts no request that was refused, and no compaction', async () => {
    const { call } = conversation();
    const runs = [
      endedRun({}, { array: 'whole' }),
      endedRun({ status: 413 }, { array: 'refused' }),
      endedRun({ kind: 'compaction' }, { array: 'compacted' }),
      endedRun(),
    ];
    await call((memory) => memory.events.add(batchOf(...runs)));

    expect(await call((memory) => memory.events.answered(['refused', 'compacted', 'later', 'whole']))).toBe(
      3,
    );
    expect(await call((memory) => memory.events.answered(['refused', 'compacted']))).toBeNull();
  });

  it('asks nothing where nothing has moved, or where events are off', async () => {
    const { isolate } = deployment();
    await isolate().send(3);
    const other = isolate();
    expect(await other.send(4)).toBe('none');
    expect(other.asked()).toBe(0);
    const off = isolate({ EVENTS: 'off' } as Partial<Env>);
    await off.send(8);
    expect(off.asked()).toBe(0);
  });
});
