/**
 * Reasoning before calls of our tools, on an upstream that does not store it: it is streamed to the
 * caller at once, and is never sent upstream again without the call that it led to.
 */
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type Behaviour, refuse, respond } from '../../../tools/upstream/behaviours.ts';
import { eventsOf, type ResponseAnswer } from '../../../tools/upstream/response.ts';
import { responsesViolations } from '../../../tools/upstream/strict-responses.ts';
import { agentsLoop, aiSdkLoop, type Setting } from '../../support/clients/client-loops.ts';
import { OPENAI_VERSIONS, openaiOf } from '../../support/clients/openai-versions.ts';
import { deploy } from '../../support/deployment/deployment.ts';

type Json = Record<string, unknown>;

const ENCRYPTED = 'reasoning.encrypted_content';
const RETRIEVAL = { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' };
const UNSTORED = { model: 'gpt-5', store: false, include: [ENCRYPTED] };
const FETCHES = 2;
const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

let answers = 0;
/** Resolved when the model may send the item after its reasoning. */
let goesOn: Promise<void> = Promise.resolve();

/**
 * The faults that OpenAI's API would refuse, and reasoning that the upstream did not encrypt
 * itself.
 */
function violations({ input, ...body }: Json): string[] {
  const items = Array.isArray(input) ? (input as Json[]) : [];
  const foreign = items.filter(
    ({ type, encrypted_content: text }) => type === 'reasoning' && !`${text}`.startsWith('sealed '),
  );
  return [
    ...responsesViolations({ input, ...body, store: false }),
    ...foreign.map(({ id }) => `The encrypted content of ${id} could not be verified.`),
  ];
}

/** Thinks and fetches, as often as `FETCHES` says for each question; then thinks and answers. */
const upstream: Behaviour = async (_, response, { body }) => {
  const found = violations(body);
  if (found.length > 0) return refuse(response, 400, found.join('\n'));
  const id = `${++answers}`;
  const input: Json[] = Array.isArray(body.input) ? body.input : [];
  const asked = input.findLastIndex(({ role }) => role === 'user');
  const results = input.slice(asked).filter(({ type }) => type === 'function_call_output').length;
  const fetches = { id: `call_${id}`, name: 'retrieve_ref', arguments: '{"ref":"ref_none"}' };
  const mayFetch = (body.tools as Json[] | undefined)?.some(({ name }) => name === 'retrieve_ref');
  const said: ResponseAnswer =
    mayFetch && results < FETCHES ? { toolCalls: [fetches] } : { content: `Answer ${id}.` };
  const answer = { id, ...said, reasoning: { encrypted: `sealed ${id}`, summary: `Thought ${id}.` } };
  if (body.stream !== true) return respond(response, body, answer);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of eventsOf(body, answer)) {
    if (event.includes('"output_index":1') && event.includes('output_item.added')) await goesOn;
    response.write(event);
  }
  response.end();
};

const deployment = deploy({ upstream: { responses: upstream }, summarizer: true });
const ACCESS_KEY = 'precis-alice-0123456789abcdef';
const shared = deploy({
  upstream: { responses: upstream },
  vars: { ACCESS_KEYS: `alice=${ACCESS_KEY}`, UPSTREAM_API_KEY: 'sk-the-key-of-the-account' },
});

const base = () => ({ baseURL: `${deployment.url}/v1` });
const asked = () => deployment.upstream.requests.filter(({ path }) => path.endsWith('/responses'));
const lastInput = (): Json[] => asked().at(-1)?.body.input;

const post = (body: object, mode: unknown) =>
  deployment.postTo('/v1/responses', { ...UNSTORED, ...body }, { 'x-memory-strategy': JSON.stringify(mode) });

const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);

const HELLO: Json = { role: 'user', content: 'Hello.' };
const LATER: readonly Json[] = [
  ...['One.', 'Two.', 'Three.', 'Four.'].flatMap((content) => [
    { role: 'user', content },
    { role: 'assistant', content: `${content} ${'There is much to say of it. '.repeat(300)}` },
  ]),
  { role: 'user', content: 'Go on.' },
];
const MARK = 'precis1_reasoning';
const isMarked = ({ type, encrypted_content }: Json): boolean =>
  type === 'reasoning' && encrypted_content === MARK;

/** The output in the last event of a stream. */
const outputIn = (text: string): Json[] => {
  const { response } = eventsIn(text).at(-1) ?? {};
  return (response as Json).output as Json[];
};

/** The items of an answer with retrieval. */
const fetched = async (fields: Json = {}): Promise<Json[]> =>
  outputIn(await (await post({ input: [HELLO], stream: true, ...fields }, RETRIEVAL)).text());

