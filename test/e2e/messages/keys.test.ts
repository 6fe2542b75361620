/** Whose data a request reaches, and which server gets its key. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { assistant, step, user } from '../../support/conversations/chat.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';

const OPENAI_KEY = 'sk-a-key-of-openai-000000001';
/** No upstream accepts it. */
const DEAD = 'sk-invalid-key-of-somebody-01';
const VERSION = { 'anthropic-version': '2023-06-01' };

const deployment = deployMessages({ refuses: true });
const local = deployMessages({ vars: { LOCAL_TENANT: 'me' } });

const OUTPUT = 'A line of an output that is long enough.\n'.repeat(400);
const memory = { memory_strategy: { mode: 'compact', token_budget: 2_000 }, memory_report: true };

interface Reported {
  readonly status: number;
  readonly refs: string[];
  readonly warnings: string[];
}

async function ask(
  url: string,
  path: string,
  headers: Record<string, string>,
  body: object,
): Promise<Reported> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...memory, ...body }),
  });
  const { memory: report } = (await response.json()) as {
    memory?: { refs: { ref: string }[]; warnings: string[] };
  };
  const refs = report?.refs.map(({ ref }) => ref) ?? [];
  return { status: response.status, refs, warnings: report?.warnings ?? [] };
}

const chat = (headers: Record<string, string>, name: string, url = deployment.url) =>
  ask(url, '/v1/chat/completions', headers, { model: 'gpt-4.1', messages: chatTalk(name) });
const message = (headers: Record<string, string>, name: string) =>
  ask(deployment.url, '/v1/messages', headers, {
    model: MESSAGES_MODEL,
    max_tokens: 9,
    messages: messagesTalk(name),
  });

describe('a request with a repeated header', () => {
  it('is sent with one line of it, whose value names the tenant', async () => {
    const headers = { ...VERSION, 'content-type': 'application/json', 'x-api-key': [MESSAGES_KEY, ''] };
    const asked = request(`${deployment.url}/v1/messages`, { method: 'POST', headers });
    asked.end(JSON.stringify({ model: MESSAGES_MODEL, max_tokens: 9, messages: messagesTalk('lines') }));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    // Node joins two lines with a space between.
    expect(deployment.upstream.requests.at(-1)?.headers['x-api-key']).toBe(`${MESSAGES_KEY},`);
  });
});

describe('a request with two keys', () => {
  const both = (own: string, bearer: string) => ({ 'x-api-key': own, authorization: `Bearer ${bearer}` });

  it('stores nothing for a key that no upstream accepts, whatever is beside it', async () => {
    const answers = [
      await chat({ ...VERSION, ...both(DEAD, OPENAI_KEY) }, 'a'),
      await chat(both(OPENAI_KEY, DEAD), 'b'),
      await message({ ...VERSION, ...both(DEAD, MESSAGES_KEY) }, 'c'),
      await message({ ...VERSION, ...both(MESSAGES_KEY, DEAD) }, 'd'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 200]);
    for (const headers of [{ authorization: `Bearer ${DEAD}` }, { 'x-api-key': DEAD, ...VERSION }]) {
      const listed = await fetch(`${deployment.url}/v1/refs`, { headers });
      expect(listed.status).toBe(401);
    }
  });

  it('B8: reads nothing with a key that is refused, although the header connection names it', async () => {
    for (const path of ['/v1/refs', '/v1/conversations'])
      for (const connection of ['x-api-key', 'close, X-API-Key', 'authorization,x-api-key']) {
        const headers = { ...VERSION, ...both(DEAD, MESSAGES_KEY), connection };
        const asked = request(`${deployment.url}${path}`, { headers });
        asked.end();
        const [answer] = (await once(asked, 'response')) as [IncomingMessage];
        answer.resume();
        expect([path, connection, answer.statusCode]).toEqual([path, connection, 401]);
      }
  });

  it('sends the upstream of Messages the one that counts, and no other', async () => {
    await message({ ...VERSION, ...both(MESSAGES_KEY, 'sk-another-key-0000000001') }, 'e');
    const seen = deployment.upstream.messages().at(-1);
    expect(seen?.headers['x-api-key']).toBe(MESSAGES_KEY);
    expect(seen?.headers).not.toHaveProperty('authorization');
  });
});

describe('chat completions', () => {
  it('know no caller by x-api-key, which a gateway may want', async () => {
    const without = await chat({ authorization: 'Bearer EMPTY', 'api-key': OPENAI_KEY }, 'f');
    const own = await chat({ 'x-api-key': OPENAI_KEY }, 'f');
    expect(own).toEqual(without);
    expect(deployment.openai.requests.at(-1)?.headers['x-api-key']).toBe(OPENAI_KEY);
    const ofLocal = await chat({ 'x-api-key': OPENAI_KEY }, 'g', local.url);
    expect(ofLocal.warnings).not.toContain('no_tenant');
    const found = await fetch(`${local.url}/v1/refs/${ofLocal.refs[0]}`);
    expect([found.status, await found.text()]).toEqual([200, `1${OUTPUT}`]);
  });
});

describe('a key of Anthropic’s', () => {
  it('opens stored data as a bearer token without a version, and never goes to OpenAI', async () => {
    const authorization = `Bearer ${MESSAGES_KEY}`;
    const listed = await fetch(`${deployment.url}/v1/conversations`, { headers: { authorization } });
    expect(listed.status).toBe(200);
    const answers = await message({ 'x-api-key': MESSAGES_KEY, ...VERSION }, 'h');
    expect(answers.warnings).not.toContain('store_failed');
    const found = await fetch(`${deployment.url}/v1/refs/${answers.refs[0]}`, { headers: { authorization } });
    expect(found.status).toBe(200);
    const tools = await fetch(`${deployment.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(tools.status).toBe(200);
    expect(deployment.openai.requests).toEqual([]);
  });
});

describe('x-api-key alone', () => {
  const headers = { 'x-api-key': MESSAGES_KEY };

  it('speaks Anthropic’s API but for a body that is plainly one of OpenAI’s', async () => {
    const items = { model: 'gpt-4.1', input: 'Hello.' };
    for (const body of [items, { model: 'gpt-4.1', messages: chatTalk('i') }])
      for (const path of ['/v1/explain', '/v1/compact']) {
        const answers = await ask(deployment.url, path, headers, body);
        expect([path, answers.status]).toEqual([path, 200]);
      }
    const body = { model: MESSAGES_MODEL, messages: messagesTalk('j') };
    const answers = await ask(deployment.url, '/v1/compact', headers, body);
    expect(answers.warnings).not.toContain('no_tenant');
    expect(answers.refs).not.toEqual([]);
    const versioned = { ...headers, ...VERSION };
    expect((await ask(deployment.url, '/v1/explain', versioned, items)).status).toBe(400);
  });
});

/** A task with four files that are read one after the other. */
function chatTalk(name: string): object[] {
  const read = (at: number) => [
    ...step(`c${at}`, 'read', `${at}${OUTPUT}`),
    assistant('Done.'),
    user(`Read file ${at + 1}.`),
  ];
  return [user(`Read the files ${name}.`), ...[1, 2, 3, 4].flatMap(read)];
}

function messagesTalk(name: string): object[] {
  const read = (at: number) => [
    assistant([{ type: 'tool_use', id: `c${at}`, name: 'read', input: {} }]),
    user([{ type: 'tool_result', tool_use_id: `c${at}`, content: `${at}${OUTPUT}` }]),
    assistant('Done.'),
    user(`Read file ${at + 1}.`),
  ];
  return [user(`Read the files ${name}.`), ...[1, 2, 3, 4].flatMap(read)];
}
