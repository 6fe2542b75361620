import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listConversationDefinition } from '../../../src/retrieval/list-refs.ts';
import { searchConversationDefinition } from '../../../src/retrieval/search-memory.ts';
import { definitionOf } from '../../../src/retrieval/tool.ts';
import { DEFAULT_ANSWER } from '../../../tools/upstream/behaviours.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';

const deployment = deploy();

const STRANGER = 'sk-another-key-of-the-end-to-end-tests';
const TOOLS = [
  definitionOf('retrieve_ref'),
  listConversationDefinition(),
  searchConversationDefinition('words'),
];

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

/** A connected client of the protocol. */
async function connected(headers: Record<string, string> = {}, path = '/mcp'): Promise<Client> {
  const client = new Client({ name: 'a client of the end-to-end tests', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${KEY}`, ...headers } };
  const transport = new StreamableHTTPClientTransport(new URL(path, deployment.url), { requestInit });
  // Its `sessionId` may be undefined, which the interface does not allow for.
  await client.connect(transport as Parameters<Client['connect']>[0]);
  clients.push(client);
  return client;
}

/** The result of a call, as the client's model sees it. */
interface Reported {
  readonly text: string;
  readonly isError: boolean | undefined;
}

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<Reported> {
  const { content, isError } = CallToolResultSchema.parse(await client.callTool({ name, arguments: args }));
  const [block, ...more] = content;
  if (block?.type !== 'text' || more.length > 0) throw new Error('a result that is not one text');
  return { text: block.text, isError };
}

/** A request without the client. */
const post = (message: object | string, headers: Record<string, string> = {}): Promise<Response> =>
  deployment.postTo('/mcp', message, { accept: 'application/json, text/event-stream', ...headers });

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'retrieve_ref', arguments: { ref: 'one' } },
};
const CANCEL = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

describe('the tools', () => {
  it.each(['/mcp', '/v1/mcp', '/any/prefix/mcp'])(
    'are a model’s, in the same words, under %s',
    async (path) => {
      const { tools } = await (await connected({}, path)).listTools();

      expect(tools).toEqual(
        TOOLS.map(({ function: { name, description, parameters } }) => ({
          name,
          description,
          inputSchema: parameters,
          annotations: { readOnlyHint: true },
        })),
      );
    },
  );

  it('are no others', async () => {
    const client = await connected();

    await expect(client.callTool({ name: 'delete_ref', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe('retrieve_ref', () => {
  const figs = linesAbout('figs');
  let ref = '';

  beforeAll(async () => {
    const { memory } = await deployment.ask({
      messages: conversationOf([figs]),
      memory_strategy: COMPACT_OLD_TURNS,
    });
    ref = memory.refs[0]?.ref ?? '';
    expect(memory.refs).toHaveLength(1);
  });

  it('gives the whole of what a compacted conversation names', async () => {
    expect(await call(await connected(), 'retrieve_ref', { ref })).toEqual({ text: figs, isError: false });
  });

  it('gives it as often as it is asked for', async () => {
    const client = await connected();

    for (const _ of [1, 2]) expect((await call(client, 'retrieve_ref', { ref })).text).toBe(figs);
  });

  it('gives parts', async () => {
    const client = await connected();
    const all = figs.split('\n');

    const some = await call(client, 'retrieve_ref', { ref, lines: '2-3' });
    const around = await call(client, 'retrieve_ref', { ref, grep: '17 of figs' });
    const none = await call(client, 'retrieve_ref', { ref, grep: '17 of pears' });

    expect(some).toEqual({ text: all.slice(1, 3).join('\n'), isError: false });
    expect(around.text).toContain(all[16]);
    expect(around.text.split('\n')).toHaveLength(5);
    expect(none).toEqual({ text: '(nothing)', isError: false });
  });

  it('is cut to max_tokens, with the way to the rest', async () => {
    const { text, isError } = await call(await connected(), 'retrieve_ref', { ref, max_tokens: 100 });

    const [, last = ''] = /\[cut after line (\d+) of 40; ask for lines=/.exec(text) ?? [];
    expect(text.split('\n').slice(0, -1)).toEqual(figs.split('\n').slice(0, Number(last)));
    expect(Number(last)).toBeGreaterThan(0);
    expect(isError).toBe(false);
  });

  it('gives nothing to another tenant', async () => {
    const stranger = await connected({ authorization: `Bearer ${STRANGER}` });

    const { text, isError } = await call(stranger, 'retrieve_ref', { ref });

    expect([text, isError]).toEqual([expect.stringContaining(`There is nothing under "${ref}"`), true]);
  });

  it.each<[object, string]>([
    [{ ref: 'the first one' }, 'There is nothing under "the first one"'],
    [{ ref: `ref_${'a'.repeat(26)}` }, 'There is nothing under "ref_aaa'],
    [{}, 'ref is not valid'],
  ])('says what is wrong with %j', async (args, words) => {
    const reply = await call(await connected(), 'retrieve_ref', { ...args });

    expect(reply).toEqual({ text: expect.stringContaining(words), isError: true });
  });

  it('says what is wrong with a question', async () => {
    const reply = await call(await connected(), 'retrieve_ref', { ref, lines: 'all' });

    expect(reply).toEqual({ text: expect.stringContaining('lines must be a range'), isError: true });
  });

  it('says that a content was deleted', async () => {
    const { memory } = await deployment.ask({
      messages: conversationOf([linesAbout('plums')]),
      memory_strategy: COMPACT_OLD_TURNS,
    });
    const gone = memory.refs[0]?.ref ?? '';
    expect((await deployment.fetch(`/v1/refs/${gone}`, { method: 'DELETE' })).status).toBe(200);

    const reply = await call(await connected(), 'retrieve_ref', { ref: gone });

    expect(reply).toEqual({ text: expect.stringContaining('no longer kept'), isError: true });
  });
});

describe('retrieve_ref of an image that was removed', () => {
  const PIXELS = Buffer.from(Array.from({ length: 9_000 }, (_, at) => (at * 7_919 + (at >> 5)) & 255));
  const base64 = PIXELS.toString('base64');
  const image_url = `data:image/png;base64,${base64}`;
  const call_id = 'call_shot';
  const memory = { memory_strategy: COMPACT_OLD_TURNS, memory_report: true };

  /** The ref of a screenshot with these parts, over the Responses API. */
  async function refOf(parts: readonly object[]): Promise<string> {
    const input = [
      user('Look at the cart.'),
      { type: 'function_call', call_id, name: 'screenshot', arguments: '{}' },
      { type: 'function_call_output', call_id, output: parts },
      assistant('I have seen it.'),
      user('Thank you.'),
    ];
    const body = JSON.stringify({ model: 'gpt-4.1', store: false, input, ...memory });
    const response = await deployment.fetch('/v1/responses', { method: 'POST', body });
    const { memory: report } = (await response.json()) as { memory?: { refs: { ref: string }[] } };
    expect(report?.refs).toHaveLength(1);
    return report?.refs[0]?.ref ?? '';
  }

  const contentOf = async (args: Record<string, unknown>) => {
    const result = await (await connected()).callTool({ name: 'retrieve_ref', arguments: args });
    return CallToolResultSchema.parse(result);
  };

  it.each([
    ['alone', [], /^\[image, image\/png, 9000 bytes; it follows\]$/],
    [
      'behind its caption',
      [{ type: 'input_text', text: 'the cart' }],
      /^the cart\n\[image, image\/png, 9000 bytes; it follows\]$/,
    ],
  ])('gives the image itself, %s', async (_, caption, words) => {
    const { content, isError } = await contentOf({
      ref: await refOf([...caption, { type: 'input_image', image_url }]),
    });

    expect(isError).toBe(false);
    expect(content).toEqual([
      { type: 'text', text: expect.stringMatching(words) },
      { type: 'image', data: base64, mimeType: 'image/png' },
    ]);
  });

  it('gives words about a file, which a result of the protocol has no block for', async () => {
    const file_data = `data:application/pdf;base64,${base64}`;
    const { content } = await contentOf({
      ref: await refOf([{ type: 'input_file', filename: 'bill.pdf', file_data }]),
    });

    expect(content).toEqual([{ type: 'text', text: expect.stringContaining('bill.pdf') }]);
    expect(JSON.stringify(content)).not.toContain(base64.slice(0, 100));
  });

  it('gives no image to a question about its text', async () => {
    const ref = await refOf([
      { type: 'input_text', text: 'the cart' },
      { type: 'input_image', image_url },
    ]);

    expect((await contentOf({ ref, grep: 'cart' })).content).toEqual([
      { type: 'text', text: expect.stringContaining('the cart') },
    ]);
  });

  it('gives nothing to another tenant', async () => {
    const ref = await refOf([{ type: 'input_image', image_url }]);
    const stranger = await connected({ authorization: `Bearer ${STRANGER}` });

    expect(await call(stranger, 'retrieve_ref', { ref })).toEqual({
      text: expect.stringContaining('There is nothing under'),
      isError: true,
    });
  });
});

describe('list_refs', () => {
  const conversation_id = 'a conversation / whose refs are listed';
  const [pears, plums] = [linesAbout('listed pears'), linesAbout('listed plums')];
  const listed = async (args: Record<string, unknown>, headers = {}) =>
    (await call(await connected(headers), 'list_refs', { conversation_id, ...args })).text;

  beforeAll(async () => {
    const asked = { memory_strategy: COMPACT_OLD_TURNS, messages: conversationOf([pears, plums]) };
    const { memory } = await deployment.ask({ ...asked, conversation_id });
    expect(memory.refs).toHaveLength(2);
    await until('the refs are noted', async () => (await listed({})).split('\n').length === 2);
  });

  it('gives one line for each content that was removed: ref, tool, call, tokens, and how it begins', async () => {
    const line = /^ref_[a-z2-7]{26} read_file \(call_id=call_\d+\), \d+ tokens: .*listed (pears|plums)/;
    for (const text of (await listed({})).split('\n')) expect(text).toMatch(line);
    const [ref = ''] = (await listed({ query: 'Listed PLUMS' })).split(' ', 1);
    expect(await call(await connected(), 'retrieve_ref', { ref })).toEqual({ text: plums, isError: false });
    expect(await listed({ tool: 'read_file' })).toBe(await listed({}));
  });

  it('says that there is nothing of the kind', async () => {
    expect(await listed({ tool: 'write_file' })).toContain('Nothing of the kind was removed.');
    expect(await listed({ query: 'quinces' })).toContain('Nothing of the kind was removed.');
  });

  it.each<[object, string]>([
    [{ conversation_id: 'unheard of' }, "Nothing is stored for the conversation 'unheard of'."],
    [{ conversation_id: 'unheard of' }, 'name that user here too, as user or by the header'],
    [{ user: 'another' }, "of the user 'another'"],
    [{ conversation_id: '' }, 'Which conversation?'],
    [{ query: 7 }, 'query is not valid'],
  ])('says what is wrong with %j', async (args, words) => {
    expect(await listed({ ...args })).toContain(words);
  });

  it('lists nothing of another tenant', async () => {
    const reply = await listed({}, { authorization: `Bearer ${STRANGER}` });

    expect(reply).toContain('Nothing is stored for the conversation');
  });
});

describe('search_memory', () => {
  const conversation_id = 'a conversation / that is searched';
  const talk = [
    user('Where is the white whale?'),
    assistant('South of the Cape.'),
    user('And which ship hunts the whale, the white one, the whale of whales?'),
  ];

  beforeAll(async () => {
    const asked = { conversation_id, memory_strategy: { mode: 'compact', archive: true } };
    await deployment.ask({ ...asked, messages: talk });
    await deployment.ask({ ...asked, user: 'ishmael', messages: [user('Call me what you like.')] });
    for (const [name, count] of [
      ['', 4],
      ['ishmael', 2],
    ] as const)
      await until(`the messages of '${name}' are archived`, async () => (await archived(name)) === count);
  });

  async function archived(name: string): Promise<number> {
    const path = `/v1/conversations/${encodeURIComponent(conversation_id)}/messages`;
    const response = await deployment.fetch(path, { headers: { 'x-memory-user': name } });
    return ((await response.json()) as { data?: unknown[] }).data?.length ?? 0;
  }

  it('finds messages of an archived conversation, the best first', async () => {
    const reply = await call(await connected(), 'search_memory', { query: 'WHALE white', conversation_id });

    expect(reply.isError).toBe(false);
    expect(reply.text.split('\n\n').sort()).toEqual([
      `[0 user] ${talk[0]?.content}`,
      `[2 user] ${talk[2]?.content}`,
    ]);
  });

  it('finds answers', async () => {
    const query = DEFAULT_ANSWER.content;

    const reply = await call(await connected(), 'search_memory', { query, conversation_id });

    expect(reply).toEqual({ text: `[3 assistant] ${query}`, isError: false });
  });

  it('searches the conversation that the headers name, unless the call names one', async () => {
    const client = await connected({ 'x-conversation-id': conversation_id });

    const inHeader = await call(client, 'search_memory', { query: 'Cape' });
    const inCall = await call(client, 'search_memory', { query: 'Cape', conversation_id: 'another one' });

    expect(inHeader).toEqual({ text: '[1 assistant] South of the Cape.', isError: false });
    expect(inCall.isError).toBe(true);
  });

  it('searches the conversation of a user; the one in the headers comes first', async () => {
    const found = { text: '[0 user] Call me what you like.', isError: false };
    const args = { query: 'like', conversation_id };
    const ishmaels = await connected({ 'x-memory-user': 'ishmael' });

    expect(await call(await connected(), 'search_memory', { ...args, user: 'ishmael' })).toEqual(found);
    expect(await call(ishmaels, 'search_memory', { ...args, user: 'ahab' })).toEqual(found);
    expect((await call(await connected(), 'search_memory', args)).text).toContain('No message holds');
  });

  it('says that it has found nothing', async () => {
    const reply = await call(await connected(), 'search_memory', { query: 'harpoon', conversation_id });

    expect(reply).toEqual({ text: expect.stringContaining('No message holds all'), isError: false });
  });

  it.each<[object, string]>([
    [
      { query: 'whale', conversation_id: 'unheard of' },
      "Nothing is stored for the conversation 'unheard of'.",
    ],
    [{ query: 'whale' }, 'Which conversation?'],
    [{ query: ' ', conversation_id }, 'query is not valid'],
    [{ conversation_id }, 'query is not valid'],
    [{ query: 'whale', conversation_id: 'x'.repeat(257) }, 'must be a string of 1 to 256 characters'],
  ])('says what is wrong with %j', async (args, words) => {
    const reply = await call(await connected(), 'search_memory', { ...args });

    expect(reply).toEqual({ text: expect.stringContaining(words), isError: true });
  });

  it('finds nothing of another tenant', async () => {
    const stranger = await connected({ authorization: `Bearer ${STRANGER}` });

    const reply = await call(stranger, 'search_memory', { query: 'whale', conversation_id });

    expect(reply).toEqual({ text: expect.stringContaining('Nothing is stored'), isError: true });
  });
});

describe('the endpoint', () => {
  it.each(['Bearer short', 'Basic c2stdGhlLWtleS1vZi1hLXRlc3Q6'])(
    'asks for a key: %s',
    async (authorization) => {
      const response = await post(PING, { authorization });

      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
      await expect(connected({ authorization })).rejects.toThrow('invalid_api_key');
    },
  );

  it.each(['GET', 'HEAD', 'DELETE', 'PUT'])('does not take %s', async (method) => {
    const response = await deployment.fetch('/mcp', { method, headers: { accept: 'text/event-stream' } });

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  it('knows no sessions: any request is answered by itself', async () => {
    const response = await post(PING);

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.has('mcp-session-id')).toBe(false);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it.each([
    ['', -32700],
    ['{', -32700],
    ['"ping"', -32600],
    ['{"method":"ping"}', -32600],
  ])('refuses what is no message: %s', async (body, code) => {
    const response = await post(body);

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } });
  });

  it.each([[[PING]], [[PING, { ...PING, id: 2 }]], [[]], [[CALL, CANCEL]], ['\ufeff\n []']])(
    'refuses a batch: %j',
    async (batch) => {
      const response = await post(batch);

      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        error: { code: -32600, message: expect.stringContaining('batch') },
        id: null,
      });
    },
  );

  it('answers pages of its own origin, and of no other', async () => {
    const own = await post(PING, { origin: new URL(deployment.url).origin });
    const others = await Promise.all(
      ['https://elsewhere.test', 'null', `${deployment.url}0`].map((origin) => post(PING, { origin })),
    );

    expect(own.status).toBe(200);
    for (const other of others) {
      expect(other.status).toBe(403);
      expect(await other.json()).toEqual({
        jsonrpc: '2.0',
        error: { code: -32000, message: expect.any(String) },
        id: null,
      });
    }
  });

  it('says that it has no documents about how to sign in', async () => {
    const response = await deployment.fetch('/.well-known/oauth-protected-resource/mcp');

    expect(response.status).toBe(404);
  });

  it('never goes upstream', async () => {
    await (await connected()).listTools();

    expect(deployment.upstream.requests).toEqual([]);
  });
});
