/** Real answers of all routes are what the reference says of them. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Env } from '../../../src/config.ts';
import { reportSchema } from '../../../src/memory/plan/report-schema.ts';
import { REPORT_HEADERS, RESPONSE_HEADERS } from '../../../src/reference/headers.ts';
import type { Operation } from '../../../src/reference/operation.ts';
import { error, messagesError } from '../../../src/reference/schemas/errors.ts';
import { explanation } from '../../../src/reference/schemas/plan.ts';
import { refFacts } from '../../../src/reference/schemas/stored.ts';
import { OPERATIONS } from '../../../src/reference/table.ts';
import { assistant, lines, step, system, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { refsIn, start } from '../support.ts';

const JSON_TYPE = 'application/json';

/** `GET /v1/refs` and so on: the routes whose answers were looked at. */
const seen = new Set<string>();

/** The schema of an answer, where it is one in zod. */
function schemaOf({ answers }: Operation, status: number): z.ZodType | undefined {
  const shape = answers[status]?.content?.[JSON_TYPE];
  return shape instanceof z.ZodType ? shape : undefined;
}

/** Operations with answers of our own. */
const OURS = OPERATIONS.filter((operation) => schemaOf(operation, 200)).map(({ id }) => id);

function operationOf(id: string): Operation {
  const found = OPERATIONS.find((one) => one.id === id);
  if (!found) throw new Error(`there is no operation ${id}`);
  return found;
}

/** The answer's JSON, which is exactly what the reference says. */
async function readAs(id: string, answer: Response): Promise<unknown> {
  const operation = operationOf(id);
  const json: unknown = await answer.clone().json();
  const statuses = Object.keys(operation.answers).map(Number);
  expect(statuses, JSON.stringify(json).slice(0, 300)).toContain(answer.status);
  const schema = schemaOf(operation, answer.status);
  if (schema) expect(z.prettifyError(schema.safeParse(json).error ?? new z.ZodError([]))).toBe('');
  if (answer.status === 200) seen.add(id);
  if (schema && operation.path.startsWith('/v1/'))
    expect(answer.headers.get('cache-control')).toMatch(/^private, no-store(?:$|, )/);
  const documented: readonly string[] = operation.answers[answer.status]?.headers ?? [];
  const ours = [...answer.headers.keys()].filter((name) => name in RESPONSE_HEADERS);
  expect(ours.filter((name) => !documented.includes(name))).toEqual([]);
  return json;
}

beforeEach(quiet);

afterAll(() => {
  expect(OURS.length).toBeGreaterThan(20);
  expect(OURS.filter((id) => !seen.has(id))).toEqual([]);
});

let keys = 0;

