/**
 * Compactions as opaque items: `POST /v1/responses/compact`, `compaction_trigger`,
 * `context_management`, and `/v1/compact` for chat.
 */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { asResponses } from '../../../tools/upstream/items.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { type Message, question, tokensIn, turn, work } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true, upstream: { strict: { jsonArguments: true } } });

type Json = Record<string, unknown>;
type Item = OpenAI.Responses.ResponseInputItem;

interface Compacted {
  readonly id: string;
  readonly object: string;
  readonly created_at: number;
  readonly output: Json[];
  readonly usage: { input_tokens: number; output_tokens: number; total_tokens: number };
  readonly memory?: Report;
}

const client = (apiKey = KEY) => new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey, maxRetries: 0 });

/** Chat messages as items. */
function itemsOf(messages: Message[]): Item[] {
  const body = new TextEncoder().encode(JSON.stringify({ messages }));
  return JSON.parse(new TextDecoder().decode(asResponses(body))).input;
}

const conversation = (topic: string, turns: number): Message[] =>
  Array.from({ length: turns }, (_, at) => turn(topic, at + 1)).flat();

async function compact(input: Item[], more: object = {}, apiKey = KEY): Promise<Compacted> {
  const params = { model: 'gpt-4.1', input, memory_report: true, ...more };
  return (await client(apiKey).responses.compact(params as never)) as unknown as Compacted;
}

const respond = (input: unknown[], more: object = {}, apiKey = KEY) =>
  client(apiKey).responses.create({ model: 'gpt-4.1', input, ...more } as never) as Promise<
    OpenAI.Responses.Response & { memory?: Report }
  >;

/** The body of the last request to the upstream. */
const sent = (): Json =>
  deployment.upstream.requests.findLast(({ path }) => path.endsWith('/responses'))?.body;
const sentItems = (): Json[] => sent().input as Json[];

const SUMMARY = /^<session_summary ref="(ref_[a-z2-7]{26})" covers="0-\d+">/;

