/** Archives that are searched by words and by meaning, with a server for embeddings. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { sendJson } from '../../../tools/upstream/behaviours.ts';
import { startUpstream } from '../../../tools/upstream/upstream.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { embeddingsAnswer } from '../../support/conversations/concepts.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const EMBEDDINGS_KEY = 'sk-the-key-of-the-embeddings-0001';

const embeddings = await startUpstream({
  embeddings: (_, response, { body }) => sendJson(response, embeddingsAnswer(body)),
});
const deployment = deploy({
  vars: {
    EMBEDDINGS_BASE_URL: embeddings.url,
    EMBEDDINGS_MODEL: 'an-embedding-model',
    EMBEDDINGS_API_KEY: EMBEDDINGS_KEY,
    USER_ARCHIVE: 'on',
  },
});

beforeEach(() => {
  embeddings.requests.length = 0;
});
afterAll(() => embeddings.close());

const TALK = [
  user('I saw a humpback off the coast.'),
  assistant('How nice!'),
  user('I want to be reimbursed for the trip.'),
  assistant('I see.'),
  user('What next?'),
];
/** No word of it is in the talk. */
const PARAPHRASE = 'repay money';
const FOUND = 'I want to be reimbursed for the trip.';

interface Page {
  data: { position: number; message: { content: unknown }; snippet: string }[];
  warnings?: string[];
}

let named = 0;

/** @param by its user */
function conversation(by?: string) {
  const id = `searched by meaning ${++named}`;
  const memory_strategy = { mode: 'compact', archive: true, compact_retrieval: 'tool' };
  const ask = async (more: object = {}): Promise<string> => {
    const body = {
      model: 'gpt-4.1-mini',
      conversation_id: id,
      memory_strategy,
      messages: TALK,
      user: by,
      ...more,
    };
    const response = await deployment.chat(body);
    expect(response.status).toBe(200);
    return response.text();
  };
  const get = (q: string) => {
    const query = new URLSearchParams({ q, ...(by === undefined ? {} : { user: by }) });
    return deployment.fetch(`/v1/conversations/${encodeURIComponent(id)}/messages?${query}`);
  };
  const page = async (q: string): Promise<Page> => (await get(q)).json();
  /** Asks, and waits until its messages have vectors. */
  const embedded = async (): Promise<void> => {
    await ask();
    await until('the messages have vectors', async () => (await page(PARAPHRASE)).data?.length === 1);
    embeddings.requests.length = 0;
  };
  return { id, ask, get, page, embedded };
}

/** What the upstream's model has read from its last calls. */
const results = (): unknown[] =>
  (deployment.lastChat().body.messages as { role: string; content: unknown }[]).flatMap(
    ({ role, content }) => (role === 'tool' ? [content] : []),
  );

const inputs = (): string[] => embeddings.requests.flatMap(({ body }) => body.input as string[]);