function deployment(strategy: object | undefined, variables: Partial<Env> = {}) {
  const started = start(strategy, variables, `sk-a-key-that-reads-the-reference-${keys++}`);
  const { app } = started;
  const send = (method: string, path: string, body?: object): Promise<Response> =>
    app.request(path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
  const memory = `/v1/conversations/${encodeURIComponent(started.id)}/memory`;
  return { ...started, send, memory };
}

/** A request with a large output, of which a part is removed. */
const LONG = {
  model: 'gpt-4.1',
  memory_strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
  messages: [
    system('Help.'),
    user('Read it.'),
    ...step('call_1', 'read_file', lines(200)),
    ...step('call_2', 'read_file', lines(150, 'other')),
    assistant('Done.'),
    user('And now?'),
    assistant('Nothing.'),
    user('Go on.'),
  ],
};

/** The same conversation in Messages. */
const LONG_MESSAGES = [
  user('Read it.'),
  ...[1, 2].flatMap((at) => [
    assistant([{ type: 'tool_use', id: `call_${at}`, name: 'read_file', input: { at } }]),
    user([{ type: 'tool_result', tool_use_id: `call_${at}`, content: lines(200, `word${at}`) }]),
  ]),
  assistant('Done.'),
  user('And now?'),
  assistant('Nothing.'),
  user('Go on.'),
];

describe('answers of a conversation', () => {
  const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1, archive: true };
  const ofUser = { user: 'ann', memory_injection: true, memory_report: true };

  it('with summaries are what the reference says', async () => {
    const { id, ask, send, memory, messages } = deployment(SUMMARIZE);
    for (let n = 1; n <= 6; n++) {
      const { response } = await ask(n, ofUser);
      const { memory: reported } = (await response.json()) as { memory: unknown };
      expect(reportSchema.strict().safeParse(reported).error).toBeUndefined();
    }
    const named = `${memory}?user=ann`;
    const list = await readAs('listConversations', await send('GET', '/v1/conversations'));
    const kept = await readAs('getConversationMemory', await send('GET', named));
    await readAs('flushConversationMemory', await send('POST', `${memory}/flush?user=ann`));
    await readAs('configureConversation', await send('PATCH', named, { memory_strategy: SUMMARIZE }));
    await readAs('restoreConversationMemory', await send('PUT', named, kept as object));
    const requests = memory.replace('/memory', '/requests');
    const runs = await readAs('listRequests', await send('GET', `${requests}?user=ann&limit=2`));
    expect(runs).toMatchObject({ data: [{}, {}], has_more: true });
    await readAs('getRequest', await send('GET', `${requests}/1?user=ann`));
    const why = await readAs('explainRequest', await send('GET', `${requests}/1/why?user=ann`));
    expect(why).toMatchObject({ n: 1, why: expect.stringMatching(/^[A-Z0-9].*\.$/) });
    const { messages: array, ...fields } = LONG;
    await send('POST', '/v1/chat/completions', { ...fields, conversation_id: 'edited', messages: array });
    const shown = await send('POST', '/v1/conversations/edited/requests/1/view', { messages: array });
    expect(await readAs('showRequestEdits', shown)).toMatchObject({
      data: [{ text: expect.stringContaining('⟦removed: ') }, {}],
    });
    await readAs('getStats', await send('GET', '/v1/stats'));
    await readAs('getSummary', await send('GET', '/v1/stats/summary'));
    const compared = await readAs('getComparison', await send('GET', '/v1/stats/comparison?days=1'));
    expect(compared).toMatchObject({ object: 'memory.stats.comparison', data: [] });
    const byDay = await readAs('getStats', await send('GET', '/v1/stats?days=1'));
    expect(byDay).toMatchObject({ object: 'memory.stats.days', data: [{ failed: 0 }] });
    const archive = memory.replace('/memory', '/messages');
    const page = await readAs('listArchivedMessages', await send('GET', `${archive}?user=ann&limit=2`));
    await readAs('listArchivedMessages', await send('GET', `${archive}?user=ann&q=question`));
    const ended = { model: 'gpt-4.1', user: 'ann', memory_injection: true, messages };
    await readAs('endConversation', await send('POST', memory.replace('/memory', '/end'), ended));
    const users = await readAs('getUserMemory', await send('GET', '/v1/users/ann/memory'));

    // None of the lists is empty, so their elements were looked at.
    expect(list).toMatchObject({ data: [{ id }] });
    expect(kept).toMatchObject({ memories: [{ status: 'completed' }] });
    expect(page).toMatchObject({ data: [{ message: {} }, {}], has_more: true });
    expect(users).toMatchObject({ conversations: [{ id }], injection: { conversations: [id] } });

    const entry = `/v1/users/ann/memory/${encodeURIComponent(id)}`;
    await readAs('deleteUserMemoryEntry', await send('DELETE', entry));
    await ask(7, ofUser);
    await readAs('endConversation', await send('POST', memory.replace('/memory', '/end'), ended));
    await readAs('deleteUserMemory', await send('DELETE', '/v1/users/ann/memory'));
    await readAs('deleteConversationMemory', await send('DELETE', named));
  });

  it('of `rolling_summary` are what the reference says', async () => {
    const { ask, send, memory } = deployment({
      mode: 'rolling_summary',
      full_zone_turns: 0,
      retry_attempts: 0,
    });
    for (let n = 1; n <= 5; n++) await ask(n);

    const kept = await readAs('getConversationMemory', await send('GET', memory));

    const some: unknown = expect.arrayContaining([expect.anything()]);
    expect(kept).toMatchObject({ rounds: some, memories: some });
  });
});

