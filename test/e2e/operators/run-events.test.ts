/** The events of requests, as a caller of the built Worker reads them. */
import { spawnSync } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import type { ListedRun, OutlinedMessage, RunEvent } from '../../../src/memory/run/event.ts';
import { behave, respond, sendAnswer } from '../../../tools/upstream/behaviours.ts';
import { type Answer, usageOf } from '../../../tools/upstream/completion.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { saidStream } from '../../support/conversations/said-stream.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { CHAT, overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: '2000' } });

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('events')]);
const TOOLS = { ...COMPACT_OLD_TURNS, compact_retrieval: 'tool' };

let made = 0;

overProtocols('the events of a conversation', deployment, (protocol) => {
  /** A new conversation, and its newest event. */
  function talk(more: object = {}) {
    const conversation_id = `events ${++made}`;
    const path = `/v1/conversations/${encodeURIComponent(conversation_id)}/requests`;
    const body = { model, messages, memory_strategy: COMPACT_OLD_TURNS, conversation_id, ...more };
    const read = async <Body>(of: string): Promise<Body> => (await deployment.fetch(path + of)).json();
    const list = async () => (await read<{ data: ListedRun[] }>('')).data;
    const newest = async () => {
      let runs: ListedRun[] = [];
      // A stream's last bytes come before the work that follows it.
      await until('its event is kept', async () => {
        runs = (await list()) ?? [];
        return runs.length > 0;
      });
      return read<RunEvent & { outline: OutlinedMessage[] }>(`/${runs[0]?.n}`);
    };
    return { body, newest };
  }

  it.each([
    ['whole', { stream: false }],
    ['whole, with the report', { stream: false, memory_report: true }],
    ['streamed', { stream: true, stream_options: { include_usage: true } }],
  ])('say what became of an answer that is %s', async (_, fields) => {
    const { body, newest } = talk(
      protocol.name === 'responses' ? { ...fields, stream_options: undefined } : fields,
    );
    const response = await deployment.chat(body);
    await response.text();

    const event = await newest();

    expect(event).toMatchObject({
      n: 1,
      protocol: protocol.name,
      kind: 'answer',
      model,
      mode: 'compact',
      stream: fields.stream,
      observed: false,
      messages: messages.length,
      status: 200,
      ended: 'complete',
      error: null,
      retrieval_rounds: 0,
      usage: { input: expect.any(Number), output: expect.any(Number) },
    });
    expect(event.usage?.input).toBeGreaterThan(0);
    expect(String(event.tokens?.after)).toBe(response.headers.get('x-memory-tokens-after'));
    expect(event.edits).toMatchObject([{ kind: 'output', reason: 'context_compaction' }]);
    expect(event.outline.map(({ index }) => index)).toEqual([...messages.keys()]);
    const edited = event.outline.filter(({ fate }) => fate === 'placeholder');
    expect(edited.map(({ index }) => index)).toEqual(event.edits.map(({ message }) => message));
    expect(refsIn(deployment.lastChat().body.messages)).toEqual(event.edits.map(({ ref }) => ref));
    const { upstream, first_byte, total } = event.ms;
    expect(upstream).toBeLessThanOrEqual(first_byte ?? 0);
    expect(first_byte).toBeLessThanOrEqual(total ?? 0);
  });

  it.each([
    ['dies', { type: 'die-mid-stream' }, 'upstream_broke'],
    ['falls silent', { type: 'hang-mid-stream' }, 'upstream_broke'],
    ['ends without having finished', { type: 'end-without-done' }, 'upstream_broke'],
  ] as const)('say that a stream was broken off, if its upstream %s', async (_, behaviour, ended) => {
    const { body, newest } = talk({ stream: true });
    deployment.upstream.next(behaviour);
    await (await deployment.chat(body)).text();

    expect(await newest()).toMatchObject({ status: 200, ended, usage: null });
  });

  it('say that a body was broken off before it could be read', async () => {
    const { body, newest } = talk({ memory_report: true });
    deployment.upstream.next({ type: 'break-off', status: 200, body: '{"id":' });
    expect((await deployment.chat(body)).status).toBe(502);

    expect(await newest()).toMatchObject({ status: 502, ended: 'error', error: 'upstream_unreachable' });
  });

  it('say that the upstream has refused', async () => {
    await (await deployment.chat(talk().body)).text();
    const { body, newest } = talk();
    deployment.upstream.next({ type: 'error', status: 429 });
    expect((await deployment.chat(body)).status).toBe(429);

    expect(await newest()).toMatchObject({ status: 429, ended: 'error', error: null, usage: null });
  });

  it('say that the caller has left', async () => {
    const { open, words } = saidStream(protocol, ['more']);
    const { body, newest } = talk({ stream: true });
    deployment.upstream.next((_: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(open);
      const timer = setInterval(() => response.write(words[0]), 20);
      response.on('close', () => clearInterval(timer));
    });

    const stream = await deployment.client().chat.completions.create(body as never);
    for await (const chunk of stream as unknown as AsyncIterable<{
      choices: { delta: { content?: string } }[];
    }>)
      if (chunk.choices[0]?.delta.content === 'more') break;

    expect(await newest()).toMatchObject({ status: 200, ended: 'caller_left', usage: null });
  });

  it.each(ofTurn(1, [false, true]))(
    'add up all rounds of a model that fetches, streamed: %s',
    async (stream) => {
      const { body, newest } = talk({ memory_strategy: TOOLS, stream, memory_report: !stream });
      deployment.upstream.next((request, response, recorded) => {
        const [ref = ''] = refsIn(deployment.protocol.seen(recorded).body.messages);
        const toolCalls = [{ id: 'call_1', name: 'retrieve_ref', arguments: JSON.stringify({ ref }) }];
        void behave({ type: 'answer', toolCalls }, request, response, recorded);
      });
      const before = deployment.chats().length;
      const response = await deployment.wire(protocol.body(body as never));
      await response.text();
      expect(deployment.chats().length - before).toBe(2);

      expect(await newest()).toMatchObject({ retrieval_rounds: 1, ended: 'complete', status: 200 });
    },
  );

  it('have the cached tokens of the view beside all rounds’', async () => {
    const { body, newest } = talk({ memory_strategy: TOOLS });
    const reads = (answer: Answer, cached: number, response: ServerResponse, recorded: RecordedRequest) => {
      const usage = { ...usageOf(1_000, 5), prompt_tokens_details: { cached_tokens: cached } };
      if (protocol === CHAT) sendAnswer(response, recorded.body, answer, { id: 'chatcmpl-1', model, usage });
      else respond(response, recorded.body, { ...answer, usage });
    };
    deployment.upstream.next(
      (_, response, recorded) => {
        const [ref = ''] = refsIn(deployment.protocol.seen(recorded).body.messages);
        const toolCalls = [{ id: 'call_1', name: 'retrieve_ref', arguments: JSON.stringify({ ref }) }];
        reads({ toolCalls }, 300, response, recorded);
      },
      (_, response, recorded) => reads({ content: 'Well.' }, 900, response, recorded),
    );
    await (await deployment.chat(body)).text();

    expect(await newest()).toMatchObject({
      retrieval_rounds: 1,
      usage: { input: 2_000, cached: 1_200 },
      view_cached: 300,
    });
  });

  it('have the plan beside a request that is observed', async () => {
    const { body, newest } = talk({ memory_strategy: { ...COMPACT_OLD_TURNS, observe: true } });
    const response = await deployment.chat(body);
    await response.text();

    const event = await newest();

    expect(event).toMatchObject({ observed: true, ended: 'complete', edits: [{ kind: 'output' }] });
    expect(String(event.tokens?.after)).toBe(response.headers.get('x-memory-potential-after'));
  });

  it('are gone with their conversation at once', async () => {
    const { body } = talk();
    const path = `/v1/conversations/${encodeURIComponent(body.conversation_id)}`;
    for (let n = 0; n < 3; n++) {
      await (await deployment.chat(body)).text();
      expect((await deployment.fetch(`${path}/memory`, { method: 'DELETE' })).status).toBe(200);
      expect((await deployment.fetch(`${path}/requests`)).status).toBe(404);
    }
  });
});