describe('POST /v1/responses/compact', () => {
  it('gives the user messages unchanged, and one item that is opened when it comes back', async () => {
    const items = itemsOf(conversation('apples', 4));

    const compacted = await compact(items);

    expect(compacted).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response.compaction',
      created_at: expect.any(Number),
      memory: { trigger: 'force', applied_edits: [{ type: 'summarize' }], warnings: [] },
    });
    const asked = items.flatMap((item) => ('role' in item && item.role === 'user' ? [item.content] : []));
    expect(compacted.output.slice(0, -1)).toEqual(
      asked.map((text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })),
    );
    expect(compacted.output.at(-1)).toEqual({
      type: 'compaction',
      id: expect.stringMatching(/^cmp_/),
      encrypted_content: expect.stringMatching(/^precis1_[\w-]+$/),
    });
    expect(compacted.usage.total_tokens).toBeGreaterThan(0);
    expect(deployment.summarizer.readings).toHaveLength(1);

    await respond([...compacted.output, { role: 'user', content: 'Go on.' }]);

    const [block, last] = sentItems().slice(-2);
    expect(block).toMatchObject({ role: 'user', content: expect.stringMatching(SUMMARY) });
    expect(tokensIn(String(block?.content))).toEqual([deployment.summarizer.lastReading().token]);
    expect(last).toEqual({ role: 'user', content: 'Go on.' });
    expect(sentItems()).toHaveLength(compacted.output.length + 1);
    const [, ref] = SUMMARY.exec(String(block?.content)) ?? [];
    const transcript = await (await deployment.fetch(`/v1/refs/${ref}`)).text();
    expect(transcript).toContain('apples');
  });

  it('has the next summary built upon the one before', async () => {
    const first = await compact(itemsOf(conversation('pears', 4)));
    const before = deployment.summarizer.lastReading().token;

    const items = [...first.output, ...itemsOf([...turn('plums', 1), ...turn('plums', 2)])] as Item[];
    const second = await compact(items);

    const reading = deployment.summarizer.lastReading();
    expect(reading.after).toEqual([before]);
    expect(reading.messages.map(({ text }) => text).join()).not.toContain('pears');
    const texts = second.output.map((item) => JSON.stringify(item));
    expect(texts.filter((text) => text.includes('pears'))).toHaveLength(4);
    expect(texts.filter((text) => text.includes('session_summary'))).toEqual([]);
    expect(second.output.filter(({ type }) => type === 'compaction')).toHaveLength(1);
  });

  it('gives the first request before the newest ones, unless the caller does not keep it', async () => {
    const asked = Array.from({ length: 40 }, (_, at) => turn(`kiwis ${at}`, at + 1)).flat();
    const long = asked.map(
      (message): Message =>
        message.role === 'user' ? { ...message, content: String(message.content).repeat(3) } : message,
    );
    const items = itemsOf([{ role: 'user', content: 'Weigh every kiwi.' }, ...long.slice(1)]);
    const firstOf = async (keep_first_user: boolean) => {
      const memory_strategy = { mode: 'summarize', keep_first_user };
      const { output } = await compact(items, { memory_strategy });
      expect(output.length).toBeLessThan(40);
      return JSON.stringify(output[0]);
    };

    expect(await firstOf(true)).toContain('Weigh every kiwi.');
    expect(await firstOf(false)).not.toContain('Weigh every kiwi.');
  });

  it('keeps an unanswered call, so that its result can come', async () => {
    const call: Item = { type: 'function_call', call_id: 'open', name: 'search', arguments: '{}' };
    const compacted = await compact([
      ...itemsOf(conversation('figs', 4)),
      { role: 'user', content: 'Look.' },
      call,
    ]);

    await respond([...compacted.output, { type: 'function_call_output', call_id: 'open', output: 'Found.' }]);

    expect(sentItems().slice(-2)).toEqual([
      call,
      { type: 'function_call_output', call_id: 'open', output: 'Found.' },
    ]);
  });

  it('leaves what developers have said in its place', async () => {
    const developer = (content: string): Item => ({ role: 'developer', content });
    const [first, ...others] = itemsOf(conversation('peaches', 4));
    const input = [developer('Be brief.'), first as Item, developer('Use grams.'), ...others];
    const { output } = await compact(input);
    expect(output.slice(0, 3)).toMatchObject([input[0], { type: 'message', role: 'user' }, input[2]]);
    expect(output.filter((item) => item.role === 'developer')).toHaveLength(2);
    expect(output.at(-1)).toMatchObject({ type: 'compaction' });
  });

  it('takes no tool output for a user’s message', async () => {
    const steps = Array.from({ length: 4 }, (_, at) => [
      { role: 'assistant', content: `I weigh ${at}.` },
      { role: 'user', content: `Observation: ${`scale ${at} `.repeat(100)}` },
    ]).flat();
    const input = [{ role: 'user', content: 'Weigh the medlars.' }, ...steps] as Item[];
    const { output, memory } = await compact(input, { memory_strategy: 'auto' });
    expect(memory?.applied_edits).toMatchObject([{ type: 'summarize' }]);
    expect(output.slice(0, -1)).toMatchObject([{ content: [{ text: 'Weigh the medlars.' }] }]);
    expect(output).toHaveLength(2);
  });

  it('keeps what the upstream has compacted', async () => {
    const theirs = { type: 'compaction', encrypted_content: 'gAAAAAsealed' } as unknown as Item;
    const [first, ...others] = itemsOf(conversation('sloes', 4));
    const compacted = await compact([first as Item, theirs, ...others]);
    expect(compacted.memory?.applied_edits).toMatchObject([{ type: 'summarize' }]);

    await respond([...compacted.output, { role: 'user', content: 'Go on.' }]);

    const [opened, block] = sentItems().slice(-3);
    expect(opened).toEqual(theirs);
    expect(block?.content).toMatch(SUMMARY);
    const again = await compact([...compacted.output, ...itemsOf(turn('sloes', 5))] as Item[]);
    await respond(again.output);
    expect(sentItems().filter(({ type }) => type === 'compaction')).toEqual([theirs]);
  });

  it('loses nothing where a summary would not be shorter', async () => {
    const items: Item[] = [
      { role: 'user', content: 'Hi.' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'Hi' } },
    ];

    const { output } = await compact(items);
    await respond(output);

    expect(output).toHaveLength(1);
    expect(sentItems()).toEqual(items);
  });

  it('holds everything where nothing but a digest would replace what is kept nowhere', async () => {
    const items = itemsOf(conversation('quinces', 4));

    const { output, memory } = await compact(items, {}, 'sk-invalid-key-of-nobody-0003');

    expect(output.map(({ type }) => type)).toEqual(['compaction']);
    expect(String(output[0]?.encrypted_content).length).toBeGreaterThan(JSON.stringify(items).length);
    expect(memory).toMatchObject({ applied_edits: [], warnings: expect.arrayContaining(['store_failed']) });
    expect(deployment.summarizer.requests).toEqual([]);
  });

  it('keeps an open request for an approval', async () => {
    const open = {
      type: 'mcp_approval_request',
      id: 'mcpr_1',
      server_label: 's',
      name: 'f',
      arguments: '{}',
    };
    const { output } = await compact([...itemsOf(conversation('medlars', 4)), open as Item]);
    const answered = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true };

    await respond([...output, answered]);

    expect(sentItems().slice(-2)).toEqual([open, answered]);
  });

  it('takes its summarizer’s words from the strategy, and leaves the instructions out', async () => {
    const memory_strategy = { mode: 'auto', summary_focus: 'Weights above all.' };
    const instructions = 'You weigh things, and never say quinces.';

    const { memory } = await compact(itemsOf(conversation('dates', 4)), { memory_strategy, instructions });

    expect(memory?.mode).toBe('auto');
    expect(deployment.summarizer.lastReading().focus).toContain('Weights above all.');
    expect(JSON.stringify(deployment.summarizer.requests.at(-1)?.body)).not.toContain('quinces');
  });

  it('is forwarded where the upstream has the conversation', async () => {
    deployment.upstream.next({ type: 'error', status: 404, body: { error: { message: 'Not found.' } } });
    await expect(compact(undefined as never, { previous_response_id: 'resp_1' })).rejects.toMatchObject({
      status: 404,
    });
    expect(deployment.upstream.requests.at(-1)).toMatchObject({
      path: '/v1/responses/compact',
      body: { model: 'gpt-4.1', previous_response_id: 'resp_1' },
    });
  });

  it.each([
    ['no input', { input: [] }, KEY, 400, 'invalid_messages'],
    ['a key that strangers share', {}, 'EMPTY', 401, 'invalid_api_key'],
    ['an unknown strategy', { memory_strategy: 'compct' }, KEY, 400, 'invalid_memory_strategy'],
  ])('is refused with %s', async (_, fields, key, status, code) => {
    await expect(compact(itemsOf(conversation('limes', 1)), fields, key)).rejects.toMatchObject({
      status,
      code,
    });
  });
});