describe('answers about plans', () => {
  it.each([
    ['messages', {}],
    ['plain turns', { format: 'conversation_memory' }],
    ['a sealed message', { format: 'opaque' }],
    ['a dry run', { dry_run: true, memory_strategy: { mode: 'auto', token_budget: 500 }, force: true }],
  ])('of %s are what the reference says', async (_, more) => {
    const { send } = deployment(undefined);

    const answer = await send('POST', '/v1/compact', { ...LONG, ...more });
    await readAs('compact', answer);

    const headers = [...answer.headers.keys()].filter((name) => name.startsWith('x-memory-'));
    // Tokens alone decide about its next edit.
    const isExpected = 'memory_strategy' in more;
    expect(headers).toHaveLength(isExpected ? 9 : 8);
    expect(headers.includes('x-memory-next-edit')).toBe(isExpected);
  });

  it('of items are what the reference says', async () => {
    const { send } = deployment(undefined);
    const { memory_strategy } = LONG;
    const input = [user('One.'), assistant('Two.'), user('Three.')];

    const answer = await send('POST', '/v1/compact', { model: 'gpt-4.1', memory_strategy, input });

    expect(await readAs('compact', answer)).toMatchObject({ input: [{}, {}, {}] });
  });

  it.each([
    ['placeholders', LONG.memory_strategy],
    ['a summary', { mode: 'auto', token_budget: 500 }],
    ['nothing', { mode: 'none' }],
    ['what has left the view', { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 }],
  ])('with %s are what the reference says', async (_, memory_strategy) => {
    const { send } = deployment(undefined);

    const answer = await send('POST', '/v1/explain', { ...LONG, memory_strategy, force: true });

    const explained = explanation.parse(await readAs('explain', answer));
    expect(explained.messages).toHaveLength(LONG.messages.length);
  });

  it("of Headroom's contract are what the reference says", async () => {
    const { send } = deployment(undefined);

    const answer = await send('POST', '/v1/compress', LONG);
    const { ccr_hashes } = (await readAs('compress', answer)) as { ccr_hashes: string[] };
    const [hash] = ccr_hashes;
    expect(hash).toMatch(/^[0-9a-f]{24}$/);
    await readAs('retrieve', await send('GET', `/v1/retrieve/${hash}`));
  });

  it('with a receipt, and its verification, are what the reference says', async () => {
    const { app, send } = deployment(undefined);

    const answer = await app.chat({ ...LONG, memory_report: true });
    const { memory } = (await answer.json()) as { memory: { receipt: object } };

    expect(reportSchema.strict().safeParse(memory).error).toBeUndefined();
    const verified = await send('POST', '/v1/verify', { ...LONG, receipt: memory.receipt });
    expect(await readAs('verify', verified)).toMatchObject({ valid: true, complete: true });
  });

  it('of compactions are what the reference says', async () => {
    const { send } = deployment(undefined);
    const input = Array.from({ length: 6 }, (_, n) => [user(lines(40, `q${n}`)), assistant(`${n}`)]).flat();

    const answer = await send('POST', '/v1/responses/compact', {
      model: 'gpt-4.1',
      input,
      memory_report: true,
    });

    expect(await readAs('compactResponse', answer)).toMatchObject({ memory: {} });

    const count = await send('POST', '/v1/responses/input_tokens', { model: 'gpt-4.1', input });
    expect(count.status).toBe(200);
  });

  it('of Messages are what the reference says, and their errors', async () => {
    const { app } = deployment(undefined);
    const post = (path: string, body: object): Promise<Response> =>
      app.request(path, {
        method: 'POST',
        headers: { 'anthropic-version': '2023-06-01' },
        body: JSON.stringify(body),
      });
    const { model, memory_strategy } = LONG;
    const body = { model, max_tokens: 9, memory_strategy, messages: LONG_MESSAGES };

    const answer = await post('/v1/messages', { ...body, memory_report: true });
    expect(await readAs('createMessage', answer)).toMatchObject({ memory: { mode: 'compact' } });
    const { max_tokens: _, ...counted } = body;
    await readAs('countMessageTokens', await post('/v1/messages/count_tokens', counted));

    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const refused = await post(path, { ...body, memory_strategy: 'nonsense' });
      expect(refused.status).toBe(400);
      expect(messagesError.safeParse(await refused.json()).error).toBeUndefined();
    }
    await readAs('explain', await post('/v1/explain', body));
    await readAs('compact', await post('/v1/compact', body));
  });

  it('with an observed request have the potential', async () => {
    const { app } = deployment(undefined);
    const observed = { ...LONG, memory_strategy: { ...LONG.memory_strategy, observe: true } };

    const answer = await app.chat({ ...observed, memory_report: true });
    const { memory } = (await answer.json()) as { memory: unknown };

    expect(reportSchema.parse(memory)).toMatchObject({ potential: { applied_edits: [{ type: 'compact' }] } });
    const readAs: readonly string[] = REPORT_HEADERS;
    const ours = [...answer.headers.keys()].filter((name) => name.startsWith('x-memory-'));
    expect(ours).toContain('x-memory-potential-after');
    expect(ours.filter((name) => !readAs.includes(name))).toEqual([]);
  });
});

