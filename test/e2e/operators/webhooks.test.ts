import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { assistant, result, user } from '../../support/conversations/chat.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of the deployer, of 32 b').toString('base64')}`;

interface Event {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const received: { id: unknown; event: Event; text: string }[] = [];
/** How many deliveries fail from now on. */
let failing = 0;
let tries = 0;

const bodyOf = async (request: IncomingMessage) => Buffer.concat(await request.toArray()).toString();

const receiver = createServer(async (request, response) => {
  const text = await bodyOf(request);
  tries++;
  if (failing > 0) {
    failing--;
    response.writeHead(500).end();
    return;
  }
  const event = new Webhook(WEBHOOK_SECRET).verify(text, request.headers as Record<string, string>) as Event;
  received.push({ id: request.headers['webhook-id'], event, text });
  response.writeHead(204).end();
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
afterAll(() => receiver.close());
const WEBHOOK_URL = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;

const summarizer = await startRollingSummarizer();
const deployment = deploy({
  vars: { ...summarizer.vars, WEBHOOK_URL, WEBHOOK_SECRET },
  limits: { webhookPauseMs: 50, longerWebhookPauseMs: 100 },
});

beforeEach(() => {
  received.length = 0;
  failing = 0;
  tries = 0;
});

const ofType = (type: string): Event[] =>
  received.map(({ event }) => event).filter((one) => one.type === type);

/** Each answer that closes a turn reports it, maybe after all else that a test waits for. */
const turnsAreReported = (turns: number): Promise<void> =>
  until('all turns are reported', () => ofType('turn.added').length >= turns);

async function first(type: string): Promise<Event | undefined> {
  await until(`${type} is received`, () => ofType(type).length > 0);
  return ofType(type)[0];
}

const tenant = expect.stringMatching(/^[0-9a-f]{32}$/);

overProtocols('a callback', deployment, (protocol) => {
  const named = { conversation_id: `case over ${protocol.name}`, user: 'ann' };
  const ids = { tenant, user: 'ann', conversation: named.conversation_id };
  const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };
  const messages = [0, 1, 2, 3, 4].flatMap((n) => [
    user(`Question ${n} over ${protocol.name}: ${'what follows from that? '.repeat(60)}`),
    assistant(`Answer ${n}. ${'This is the answer to it. '.repeat(60)}`),
  ]);
  const asked = {
    ...named,
    memory_strategy: SUMMARIZE,
    messages: [...messages, user('And?')],
  };

  it.each(ofTurn(1, [false, true]))(
    'reports a turn and a frontier that has moved, with stream: %s',
    async (stream) => {
      const response = await deployment.chat({
        model: recording.model,
        tools: recording.tools,
        messages: recording.messages.slice(0, 43),
        memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'off' },
        stream,
        ...named,
      });
      await response.text();
      await (
        await deployment.chat({
          model: 'gpt-4.1',
          ...named,
          stream,
          messages: [user('Hi')],
        })
      ).text();

      await until('both turns are reported', () => ofType('turn.added').length === 2);
      expect(ofType('turn.added').map(({ data }) => data)).toContainEqual({ ...ids, turns: 1, messages: 1 });
      expect((await first('frontier.moved'))?.data).toEqual({
        ...ids,
        mode: 'compact',
        unit: expect.any(Number),
        tokens_before: Number(response.headers.get('x-memory-tokens-before')),
        tokens_after: Number(response.headers.get('x-memory-tokens-after')),
      });
    },
  );

  it('reports a summary, and health that has changed', async () => {
    summarizer.fail(400);
    await deployment.ask(asked);
    summarizer.work();

    expect((await first('summary.updated'))?.data).toEqual({
      ...ids,
      memory_id: expect.any(Number),
      status: 'failed',
      generation_time_ms: 0,
      base_memory_id: null,
      start_sequence: 0,
      end_sequence: expect.any(Number),
      tokens: null,
      base_tokens: null,
    });
    expect((await first('health.changed'))?.data).toEqual({ ...ids, before: 'healthy', health: 'degraded' });
    await turnsAreReported(1);
  });

  it.each(ofTurn(0, [false, true]))(
    'reports a turn when its answer closes it, with stream: %s',
    async (stream) => {
      const calls = [{ id: 'call_1', name: 'search', arguments: '{}' }];
      const question = user('Find it.');
      const asking = { role: 'assistant', content: null, tool_calls: [] as object[] };
      asking.tool_calls.push({
        id: 'call_1',
        type: 'function',
        function: { name: 'search', arguments: '{}' },
      });
      const ask = async (sent: object[]) => {
        const body = {
          model: 'gpt-4.1',
          ...named,
          conversation_id: `${named.conversation_id} ${stream}`,
          stream,
        };
        await (await deployment.chat({ ...body, messages: sent })).text();
      };
      deployment.upstream.next({ type: 'answer', toolCalls: calls });
      await ask([question]);
      deployment.upstream.next({ type: 'error', status: 500 });
      await ask([question]);
      await ask([question, asking, result('call_1', 'Found.')]);

      const conversation = `${named.conversation_id} ${stream}`;
      expect((await first('turn.added'))?.data).toEqual({
        ...ids,
        conversation,
        turns: 1,
        messages: protocol.name === 'chat' ? 3 : expect.any(Number),
      });
      expect(ofType('turn.added')).toHaveLength(1);
    },
  );

  it('says of a version what it builds on, its span and the tokens of both', async () => {
    const conversation_id = `of two versions, over ${protocol.name}`;
    const rolling = { mode: 'rolling_summary', full_zone_turns: 0, retry_attempts: 0 };
    const to = new Talk(deployment, { ...named, conversation_id, memory_strategy: rolling });
    await to.rounds(1, 4);

    await until('both versions are reported', () => ofType('summary.updated').length === 2);
    const [before, after] = ofType('summary.updated').map(({ data }) => data);
    const common = { ...ids, conversation: conversation_id, status: 'completed', start_sequence: 0 };
    expect(before).toEqual({
      ...common,
      memory_id: 1,
      generation_time_ms: expect.any(Number),
      base_memory_id: null,
      end_sequence: 5,
      tokens: expect.any(Number),
      base_tokens: null,
    });
    expect(after).toEqual({
      ...before,
      memory_id: 2,
      generation_time_ms: expect.any(Number),
      base_memory_id: 1,
      end_sequence: 7,
      tokens: expect.any(Number),
      base_tokens: before?.tokens,
    });
    await turnsAreReported(4);
  });

  it('reports a limit that was learned', async () => {
    deployment.upstream.next({ type: 'window', tokens: 3_000 });
    const long = Array.from({ length: 8 }, (_, n) => ({
      ...messages[n],
      content: `${n} ${'word '.repeat(700)}`,
    }));
    await (
      await deployment.chat({
        model: `gpt-4.1`,
        messages: [...long, user('And?')],
        memory_strategy: { mode: 'trim', token_budget: 100_000 },
      })
    ).text();

    expect((await first('limit.learned'))?.data).toEqual({
      tenant,
      model: 'gpt-4.1',
      stated: expect.any(Number),
      tokens: expect.any(Number),
    });
    await turnsAreReported(1);
  });

  it('is signed, tried again under the same id, and holds no content and no key', async () => {
    failing = 2;
    const words = 'the words of the caller';
    await deployment.ask({ ...named, messages: [user(words)] });

    await first('turn.added');
    expect(tries).toBe(3);
    const [{ id, text } = { id: '', text: '' }] = received;
    expect(id).toMatch(/^msg_/);
    for (const secret of [words, KEY, 'This is what']) expect(text).not.toContain(secret);
  });

  it('is given up after three tries, and delays no request', async () => {
    failing = 3;
    const lost = () => deployment.worker.output().split('a callback could not be delivered').length;
    const before = lost();
    await deployment.ask({ ...named, messages: [user('Hello.')] });
    expect(received).toEqual([]);
    await until('it is given up', () => lost() > before);
    expect([tries, received]).toEqual([3, []]);
  });
});
