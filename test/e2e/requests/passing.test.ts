import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { collect } from '../../support/deployment/event-stream.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: false } });

const messages = [{ role: 'user' as const, content: 'Which orders failed?' }];
const model = 'gpt-4.1-mini';

/** All of Precis's own fields. */
const ownFields = {
  memory_strategy: 'none',
  memory_injection: { role: 'user', max_tokens: 100 },
  memory_report: false,
  memory_summary: { text: 'Nothing yet.', covers: [0, 1], prefix_hash: 'a'.repeat(64) },
  conversation_id: 'conversation-1',
  agent_type: 'chat',
};

overProtocols('the body in mode none', deployment, (protocol) => {
  it('is sent byte for byte, with its white space, key order, numbers and escapes', async () => {
    const body = [
      '\r\n { "stream_options" :null,"seed": 12345678901234567890,\t"temperature":1.0 , "top_p":1E0,',
      '"x_unknown":{"b":[ ],"a":-0.0, "deep":{"memory_strategy":"mine"}},"model":"gpt-4.1-mini",',
      '"messages":[ {"content":"\\u00e9 \\ud83d\\ude00 \\/ é 😀 \\u0000","role" : "user","extra":1.10}\n ,',
      '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"arguments":"{\\"n\\": 9007199254740993}","name":"f"}}]},',
      '{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"1"}] } ] }\n\n',
    ].join('');

    const response = await deployment.chat(body);

    expect(response.status).toBe(200);
    expect(deployment.lastChat().rawBody.toString()).toBe(protocol.text(body));
  });

  it.each([
    ['is no JSON', '{"model":"gpt-4.1-mini","messages":[{"role":"user"'],
    ['has a key twice', '{"model":"a","messages":[{"role":"user","content":"x"}],"model":"b"}'],
    ['is empty', ''],
  ])('is left to the upstream when it %s', async (_, body) => {
    const response = await deployment.chat(body);

    expect(response.headers.get('x-memory-mode')).toBe('none');
    expect(deployment.lastChat().rawBody.toString()).toBe(protocol.text(body));
  });

  it('is read all the same when an own field is in it in any spelling', async () => {
    for (const field of ['"memory_report":1', '"memory\\u005freport":1', '"\\u006Demory_report":1']) {
      const response = await deployment.chat(
        `{"model":"${model}","messages":${JSON.stringify(messages)},${field}}`,
      );

      expect(response.status).toBe(400);
      expect(deployment.chats()).toEqual([]);
    }
  });

  it.each([
    ['first', (own: string, rest: string) => `{${own},${rest}}`],
    ['last', (own: string, rest: string) => `{${rest},${own}}`],
    ['in the middle', (own: string, rest: string) => `{"top_p":1.0,${own},${rest}}`],
  ])('is sent without the own fields that are %s', async (_, bodyOf) => {
    const own = JSON.stringify(ownFields).slice(1, -1);
    const rest = `"model":"${model}","metadata":{"agent_type":"mine"},"messages":${JSON.stringify(messages)}`;

    await deployment.chat(bodyOf(own, rest));

    const expected = bodyOf('', rest).replace('{,', '{').replace(',}', '}').replace(',,', ',');
    expect(deployment.lastChat().rawBody.toString()).toBe(protocol.text(expected));
  });

  it('is sent without an own field whose name is written with escapes', async () => {
    await deployment.chat(
      `{"memory\\u005freport":true,"model":"${model}","messages":${JSON.stringify(messages)}}`,
    );

    expect(deployment.lastChat().body).toEqual({ model, messages });
  });

  it('keeps the user that the caller names', async () => {
    await deployment.chat({ model, messages, user: 'user-1', safety_identifier: 'user-2' });

    expect(deployment.lastChat().body).toMatchObject({ user: 'user-1', safety_identifier: 'user-2' });
  });
});

/** Chat only: `/v1/compact` takes and returns messages. */
describe('the mark that /v1/compact puts on messages', () => {
  const marked = [
    '{"compacted":true,"role":"system","content":"Be brief."}',
    '{"role":"user", "compacted" : true ,"content":"One"}',
    '{"role":"assistant","content":"Two","compacted":true}',
    '{"role":"user","content":"the field \\"compacted\\": true stays in a text","metadata":{"compacted":true}}',
  ];
  const cut = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'Two' },
    {
      role: 'user',
      content: 'the field "compacted": true stays in a text',
      metadata: { compacted: true },
    },
  ];

  it.each(['"none"', '{"mode":"trim","max_turns":9}', '{"mode":"compact","token_budget":1}', '"compact"'])(
    'is cut before the upstream sees it under the strategy %s',
    async (strategy) => {
      await deployment.chat(
        `{"model":"${model}","memory_strategy":${strategy},"messages":[${marked.join(', ')}]}`,
      );

      expect(deployment.lastChat().body.messages).toEqual(cut);
    },
  );
});