describe('an item that comes back', () => {
  const other = 'sk-the-key-of-another-caller-0002';

  it.each([
    ['another tenant’s', (text: string) => text, other],
    [
      'damaged',
      (text: string) => `${text.slice(0, -2)}${text.at(-2) === 'A' ? 'B' : 'A'}${text.at(-1)}`,
      KEY,
    ],
    ['cut', (text: string) => text.slice(0, 40), KEY],
    ['without what it holds', () => 'precis1_', KEY],
  ])('and is %s is refused, by its place', async (_, change, key) => {
    const { output } = await compact(itemsOf(conversation('kiwis', 2)));
    const at = output.length - 1;
    const changed = output.map((item) =>
      item.type === 'compaction'
        ? { ...item, encrypted_content: change(String(item.encrypted_content)) }
        : item,
    );
    await expect(respond(changed, {}, key)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_encrypted_content',
      param: `input[${at}].encrypted_content`,
    });
    expect(deployment.upstream.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('F9: opens for the user and the conversation that were named when it was made', async () => {
    const ann = { safety_identifier: 'ann', conversation_id: 'c1' };
    const { output } = await compact(itemsOf(conversation('limes', 2)), ann);
    const refusal = { status: 400, code: 'invalid_encrypted_content' };

    await expect(respond(output, { ...ann, safety_identifier: 'bob' })).rejects.toMatchObject(refusal);
    await expect(respond(output, { ...ann, conversation_id: 'c2' })).rejects.toMatchObject(refusal);
    await expect(respond(output)).rejects.toMatchObject(refusal);
    expect(deployment.upstream.requests.filter(({ method }) => method === 'POST')).toEqual([]);
    await respond(output, ann);
    expect(JSON.stringify(sentItems())).toContain('limes');
    expect(JSON.stringify(sentItems())).not.toContain('precis1_');
  });

  it('F9: opens for every user where none was named', async () => {
    const { output } = await compact(itemsOf(conversation('lychees', 2)));
    await respond(output, { safety_identifier: 'ann', conversation_id: 'c1' });
    expect(JSON.stringify(sentItems())).not.toContain('precis1_');
  });

  it('F9: of a trigger is bound as well', async () => {
    const input = [...itemsOf(conversation('loquats', 2)), { type: 'compaction_trigger' }];
    const { output } = await respond(input, { user: 'ann' });
    await expect(respond(output, { user: 'bob' })).rejects.toMatchObject({
      code: 'invalid_encrypted_content',
    });
    await respond(output, { user: 'ann' });
  });

  it('from the upstream is sent unchanged', async () => {
    const theirs = { type: 'compaction', id: 'cmp_theirs', encrypted_content: 'gAAAAAsealed' };
    await respond([theirs, { role: 'user', content: 'Go on.' }], { memory_strategy: 'auto' });
    expect(sentItems()[0]).toEqual(theirs);
  });
});

describe('a compaction_trigger', () => {
  const items = (topic: string) => [...itemsOf(conversation(topic, 4)), { type: 'compaction_trigger' }];

  it('is answered with a body whose output is the item', async () => {
    const answer = await respond(items('mangos'), { memory_report: true, instructions: 'Weigh.' });

    expect(answer).toMatchObject({ object: 'response', status: 'completed', instructions: 'Weigh.' });
    expect(answer.output.map(({ type }) => type)).toEqual(['compaction']);
    expect(answer.memory?.applied_edits).toMatchObject([{ type: 'summarize' }]);
    expect(deployment.upstream.requests.filter(({ path }) => path.endsWith('/responses'))).toEqual([]);
  });

  it('is answered with a stream of the same, which the next request goes on from', async () => {
    const stream = client().responses.stream({ model: 'gpt-4.1', input: items('melons') } as never);
    const seen: [string, number][] = [];
    stream.on('event', ({ type, sequence_number }) => void seen.push([type, sequence_number]));
    const { output } = await stream.finalResponse();

    expect(seen).toEqual(
      ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'].map((type, at) => [
        `response.${type}`,
        at,
      ]),
    );
    await respond([{ role: 'user', content: 'Weigh the melons.' }, ...output]);
    expect(sentItems()).toEqual([
      { role: 'user', content: 'Weigh the melons.' },
      { role: 'user', content: expect.stringMatching(SUMMARY) },
    ]);
  });
});

