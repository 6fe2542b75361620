/** Both eras of the Model Context Protocol at one address. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { version } from '../../../package.json';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const deployment = deploy();

const MODERN = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'a client', version: '1.0.0' },
};
const NAMES = ['retrieve_ref', 'list_refs', 'search_memory'];

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

async function connected(mode: 'auto' | 'legacy' | { pin: string }): Promise<Client> {
  const client = new Client({ name: 'a client', version: '1.0.0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${KEY}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', deployment.url), { requestInit }));
  clients.push(client);
  return client;
}

interface Sent {
  readonly method?: string;
  readonly params?: object;
  readonly meta?: object | null;
  readonly headers?: Record<string, string>;
}

/** A request of the modern era, without the client. A header that is empty is left out. */
async function send({ method = 'tools/list', params = {}, meta = ENVELOPE, headers = {} }: Sent) {
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...headers,
  };
  const response = await deployment.fetch('/mcp', {
    method: 'POST',
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method,
      params: { ...params, ...(meta ? { _meta: meta } : {}) },
    }),
  });
  const body = (await response.json()) as {
    result?: Record<string, unknown>;
    error?: Record<string, unknown>;
  };
  return { status: response.status, headers: response.headers, ...body };
}

describe.each(['auto', 'legacy', { pin: MODERN }] as const)(
  'the client of the protocol, in mode %j',
  (mode) => {
    it('lists and calls the tools', async () => {
      const { memory } = await deployment.ask({
        messages: conversationOf([linesAbout('eras')]),
        memory_strategy: COMPACT_OLD_TURNS,
      });
      const client = await connected(mode);
      expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'legacy' ? '2025-11-25' : MODERN);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(NAMES);
      const { content, isError } = await client.callTool({
        name: 'retrieve_ref',
        arguments: { ref: memory.refs[0]?.ref },
      });
      expect([content, isError]).toEqual([[{ type: 'text', text: linesAbout('eras') }], false]);
      await expect(client.callTool({ name: 'delete_ref', arguments: {} })).rejects.toMatchObject({
        code: -32602,
      });
    });
  },
);

describe('a request of the revision 2026-07-28', () => {
  it('needs no other before it: each result is complete, and says how long a list may be kept', async () => {
    const { status, headers, result } = await send({});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.has('mcp-session-id')).toBe(false);
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'private' });
    expect(result?.tools).toHaveLength(NAMES.length);
  });

  it('discovers the server', async () => {
    const { status, result } = await send({ method: 'server/discover' });
    expect(status).toBe(200);
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: [MODERN],
      capabilities: { tools: {} },
      ttlMs: 300_000,
      cacheScope: 'private',
    });
    expect(JSON.stringify(result)).toContain(`"name":"precis","version":"${version}"`);
  });

  it('calls a tool, which its header names', async () => {
    const call = { method: 'tools/call', params: { name: 'retrieve_ref', arguments: { ref: 'one' } } };
    const { status, result } = await send({ ...call, headers: { 'mcp-name': 'retrieve_ref' } });
    expect(status).toBe(200);
    expect(result).toMatchObject({
      resultType: 'complete',
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('There is nothing under "one"') }],
    });
    for (const name of ['', 'list_refs']) {
      const refused = await send({ ...call, headers: { 'mcp-name': name } });
      expect([refused.status, refused.error?.code]).toEqual([400, -32020]);
    }
  });

  it.each([
    ['another revision in its header', { 'mcp-protocol-version': '2025-11-25' }],
    ['no revision in its header', { 'mcp-protocol-version': '' }],
    ['another method in its header', { 'mcp-method': 'tools/call' }],
    ['no method in its header', { 'mcp-method': '' }],
  ])('is refused with %s', async (_, headers) => {
    const { status, error } = await send({ headers });
    expect([status, error?.code]).toEqual([400, -32020]);
  });

  it('learns which revisions there are, if it names a later one', async () => {
    const later = '2027-01-01';
    const meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': later };
    const { status, error } = await send({ meta, headers: { 'mcp-protocol-version': later } });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: -32022, data: { supported: [MODERN], requested: later } });
  });

  it('is refused if its header names the revision, and its body does not', async () => {
    const { status, error } = await send({ meta: null });
    expect([status, error?.code]).toEqual([400, -32602]);
  });

  it.each(['ping', 'initialize', 'logging/setLevel', 'resources/list'])('has no %s', async (method) => {
    const { status, error } = await send({ method });
    expect([status, error?.code]).toEqual([404, -32601]);
  });

  it('may subscribe, and learns that there is nothing to hear of', async () => {
    const response = await deployment.postTo(
      '/mcp',
      {
        jsonrpc: '2.0',
        id: 7,
        method: 'subscriptions/listen',
        params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
      },
      {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': 'subscriptions/listen',
      },
    );
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    expect(JSON.parse(/^data: (.*)$/m.exec(first)?.[1] ?? '')).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: {} },
    });
  });
});

describe('a request of an earlier revision', () => {
  const initialize = {
    method: 'initialize',
    params: { capabilities: {}, clientInfo: { name: 'a client', version: '1' } },
    meta: null,
  };

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'is answered in %s',
    async (protocolVersion) => {
      const { params } = initialize;
      const headers = { 'mcp-protocol-version': '', 'mcp-method': '' };
      const { status, result } = await send({
        ...initialize,
        params: { ...params, protocolVersion },
        headers,
      });
      expect(status).toBe(200);
      expect(result).toMatchObject({ protocolVersion, serverInfo: { name: 'precis', version } });
      const listed = await send({
        meta: null,
        headers: { 'mcp-protocol-version': protocolVersion, 'mcp-method': '' },
      });
      expect(listed.result).toEqual({ tools: expect.objectContaining({ length: NAMES.length }) });
    },
  );

  it.each(['2025-09-24', '2024-01-01', '2026-01-26'])(
    'is answered if it names %s, which no revision is called',
    async (named) => {
      const headers = { 'mcp-protocol-version': named, 'mcp-method': '' };
      const { status, result } = await send({ meta: null, headers });
      expect(status).toBe(200);
      expect(result?.tools).toHaveLength(NAMES.length);
      expect(result).not.toHaveProperty('resultType');
    },
  );

  it('is answered with the newest of them, if it begins with another', async () => {
    const { params } = initialize;
    const headers = { 'mcp-protocol-version': '', 'mcp-method': '' };
    const begun = await send({
      ...initialize,
      params: { ...params, protocolVersion: '2025-09-24' },
      headers,
    });
    expect(begun.result).toMatchObject({ protocolVersion: '2025-11-25' });
  });
});