describe('F24: reasoning that the upstream does not store', () => {
  it('comes before the item that it leads to has begun, and ends with it', async () => {
    const next = Promise.withResolvers<void>();
    goesOn = next.promise;
    const response = await post({ input: [HELLO], stream: true }, RETRIEVAL);
    const reader = (response.body as ReadableStream<Uint8Array>)
      .pipeThrough(new TextDecoderStream())
      .getReader();
    let text = '';
    while (!text.includes('"Thought ')) text += (await reader.read()).value;
    expect(text).toContain('"type":"response.reasoning_summary_text.delta"');
    expect(text).not.toContain('output_item.done');
    next.resolve();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;

    const events = eventsIn(text);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const output = outputIn(text);
    expect(output.map((item) => (isMarked(item) ? 'marked' : item.type))).toEqual([
      'marked',
      'marked',
      'reasoning',
      'message',
    ]);
    const ended = events.filter(({ type }) => type === 'response.output_item.done');
    expect(ended.map(({ item }) => item)).toEqual(output);
    expect(text).not.toContain('retrieve_ref');
  });

  it.each<[string, unknown]>([
    ['none', 'none'],
    ['compact', RETRIEVAL],
    ['auto', { mode: 'auto' }],
    ['trim', { mode: 'trim', max_turns: 8, keep_last_n_turns: 2 }],
    ['summarize', SUMMARIZE],
    ['rolling_summary', { mode: 'rolling_summary' }],
  ])('is sent again only with what it led to, under %s', async (_, mode) => {
    const output = await fetched();
    expect(output.filter(isMarked)).toHaveLength(FETCHES);
    const bodies = [];
    for (const items of [output, output.filter((item) => !isMarked(item))]) {
      const count = asked().length;
      const { status, headers } = await post({ input: [HELLO, ...items, ...LATER] }, mode);
      expect([status, headers.get('x-memory-warnings')]).toEqual([200, null]);
      bodies.push(`${asked()[count]?.rawBody}`);
    }
    // The same body as for a caller who left the item out.
    expect(bodies[0]).toBe(bodies[1]);
    expect(bodies[0]).toContain('Go on.');
    expect(bodies[0]).not.toContain(MARK);
    // The summary of a prefix is found by its hash.
    if (mode === SUMMARIZE) expect(deployment.summarizer.requests).toHaveLength(1);
  });

  it.each(OPENAI_VERSIONS)('comes back by the stream helper of openai %s', async (version) => {
    const client = await openaiOf(version, { ...base() });
    const input: OpenAI.Responses.ResponseInput = [];
    for (const question of ['Hello.', 'Go on.', 'And then?']) {
      input.push({ role: 'user', content: question });
      const params = { ...UNSTORED, input, memory_strategy: RETRIEVAL } as never;
      const { output } = await client.responses.stream(params).finalResponse();
      const items = JSON.parse(JSON.stringify(output), (key, value) =>
        key === 'parsed' ? undefined : value,
      );
      expect(items.map((item: Json) => (isMarked(item) ? 'marked' : item.type))).toEqual([
        'marked',
        'marked',
        'reasoning',
        'message',
      ]);
      input.push(...items);
    }
    const params = { ...UNSTORED, input: [...input, { role: 'user', content: 'Thanks.' }] } as never;
    const plain = await client.responses.stream(params).finalResponse();
    expect(plain.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(lastInput().filter(({ type }) => type === 'reasoning')).toHaveLength(3);
    expect(JSON.stringify(lastInput())).not.toContain(MARK);
  });

  it.each([
    ['@openai/agents', agentsLoop(false)],
    ['@ai-sdk/openai', aiSdkLoop(false)],
  ])('is taken by %s', async (_, loop) => {
    const headers = { 'x-memory-strategy': JSON.stringify(RETRIEVAL) };
    const setting: Setting = { ...base(), headers, fetch, book: 'flowing', stream: true };
    expect(await loop(setting)).toMatch(/^Answer \d+\.$/);
  });

  it('comes back marked to a caller who has not asked for its encrypted form', async () => {
    const output = await fetched({ include: undefined });
    expect(output.map(({ encrypted_content: form }) => form)).toEqual([MARK, MARK, undefined, undefined]);
  });

  it('belongs to every caller of a shared account, which stores nothing', async () => {
    const ask = async (items: readonly Json[]): Promise<Json[]> => {
      const response = await shared.postTo(
        '/v1/responses',
        { model: 'gpt-5', stream: true, include: [ENCRYPTED], input: items },
        { authorization: `Bearer ${ACCESS_KEY}`, 'x-memory-strategy': JSON.stringify(RETRIEVAL) },
      );
      expect(response.status).toBe(200);
      return outputIn(await response.text());
    };
    const output = await ask([HELLO]);
    expect(output.filter(isMarked)).toHaveLength(FETCHES);
    await ask([HELLO, ...output, { role: 'user', content: 'Go on.' }]);
    expect(JSON.stringify(shared.upstream.requests.at(-1)?.body)).not.toContain(MARK);
  });

  it('waits where the upstream stores it', async () => {
    const output = await fetched({ store: undefined });
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });
});