it('`precis why` finds a request by its id or the newest one, and says why it was shortened, and of an unknown id what leaves no event', async () => {
  const id = `why ${++made}`;
  const body = { model, messages, memory_strategy: COMPACT_OLD_TURNS, conversation_id: id };
  const request = await deployment.chat(body);
  await request.text();
  const path = `/v1/conversations/${encodeURIComponent(id)}/requests`;
  await until('its event is kept', async () => (await deployment.fetch(`${path}/1`)).ok);
  const { request_id } = (await (await deployment.fetch(`${path}/1`)).json()) as RunEvent;
  const why = (...args: string[]) =>
    spawnSync(process.execPath, ['bin/precis.js', 'why', ...args, '--url', deployment.url], {
      env: { PATH: process.env.PATH, OPENAI_API_KEY: KEY },
      encoding: 'utf8',
    });

  const { stdout, status } = why(request_id ?? '');
  expect(stdout).toMatch(/^\d+ contents? (?:is a placeholder|are placeholders); .* because /);
  expect(status).toBe(0);
  const newest = { model, messages: messages.slice(0, 2), conversation_id: `newest of ${id}` };
  await (await deployment.chat(newest)).text();
  expect(why('--conversation', id).stdout).toBe(stdout);
  await until('the newest one is found', async () => /^2 messages /.test(why().stdout));
  const unknown = why('req_of_nobody', '--conversation', id);
  expect(unknown.stderr).toMatch(/^No event of req_of_nobody is kept\. If .* name it by --user\.$/m);
  expect(unknown.stderr).toContain('by its header x-memory-strategy');
  expect(unknown.status).toBe(1);
});