overProtocols('a search by meaning', deployment, (protocol) => {
  it('finds a paraphrase by the route', async () => {
    const { embedded, page } = conversation();
    await embedded();

    const { data, warnings } = await page(PARAPHRASE);

    expect(data.map(({ position, snippet }) => [position, snippet])).toEqual([[2, FOUND]]);
    expect(warnings).toBeUndefined();
    expect(inputs()).toEqual([PARAPHRASE]);
  });

  it('puts a message with the words before one with their meaning alone', async () => {
    const { embedded, page, ask } = conversation();
    await embedded();
    await ask({ messages: [...TALK, assistant('And?'), user('Is there a refund?')] });
    await until('the new message has a vector', async () => (await page(PARAPHRASE)).data.length === 2);

    expect((await page('refund')).data.map(({ position }) => position)).toEqual([6, 2]);
  });

  it.each(ofTurn(0, [false, true]))(
    'finds it for the model, within its answer, streamed: %s',
    async (stream) => {
      const { embedded, ask } = conversation();
      await embedded();
      const call = { id: 'call_1', name: 'search_memory', arguments: JSON.stringify({ query: PARAPHRASE }) };
      deployment.upstream.next({ type: 'answer', toolCalls: [call] }, { type: 'answer', content: 'Found.' });

      const answer = await ask({ stream });

      expect(answer).toContain('Found.');
      expect(answer).not.toContain('search_memory');
      expect(results()).toEqual([`[2 user] ${FOUND}`]);
      expect(JSON.stringify(deployment.lastChat().body.tools)).toContain('messages with a similar meaning');
    },
  );

  it('finds it over MCP', async () => {
    const { id, embedded } = conversation();
    await embedded();
    const client = new Client({ name: 'a client of the end-to-end tests', version: '1.0.0' });
    const headers = { authorization: `Bearer ${protocol.key(KEY)}`, 'x-conversation-id': id };
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', deployment.url), {
      requestInit: { headers },
    });
    await client.connect(transport as Parameters<Client['connect']>[0]);
    const { tools } = await client.listTools();
    const search = async (query: string) =>
      CallToolResultSchema.parse(await client.callTool({ name: 'search_memory', arguments: { query } }));
    const found = await search(PARAPHRASE);
    embeddings.next({ type: 'error', status: 401 });
    const byWords = await search('reimbursed');
    await client.close();

    expect(tools.find(({ name }) => name === 'search_memory')?.description).toContain('similar meaning');
    expect(found.content).toEqual([{ type: 'text', text: `[2 user] ${FOUND}` }]);
    expect(byWords.content).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[2 user\] .*\n\n\[found by words alone/) },
    ]);
  });

  it.each([
    ['an error', { type: 'error', status: 500 }],
    ['a redirect', { type: 'redirect', location: `${embeddings.url}/elsewhere` }],
    ['silence', { type: 'hang' }],
    ['half an answer', { type: 'break-off', status: 200, body: '{"data":[' }],
  ] as const)('goes by words alone after %s, and says so', async (_, behaviour) => {
    const { embedded, get } = conversation();
    await embedded();
    embeddings.next(behaviour);

    const response = await get('reimbursed');

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toBe('embeddings_failed');
    const { data, warnings } = (await response.json()) as Page;
    expect([data.map(({ position }) => position), warnings]).toEqual([[2], ['embeddings_failed']]);
    expect(embeddings.requests.map(({ path }) => path)).toEqual(['/v1/embeddings']);
  });

  it('finds the words in one conversation of a user before their meaning in many others', async () => {
    const by = `ann over ${protocol.name}`;
    const archive = { scope: 'user' };
    const memory_strategy = { mode: 'compact', archive, compact_retrieval: 'tool' };
    const texts = ['The refund is 4711.', ...Array(11).fill('I was reimbursed.'), 'Where are we?'];
    for (const text of texts) {
      const { ask, page } = conversation(by);
      const call = { id: 'call_1', name: 'search_memory', arguments: '{"query":"refund","scope":"user"}' };
      if (text === texts.at(-1)) deployment.upstream.next({ type: 'answer', toolCalls: [call] });
      await ask({ memory_strategy, messages: [user(text)] });
      if (text !== texts.at(-1))
        await until('it has a vector', async () => (await page(PARAPHRASE)).data?.length === 1);
    }

    const places = String(results()).match(/^\[conversation .*/gm);
    expect(places).toHaveLength(10);
    expect(places?.[0]).toContain(' 0 user] The refund is 4711.');
  });

  it('sends the deployment’s key alone, and nothing of a conversation without archive', async () => {
    const { ask } = conversation();
    const unarchived = { conversation_id: 'without archive', memory_strategy: { mode: 'compact' } };
    await ask({ ...unarchived, messages: [user('Nobody may embed this.')] });
    await ask();
    await until('the messages are sent', async () => inputs().includes(FOUND));

    const keys = new Set(embeddings.requests.map(({ headers }) => headers.authorization));
    const sent = embeddings.requests.map(({ headers, rawBody }) => `${JSON.stringify(headers)} ${rawBody}`);
    expect([...keys]).toEqual([`Bearer ${EMBEDDINGS_KEY}`]);
    expect(sent.join()).not.toContain(KEY);
    expect(sent.join()).not.toContain('Nobody may embed');
    expect(deployment.worker.output()).not.toMatch(/reimbursed|sk-the-key/);
  });

  it('F1: finds nothing of another conversation that opens alike and has no name', async () => {
    const { ask } = conversation();
    const opening = [user('hi'), assistant(`Hello over ${protocol.name}!`)];
    const nameless = (said: string) =>
      ask({ conversation_id: undefined, messages: [...opening, user(said)] });
    await nameless('My automobile is parked at the harbour.');
    await until('the messages are sent', async () => inputs().some((text) => text.includes('harbour')));
    const call = { id: 'call_1', name: 'search_memory', arguments: '{"query":"vehicle"}' };
    deployment.upstream.next({ type: 'answer', toolCalls: [call] });

    await nameless('Where is it?');

    expect(results()).toEqual([expect.stringContaining('or is about them')]);
  });
});