describe('context_management', () => {
  const context_management = [{ type: 'compaction', compact_threshold: 2_000 }];
  const input = (topic: string) => [...itemsOf(conversation(topic, 8)), ...itemsOf([question(topic, 9)])];

  it('is done here where the upstream can’t', async () => {
    const { memory } = await respond(input('olives'), { context_management, memory_report: true });

    expect(memory).toMatchObject({ mode: 'native', source: 'request', trigger: 'token_budget' });
    expect(memory?.applied_edits.map(({ type }) => type)).toEqual(['summarize']);
    expect(sent().context_management).toBeUndefined();
    expect(JSON.stringify(sentItems())).toContain('<session_summary');
  });

  it('gives way to a strategy, and leaves its other wishes', async () => {
    const other = { type: 'something_new' };
    const { memory } = await respond([{ role: 'user', content: 'Hi.' }], {
      context_management: [...context_management, other],
      memory_strategy: 'auto',
      memory_report: true,
    });
    expect(memory?.mode).toBe('auto');
    expect(sent().context_management).toEqual([other]);
  });

  it('is a mode of its own, for chat too', async () => {
    const memory_strategy = { mode: 'native', compact_threshold: 2_000 };
    const { memory, seen } = await deployment.ask({
      memory_strategy,
      messages: [...conversation('grapes', 8), question('grapes', 9)],
    });
    expect(memory.mode).toBe('native');
    expect(JSON.stringify(seen.body.messages)).toContain('<session_summary');
  });
});