describe('answers about stored data', () => {
  it('of refs are what the reference says', async () => {
    const { app, send } = deployment(undefined);
    await app.chat({ ...LONG, conversation_id: 'with refs' });
    const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');

    expect(await readAs('listRefs', await send('GET', '/v1/refs?limit=1'))).toMatchObject({
      data: [{}],
      has_more: true,
    });
    await readAs('getRefTool', await send('GET', '/v1/refs/tool'));
    const whole = await send('GET', `/v1/refs/${ref}`);
    const facts = JSON.parse(whole.headers.get('x-memory-ref') ?? '') as unknown;
    expect(refFacts.parse(facts)).toMatchObject({ tool_name: 'read_file' });
    const headers: readonly string[] = operationOf('getRef').answers[200]?.headers ?? [];
    const named = [...whole.headers.keys()].filter((name) => name in RESPONSE_HEADERS);
    expect(named.filter((name) => !headers.includes(name))).toEqual([]);
    await readAs('deleteRef', await send('DELETE', `/v1/refs/${ref}`));
  });

  it('of memory blocks are what the reference says', async () => {
    const { send } = deployment(undefined);

    await readAs('putBlock', await send('PUT', '/v1/blocks/team', { text: 'Ann leads.' }));
    await readAs('getBlock', await send('GET', '/v1/blocks/team'));
    expect(await readAs('listBlocks', await send('GET', '/v1/blocks'))).toMatchObject({ data: [{}] });
    await readAs('deleteBlock', await send('DELETE', '/v1/blocks/team'));
    await readAs('deleteAll', await send('DELETE', '/v1/memory'));
    await readAs('getHealth', await send('GET', '/healthz'));
    await readAs('getHeadroomHealth', await send('GET', '/health'));
    await readAs('getHello', await send('GET', '/api/hello'));
    const { send: sendMisconfigured } = deployment(undefined, { LOG_LEVEL: 'loud' });
    expect(await readAs('getHealth', await sendMisconfigured('GET', '/healthz'))).toEqual({
      status: 'misconfigured',
    });
    await readAs('getDeployment', await send('GET', '/v1/deployment'));
    const ADMIN_TOKEN = 'the-token-of-the-operator';
    const { app: operated } = deployment(undefined, { ADMIN_TOKEN });
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    await readAs('getHealthOfParts', await operated.request('/v1/admin/health', { headers }));
    await readAs('getOverview', await operated.request('/v1/admin/overview', { headers }));
    const ACCESS_KEYS = 'known=a-key-of-a-known-caller';
    const { app: shared } = deployment(undefined, { ADMIN_TOKEN, ACCESS_KEYS, UPSTREAM_API_KEY: 'sk-ours' });
    const path = '/v1/admin/callers';
    const sent = (method: string, body: object) => ({ method, headers, body: JSON.stringify(body) });
    const limits = { usd_per_day: 1 };
    await readAs('putCaller', await shared.request(`${path}/added`, sent('PUT', { limits })));
    await readAs('putCaller', await shared.request(`${path}/known`, sent('PUT', { limits })));
    await readAs('patchCaller', await shared.request(`${path}/added`, sent('PATCH', { state: 'disabled' })));
    await readAs('getCaller', await shared.request(`${path}/known`, { headers }));
    await readAs('listCallers', await shared.request(path, { headers }));
    await readAs('deleteCaller', await shared.request(`${path}/added`, { method: 'DELETE', headers }));
    for (const [id, path, request] of [
      ['Session', '/v1/session', send],
      ['AdminSession', '/v1/admin/session', undefined],
    ] as const) {
      const ask = (method: string, body?: object) =>
        request
          ? request(method, path, body)
          : operated.request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      await readAs(`post${id}`, await ask('POST', { keep: 'browser' }));
      await readAs(`delete${id}`, await ask('DELETE'));
    }
    const post = (path: string, body: BodyInit) => operated.request(path, { method: 'POST', headers, body });
    const saved = await post('/v1/admin/backup', JSON.stringify({ caller: 'f'.repeat(32) }));
    expect([saved.status, saved.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
    await readAs('restore', await post('/v1/admin/restore', await saved.arrayBuffer()));
  });
});

describe('errors', () => {
  it.each([
    ['getConversationMemory', 'GET', '/v1/conversations/unknown/memory', undefined],
    [
      'configureConversation',
      'PATCH',
      '/v1/conversations/unknown/memory',
      { memory_strategy: { mode: 'x' } },
    ],
    ['listRefs', 'GET', '/v1/refs?limit=x', undefined],
    ['getRef', 'GET', `/v1/refs/ref_${'a'.repeat(26)}`, undefined],
    ['getBlock', 'GET', '/v1/blocks/unknown', undefined],
    ['putBlock', 'PUT', '/v1/blocks/unknown', { text: 'x', version: 3 }],
    ['compact', 'POST', '/v1/compact', { messages: [] }],
    ['verify', 'POST', '/v1/verify', { messages: [user('x')], receipt: {} }],
    [
      'explain',
      'POST',
      '/v1/explain',
      { messages: [user('x')], memory_strategy: { mode: 'auto', token_budgt: 1 } },
    ],
    [
      'createChatCompletion',
      'POST',
      '/v1/chat/completions',
      { model: 'x', messages: [user('x')], agent_type: 'x' },
    ],
  ] as const)('of %s are among its own', async (id, method, path, body) => {
    const { send } = deployment(undefined);

    const answer = await send(method, path, body);
    const { code } = error.parse(await answer.json()).error;

    const { errors = [] } = operationOf(id);
    expect([...errors, 'unknown_agent', 'invalid_api_key', 'invalid_value']).toContain(code);
  });

  it('without a key are the ones of every route with a caller', async () => {
    const { app } = deployment(undefined);

    const answer = await app.request('/v1/refs', { headers: { authorization: 'none' } });

    expect(error.parse(await answer.json()).error.code).toBe('invalid_api_key');
  });
});

describe('a parameter of the query', () => {
  const OWN = OPERATIONS.filter(
    ({ method, path, access }) => method !== 'post' && access !== 'none' && path.startsWith('/v1/'),
  );
  const filled = (path: string): string =>
    path
      .replace('{ref}', `ref_${'a'.repeat(26)}`)
      .replace('{n}', '1')
      .replace(/\{\w+\}/g, 'x');

  it.each(OWN.map((one) => [one.method.toUpperCase(), one.path, one] as const))(
    'that is unknown is named by %s %s, and the parameters of the reference are taken',
    async (method, path, { access, parameters = [] }) => {
      const ADMIN_TOKEN = 'the-token-of-the-operator';
      const { app } = deployment(undefined, { ADMIN_TOKEN });
      const headers = access === 'admin' ? { authorization: `Bearer ${ADMIN_TOKEN}` } : {};
      const body = method === 'PUT' || method === 'PATCH' ? { body: '{}' } : {};
      const refused = async (name: string): Promise<unknown> => {
        const answer = await app.request(`${filled(path)}?${name}=`, { method, headers, ...body });
        return answer.status === 400 ? (error.parse(await answer.json()).error as unknown) : {};
      };

      const unknown = { code: 'invalid_value', message: expect.stringMatching(/ is not a parameter of /) };
      for (const name of ['filter', ...(method === 'GET' ? [] : ['version'])])
        expect(await refused(name)).toMatchObject({ ...unknown, param: name });
      const known = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
      for (const name of [...known, 'api-version', 'beta', 'subscription-key'])
        expect(await refused(name)).not.toMatchObject(unknown);
    },
  );
});