overProtocols('the headers that are sent', deployment, () => {
  it("are the caller’s, without Precis’s and the connection's", async () => {
    const own = {
      'x-memory-strategy': 'none',
      'x-memory-report': 'false',
      'x-memory-user': 'user-1',
      'x-memory-injection': 'off',
      'x-memory-of-a-later-version': '1',
      'x-agent-type': 'chat',
      'x-conversation-id': 'conversation-1',
    };
    const kept = {
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
      'x-session-id': 'session-1',
      'x-stainless-lang': 'js',
      'user-agent': 'a test',
      authorization: `Bearer ${KEY}`,
    };

    await deployment.chat({ model, messages }, { ...own, ...kept, 'accept-encoding': 'gzip' });

    const { headers } = deployment.lastChat();
    expect(headers).toMatchObject(kept);
    for (const name of [...Object.keys(own), 'accept-encoding']) expect(headers).not.toHaveProperty(name);
    expect(headers.host).toBe(new URL(deployment.upstream.url).host);
  });
});

overProtocols('the answer to a request in mode none', deployment, (protocol) => {
  it('is what the upstream answers, for the client whole', async () => {
    const { data, response } = await deployment
      .client()
      .chat.completions.create({ model, messages })
      .withResponse();

    expect(data.choices[0]?.message.content).toBe('This is what the upstream has to say.');
    expect(data).not.toHaveProperty('memory');
    expect(response.headers.get('x-request-id')).toMatch(/^req_\d+$/);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('9999');
  });

  it('says in headers that nothing was done, and names no tokens', async () => {
    const { headers } = await deployment.chat({ model, messages });

    const memory = [...headers].filter(([name]) => name.startsWith('x-memory-')).toSorted();
    expect(memory).toEqual([
      ['x-memory-applied', 'none'],
      ['x-memory-frontier', 'none'],
      ['x-memory-mode', 'none'],
      ['x-memory-refs', '0'],
      ['x-memory-source', 'default'],
      ['x-memory-trigger', 'none'],
    ]);
    expect(headers.get('server-timing')).toMatch(/upstream;dur=\d+/);
  });

  it("takes no x-memory header from the upstream for Precis' own", async () => {
    deployment.upstream.next({ type: 'answer', headers: { 'x-memory-mode': 'auto', 'x-memory-odd': '1' } });

    const { headers } = await deployment.chat({ model, messages });

    expect(headers.get('x-memory-mode')).toBe('none');
    expect(headers.has('x-memory-odd')).toBe(false);
  });

  it('is the same bytes that the upstream gives when asked directly, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const body = protocol.text(JSON.stringify({ model, messages, stream }));
      const direct = await fetch(deployment.upstream.url + protocol.path, { method: 'POST', body });

      const relayed = await deployment.wire(body);

      expect(await relayed.text()).toBe(await direct.text());
      expect(relayed.headers.get('content-type')).toBe(direct.headers.get('content-type'));
    }
  });
});

overProtocols('a stream in mode none', deployment, () => {
  it('reaches the client with its usage, and no buffer may hold it', async () => {
    const { data, response } = await deployment
      .client()
      .chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } })
      .withResponse();
    const chunks = await collect(data);

    const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(said).toBe('This is what the upstream has to say.');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('x-memory-mode')).toBe('none');
  });

  it('brings parallel tool calls that add up to what the model called', async () => {
    const toolCalls = [
      { id: 'call_1', name: 'read_file', arguments: '{"path":"src/ä/index.ts","lines":[1,40]}' },
      { id: 'call_2', name: 'search_logs', arguments: '{"query":"level:error \\"😀\\"","limit":20}' },
    ];
    deployment.upstream.next({ type: 'answer', content: 'Let me look.', toolCalls });

    const stream = deployment
      .client()
      .chat.completions.stream({ model, messages, tools: recording.tools, parallel_tool_calls: true });
    const completion = await stream.finalChatCompletion();

    const [choice] = completion.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(choice?.message.content).toBe('Let me look.');
    const called = choice?.message.tool_calls?.flatMap((call) => (call.type === 'function' ? [call] : []));
    expect(called?.map((call) => ({ id: call.id, name: call.function.name }))).toEqual([
      { id: 'call_1', name: 'read_file' },
      { id: 'call_2', name: 'search_logs' },
    ]);
    expect(called?.map((call) => call.function.arguments)).toEqual(toolCalls.map((call) => call.arguments));
  });
});
