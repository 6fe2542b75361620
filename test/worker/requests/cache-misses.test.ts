/** Causes of cache misses that need a clock, or several isolates with one storage. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ListedRun } from '../../../src/memory/run/event.ts';
import { messagesBody } from '../../../tools/upstream/blocks.ts';
import { type BilledBody, Vendor } from '../../../tools/upstream/invoice.ts';
import { responsesBody } from '../../../tools/upstream/items.ts';
import { body, calls, lines, type Message, result, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { type Sent, startApp, watchedBucket } from '../support.ts';

beforeEach(quiet);

const MINUTE = 60_000;
const WHOLE = { mode: 'auto', token_budget: 100_000, compact_retrieval: 'off', cache_marks: 'auto' };
const MOVES = { mode: 'compact', compact_trigger_steps: 4, compact_keep_steps: 2, compact_retrieval: 'off' };

let keys = 0;

/** Isolates of one deployment before a vendor that bills, a clock, and a caller of its own. */
function deployment() {
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  let vendor = new Vendor();
  const key = `sk-a-caller-who-misses-${++keys}`;
  const isolate = () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket, {}, key);
    app.answer.words = () => 'Done.';
    app.answer.usage = ({ url, body }: Sent) => {
      const {
        prompt_tokens: input,
        completion_tokens: output,
        prompt_tokens_details,
      } = vendor.call(JSON.parse(body) as BilledBody, 'Done.');
      const { cached_tokens: cached, cache_write_tokens: written = 0 } = prompt_tokens_details ?? {
        cached_tokens: 0,
      };
      if (url.endsWith('/responses'))
        return {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
        };
      const ofMessages = { cache_read_input_tokens: cached, cache_creation_input_tokens: written };
      if (url.endsWith('/messages'))
        return { input_tokens: input - cached - written, ...ofMessages, output_tokens: output };
      return {
        prompt_tokens: input,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens: output,
      };
    };
    const send = async (asked: object, path = '/v1/chat/completions') => {
      now += MINUTE;
      const headers: HeadersInit = path === '/v1/messages' ? { 'anthropic-version': '2023-06-01' } : {};
      const response = await app.request(path, { method: 'POST', headers, body: JSON.stringify(asked) });
      expect(response.status).toBe(200);
    };
    /** The events of all requests, oldest first. */
    const runs = async () => {
      const page = await app.request('/v1/conversations/c/requests');
      return ((await page.json()) as { data: ListedRun[] }).data.toReversed();
    };
    const causes = async () => (await runs()).map(({ cache_miss: miss }) => miss?.cause);
    return { send, runs, causes, failing: watched.failing };
  };
  return {
    isolate,
    pass: (minutes: number) => {
      now += minutes * MINUTE;
    },
    forget: () => {
      vendor = new Vendor();
    },
  };
}

const of = (steps: number, strategy: object = WHOLE, fields: Message = {}) =>
  body(
    [
      user('go'),
      ...Array.from({ length: steps }, (_, at) => step(`c${at}`, 'find', `${lines(60)} ${at}`)).flat(),
    ],
    { model: 'gpt-4.1', memory_strategy: strategy, conversation_id: 'c', ...fields },
  );

describe.each([
  ['chat', '/v1/chat/completions', (asked: object) => asked, {}, 62],
  ['Responses', '/v1/responses', responsesBody, {}, 62],
  ['Messages', '/v1/messages', messagesBody, { model: 'claude-sonnet-5-5', max_tokens: 100 }, 7],
] as const)('a miss over %s', (_, path, translated, fields, minutes) => {
  it('is that the lifetime is over, where the cache has forgotten what it kept until then', async () => {
    const { isolate, pass, forget } = deployment();
    const { send, causes } = isolate();
    const ask = (steps: number) => send(translated(of(steps, WHOLE, fields)), path);
    for (const steps of [3, 4]) await ask(steps);
    pass(minutes);
    forget();
    await ask(5);
    await ask(6);
    forget();
    await ask(7);
    expect(await causes()).toEqual([undefined, undefined, 'lifetime', undefined, 'vendor']);
  });
});

describe('a miss after a pause', () => {
  it('is not that the lifetime is over, where the request before has asked for a longer one', async () => {
    const { isolate, pass, forget } = deployment();
    const { send, causes } = isolate();
    const long = { prompt_cache_retention: '24h' };
    await send(of(3, WHOLE, long));
    pass(120);
    forget();
    await send(of(4, WHOLE, { ...long, reasoning_effort: 'low' }));
    await send(of(5));
    pass(120);
    forget();
    await send(of(6, WHOLE, long));
    expect(await causes()).toEqual([undefined, 'effort', undefined, 'lifetime']);
  });

  it('goes by what an answer has kept, and not by what the caller has said to a tool', async () => {
    const { isolate, pass, forget } = deployment();
    const { send, causes } = isolate();
    const marked = [{ type: 'text', text: 'Do.', cache_control: { type: 'ephemeral' } }];
    const looks = [calls(['c', 'find', '{"range":"1h"}']), result('c', 'nothing')];
    const ask = (steps: number) => {
      const { messages, ...rest } = of(steps, WHOLE, { model: 'claude-sonnet-5-5', max_tokens: 100 });
      const all = [{ role: 'system', content: marked }, user('go'), ...looks, ...messages];
      return send(messagesBody({ ...rest, messages: all }), '/v1/messages');
    };
    await ask(3);
    pass(20);
    forget();
    await ask(4);
    expect(await causes()).toEqual([undefined, 'lifetime']);
  });
});

describe('a miss of a request after one that another isolate has sent', () => {
  it("is Precis's own, where only the other one knew what it sent", async () => {
    const { isolate } = deployment();
    const [a, b] = [isolate(), isolate()];
    await a.send(of(5, MOVES));
    // It cannot know that the contents are stored, so they are whole.
    for (const operation of ['get', 'head', 'put', 'list'] as const) b.failing.add(operation);
    await b.send(of(6, MOVES));
    expect(await a.causes()).toEqual([undefined, 'move']);
    const { cache_miss: miss, bill } = (await a.runs())[1] ?? {};
    expect(bill?.debits.broken_cache).toBe(miss?.amount);
  });

  it("is not Precis's own where both have sent the same", async () => {
    const { isolate, forget } = deployment();
    const [a, b] = [isolate(), isolate()];
    for (const steps of [3, 4, 5]) await a.send(of(steps, MOVES));
    forget();
    await b.send(of(5, MOVES));
    expect(await a.causes()).toEqual([undefined, undefined, 'move', 'vendor']);
  });
});