describe('POST /v1/compact with format opaque', () => {
  const opaque = async (messages: Message[], fields: object = {}) => {
    const response = await deployment.postTo('/v1/compact', {
      model: 'gpt-4.1',
      memory_strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 },
      format: 'opaque',
      ...fields,
      messages,
    });
    return {
      status: response.status,
      body: (await response.json()) as { messages: Message[]; error?: Json },
    };
  };
  const system: Message = { role: 'system', content: 'You weigh things.' };

  it('gives one user message that is opened into the view', async () => {
    const messages = [system, ...conversation('nuts', 4), question('nuts', 5)];

    const { body } = await opaque(messages);
    const view = await deployment.ask({
      memory_strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 },
      messages,
    });

    expect(body.messages).toEqual([system, { role: 'user', content: expect.any(String) }]);
    expect(JSON.parse(String(body.messages[1]?.content))).toEqual({
      type: 'compaction',
      content: expect.stringMatching(/^precis1_/),
    });
    for (const mode of ['none', 'compact']) {
      await deployment.chat({ model: 'gpt-4.1', memory_strategy: mode, messages: body.messages });
      expect(deployment.lastChat().body.messages).toEqual(view.seen.body.messages);
    }
  });

  it('is opened whatever a client has made of the message', async () => {
    const { body } = await opaque([system, ...conversation('peas', 4)]);
    const [, message] = body.messages;
    const text = String(message?.content);
    const send = async (content: unknown) => {
      await deployment.chat({ model: 'gpt-4.1', messages: [system, { role: 'user', content }] });
      return deployment.lastChat().body.messages as Message[];
    };
    const opened = await send(text);
    expect(JSON.stringify(opened)).toContain('<session_summary');
    expect(await send([{ type: 'text', text }])).toEqual(opened);
    expect(await send([JSON.parse(text)])).toEqual(opened);
    expect(
      await send([
        { type: 'text', text },
        { type: 'text', text: 'Go on.' },
      ]),
    ).toEqual([...opened, { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }]);
  });

  it('builds its next summary upon the one before', async () => {
    const first = await opaque(conversation('beans', 4));
    const before = deployment.summarizer.lastReading().token;
    await opaque([...first.body.messages, ...conversation('corn', 5)]);
    expect(deployment.summarizer.lastReading().after).toEqual([before]);
  });

  it('keeps a run of steps that are worked on', async () => {
    const { body } = await opaque(work('Weigh them.', 'squash', 14), {
      memory_strategy: { mode: 'summarize', token_budget: 4_000 },
    });
    expect(body.messages).toHaveLength(2);
    await deployment.chat({ model: 'gpt-4.1', messages: body.messages });
    const [, first, recap, , ...steps] = deployment.lastChat().body.messages as Message[];
    expect(first).toEqual({ role: 'user', content: 'Weigh them.' });
    expect(recap).toEqual({ role: 'assistant', content: expect.stringMatching(/^<session_summary/) });
    expect(steps.length).toBeGreaterThan(0);
  });

  it('is refused when it comes from another tenant, by its place', async () => {
    const { body } = await opaque(conversation('leeks', 4));
    const response = await deployment.chat(
      { model: 'gpt-4.1', messages: body.messages },
      { authorization: 'Bearer sk-the-key-of-another-caller-0002' },
    );
    const { error } = (await response.json()) as { error: Json };
    expect([response.status, error.code, error.param]).toEqual([
      400,
      'invalid_encrypted_content',
      'messages[0].content',
    ]);
  });

  it('F9: is refused when it comes from another user of the same key', async () => {
    const { body } = await opaque(conversation('chives', 4), { user: 'ann', conversation_id: 'c1' });
    const send = async (fields: object) =>
      (await deployment.chat({ model: 'gpt-4.1', messages: body.messages, ...fields })).status;
    expect(await send({ user: 'ann', conversation_id: 'c1' })).toBe(200);
    expect(await send({ user: 'bob', conversation_id: 'c1' })).toBe(400);
    expect(await send({ user: 'ann', conversation_id: 'c2' })).toBe(400);
  });

  it.each([
    ['is none at all', '{"type":"compaction","content":"precis1_AAAA"}'],
    ['is long', JSON.stringify({ type: 'compaction', content: `precis1_${'A'.repeat(400)}` })],
    ['speaks of one', 'Why does {"type":"compaction","content":"precis1_AAAA"} stand here?'],
  ])('F9: leaves a user alone whose text %s', async (_, content) => {
    for (const role of ['user', 'assistant'] as const) {
      const messages: Message[] = [
        { role: 'user', content: 'Hi.' },
        { role, content },
      ];
      const response = await deployment.chat({ model: 'gpt-4.1', memory_strategy: 'compact', messages });
      expect(response.status).toBe(200);
      expect(deployment.lastChat().body.messages).toEqual(messages);
    }
    const streamed = await deployment.chat({
      model: 'gpt-4.1',
      stream: true,
      messages: [{ role: 'user', content }],
    });
    expect(streamed.status).toBe(200);
    await streamed.text();
    await respond([{ role: 'user', content }]);
    expect(sentItems()).toEqual([{ role: 'user', content }]);
  });

  it('is refused when there is too much to be put away, whatever the mode', async () => {
    const { status, body } = await opaque([{ role: 'user', content: 'x'.repeat(17 * 1024 * 1024) }], {
      memory_strategy: 'none',
    });
    expect([status, body.error?.code]).toEqual([413, 'body_too_large']);
  });

  it('is no other format', async () => {
    const { status, body } = await opaque(conversation('kale', 2), { format: 'opaqe' });
    expect([status, body.error?.param]).toEqual([400, 'format']);
  });
});
