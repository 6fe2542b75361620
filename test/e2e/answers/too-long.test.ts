import OpenAI from 'openai';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import { beforeEach, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, behave, sendJson, tokensOf } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { assistant, result, step, system } from '../../support/conversations/chat.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { collect } from '../../support/deployment/event-stream.ts';
import { inTurn, ofTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';
import { startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

/** The largest request that the upstream accepts, by its own count. */
const WINDOW: Behaviour = { type: 'window', tokens: 6_000 };

let upstream: Behaviour = WINDOW;
beforeEach(() => {
  upstream = WINDOW;
});

const deployment = deploy({
  vars: summarizer.vars,
  upstream: { chat: (...args) => void behave(upstream, ...args) },
});

type Message = Record<string, unknown>;
const model = 'gpt-4.1';
const tools = [{ type: 'function', function: { name: 'read_file', parameters: { type: 'object' } } }];

let keys = 0;
/** A new key, since limits are remembered. */
const newKey = (): string => `sk-the-key-of-caller-number-${++keys}`;

/**
 * Lines of an output. With this number, no view is so close to the window that the two counts
 * disagree about it.
 */
const LINES = 84;

/** A turn with a step of about 1,450 tokens, by the upstream's count. */
const turn = (topic: string): Message[] => [
  { role: 'user', content: `Read the file about ${topic}.` },
  ...step(`call_${topic}`, 'read_file', linesAbout(topic, LINES)),
  assistant(`I have read all about ${topic}.`),
];
const PREAMBLE: Message = system('You help with files. Never delete one.');
/** A number of turns, and a question. */
const talk = (turns: number): Message[] => [
  PREAMBLE,
  ...Array.from({ length: turns }, (_, at) => turn(`topic${at}`)).flat(),
  { role: 'user', content: 'What have you read?' },
];

/** One request through the client, and the requests to the upstream for it. */
interface Sent {
  readonly memory: Report;
  readonly headers: Headers;
  readonly asked: readonly RecordedRequest[];
  /** The messages of the last request to the upstream. */
  readonly view: Message[];
}

async function send(
  apiKey: string,
  strategy: unknown,
  messages: Message[],
  more: object = {},
): Promise<Sent> {
  const before = deployment.chats().length;
  const params = { model, tools, memory_strategy: strategy, memory_report: true, ...more, messages };
  const { data, response } = await deployment
    .client({ apiKey })
    .chat.completions.create(params as unknown as ChatCompletionCreateParams)
    .withResponse();
  const parts: WithMemory[] =
    Symbol.asyncIterator in data ? ((await collect(data)) as WithMemory[]) : [data as WithMemory];
  const memory = parts.find((part) => part.memory)?.memory;
  if (!memory) throw new Error('the answer has no report');
  const asked = deployment.chats().slice(before);
  return { memory, headers: response.headers, asked, view: asked.at(-1)?.body.messages };
}

/** The same, with the bytes of the answer. */
async function sendRaw(key: string, strategy: unknown, messages: Message[], more: object = {}) {
  const before = deployment.chats().length;
  const body = { model, tools, memory_strategy: strategy, ...more, messages };
  const response = await deployment.chat(body, { authorization: `Bearer ${key}` });
  const text = await response.text();
  return { response, text, asked: deployment.chats().slice(before) };
}

/** All requests of a conversation with these turns, in order. */
async function play(
  key: string,
  strategy: unknown,
  from: number,
  to: number,
  more: object = {},
): Promise<Sent[]> {
  const messages = talk(to).slice(0, -1);
  const sent: Sent[] = [];
  for (const [at, { role }] of messages.entries())
    if (at >= talk(from).length && role === 'assistant')
      sent.push(await send(key, strategy, messages.slice(0, at), more));
  return sent;
}

/** Requests whose view does not begin with the one before, although the frontier stayed. */
function brokenPrefixes(sent: readonly Sent[]): number[] {
  return sent.flatMap(({ memory, view }, at) => {
    const former = sent[at - 1]?.view ?? [];
    const begins = JSON.stringify(view.slice(0, former.length)) === JSON.stringify(former);
    return begins || memory.frontier.moved ? [] : [at];
  });
}

const COMPACT = { mode: 'compact', compact_retrieval: 'off' };
const MODES: [name: string, strategy: object][] = [
  ['compact', COMPACT],
  ['compact, sliding', { ...COMPACT, frontier: 'slide' }],
  ['compact, sliding by turns', { ...COMPACT, compact_trigger_turns: 50 }],
  ['compact with a budget', { ...COMPACT, token_budget: 100_000, min_reclaim_tokens: 50_000 }],
  ['trim', { mode: 'trim' }],
  ['trim by turns', { mode: 'trim', max_turns: 50, keep_last_n_turns: 2 }],
  ['summarize', { mode: 'summarize' }],
  ['summarize by turns', { mode: 'summarize', context_limit: 50, keep_last_n_turns: 2 }],
  ['auto', { mode: 'auto', compact_retrieval: 'off' }],
  [
    'auto without placeholders',
    { mode: 'auto', compact_exclude_tools: ['read_file'], compact_retrieval: 'off' },
  ],
  ['rolling_summary without a memory', { mode: 'rolling_summary', total_max_tokens: 100_000 }],
];

const WAYS = PROTOCOLS.flatMap((protocol) => [false, true].map((stream) => ({ protocol, stream })));

// What a mode makes of a limit depends neither on the protocol nor on the form of the answer.
inTurn(
  WAYS,
  ({ protocol, stream }) =>
    `an upstream that says the context is too long, over ${protocol.name} (stream: ${stream}),`,
  ({ protocol, stream }) => {
    deployment.over(protocol);

    it.each(MODES)(
      'gets one smaller view with a receipt, and next time at once: %s',
      async (mode, strategy) => {
        const apiKey = newKey();
        const { memory, headers, asked, view } = await send(apiKey, strategy, talk(8), { stream });

        // A strict upstream: it would have refused an invalid view.
        expect(asked).toHaveLength(2);
        const [former, second] = asked as [RecordedRequest, RecordedRequest];
        expect(former.body.messages).toEqual(talk(8));
        expect(tokensOf(second)).toBeLessThan(tokensOf(former));
        expect(tokensOf(second)).toBeLessThanOrEqual(6_000);
        const { messages: _first, ...restOfFirst } = former.body;
        const { messages: _second, ...restOfSecond } = second.body;
        expect(restOfSecond).toEqual(restOfFirst);
        expect(restOfSecond.tools).toEqual(protocol.body({ tools }).tools);
        expect(view[0]).toEqual(PREAMBLE);
        expect(view.at(-1)).toEqual(talk(8).at(-1));

        expect(memory.trigger).toBe('upstream_limit');
        expect(memory.warnings).toContain('limit_learned');
        expect(memory.tokens?.after).toBeLessThan(memory.tokens?.before ?? 0);
        expect(memory.applied_edits).not.toEqual([]);
        expect(headers.get('x-memory-trigger')).toBe('upstream_limit');
        expect(headers.get('x-memory-warning')).toContain('limit_learned');
        expect(headers.get('x-memory-frontier')).toBe('moved');

        const response = await deployment.postTo(
          '/v1/verify',
          { ...protocol.body({ model, tools, messages: talk(8) }), receipt: memory.receipt },
          { authorization: `Bearer ${apiKey}` },
        );

        const { valid, checks } = (await response.json()) as {
          valid: boolean;
          checks: { name: string; ok: boolean | null }[];
        };
        expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
        if (!mode.startsWith('rolling')) expect(checks.find(({ name }) => name === 'plan')?.ok).toBe(true);
        expect(valid).toBe(true);

        const later = await play(apiKey, strategy, 9, 11, { stream });

        expect(later.map(({ asked }) => asked.length)).toEqual(later.map(() => 1));
        for (const { memory } of later) expect(memory.warnings).toContain('limit_learned');
        expect(brokenPrefixes(later)).toEqual([]);
      },
    );
  },
);

overProtocols('a view that was counted by nobody', deployment, () => {
  it('F6: gets a smaller view of a large body that was not planned for the sake of its key', async () => {
    const [read, call, , said] = turn('much');
    const messages = [read, call, result('call_much', linesAbout('much', 60_000)), said];
    const compact = { mode: 'compact', token_budget: 5_000, compact_keep: 0 };

    const { headers, asked } = await send('EMPTY', compact, [
      ...messages,
      { role: 'user', content: 'Go on.' },
    ] as Message[]);

    expect(asked.map(({ rawBody }) => rawBody.length > 1024 * 1024)).toEqual([true, false]);
    expect(headers.get('x-memory-applied')).toBe('compact');
    expect(headers.get('x-memory-trigger')).toBe('upstream_limit');
  });

  it('is counted when it is refused', async () => {
    upstream = { type: 'window', tokens: 1_500 };
    const { memory, asked } = await send(newKey(), { mode: 'compact', compact_keep: 0 }, talk(3), {
      memory_report: false,
    }).catch(() => ({ memory: undefined, asked: deployment.chats().slice(-2) }));

    expect(memory).toBeUndefined();
    expect(asked).toHaveLength(2);
    expect(asked[1]?.body.messages[3].content).toMatch(/^⟦removed: tool output for read_file/);
  });

  it('reports its tokens in the headers only', async () => {
    const { response, asked } = await sendRaw(newKey(), 'compact', talk(8));

    expect(response.status).toBe(200);
    expect(asked).toHaveLength(2);
    expect(Number(response.headers.get('x-memory-tokens-after'))).toBeLessThan(
      Number(response.headers.get('x-memory-tokens-before')),
    );
  });
});

overProtocols('a rolling memory', deployment, () => {
  it('is shown with fewer verbatim rounds', async () => {
    upstream = { type: 'window', tokens: 100_000 };
    const key = newKey();
    const strategy = { mode: 'rolling_summary', full_zone_turns: 3, total_max_tokens: 50_000 };
    const fields = { conversation_id: 'a rolling memory', memory_strategy: strategy };
    const to = new Talk(deployment, fields, { authorization: `Bearer ${key}` });
    to.messages.push(...talk(8).slice(1, -1));
    await to.ask('What have you read?');
    await to.remembered(1);
    const { memory: whole } = await to.send([{ role: 'user', content: 'And what next?' }]);
    upstream = { type: 'window', tokens: 2_500 };

    const before = deployment.chats().length;
    const { memory, view } = await to.send([]);

    expect(whole.summary?.memory_id).toBe(memory.summary?.memory_id);
    expect(deployment.chats()).toHaveLength(before + 2);
    expect(memory).toMatchObject({ trigger: 'upstream_limit', warnings: ['limit_learned'] });
    expect(memory.applied_edits.map(({ type }) => type)).toEqual(['summarize', 'trim']);
    expect(memory.tokens?.after).toBeLessThan(whole.tokens?.after ?? 0);
    expect(JSON.stringify(view)).toContain('<session_summary');
  });

  it('that may not be cut is sent as its policy has it', async () => {
    const strategy = { mode: 'rolling_summary', overflow_policy: 'error', total_max_tokens: 100_000 };
    const { response, text, asked } = await sendRaw(newKey(), strategy, talk(8));

    expect(asked).toHaveLength(1);
    expect(response.status).toBe(400);
    expect(JSON.parse(text).error.code).toBe('context_length_exceeded');
  });
});

overProtocols("the upstream's own error", deployment, (protocol) => {
  /** With unusual white space, so that a parsed and rewritten body would differ. */
  const refusal = (text: string): string =>
    `{ "error":{"message":"This model's maximum context length is 6000 tokens. However, your messages resulted in 99999 tokens. ${text}","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}\n`;
  const refusing = (text: string): Behaviour => ({
    type: 'error',
    status: 400,
    body: refusal(text),
    headers: { 'x-said': encodeURIComponent(text.slice(0, 20)), 'retry-after': '3' },
  });

  it.each(ofTurn(1, [false, true]))(
    'comes unchanged when the smaller view is too long too, streamed: %s',
    async (stream) => {
      deployment.upstream.next(refusing('first'), refusing('second'));
      const { response, text, asked } = await sendRaw(newKey(), 'compact', talk(8), { stream });

      expect(asked).toHaveLength(2);
      expect(response.status).toBe(400);
      expect(text).toBe(refusal('second'));
      expect(response.headers.get('x-said')).toBe('second');
      expect(response.headers.get('retry-after')).toBe('3');
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-memory-trigger')).toBe('upstream_limit');
      expect(response.headers.get('x-memory-warning')).toContain('limit_learned');
    },
  );

  it.each<[string, unknown, Message[]]>([
    ['the tail is protected', { mode: 'compact', compact_keep: 20 }, talk(8)],
    ['the mode has nothing to remove', { mode: 'compact', compact_exclude_tools: ['read_file'] }, talk(8)],
    ['there is one message', { mode: 'auto' }, [{ role: 'user', content: linesAbout('one thing', 400) }]],
    [
      'the turn that is asked about is too long',
      { mode: 'trim' },
      talk(0).with(-1, { role: 'user', content: linesAbout('one thing', 400) }),
    ],
    [
      'nothing may be cut',
      { mode: 'rolling_summary', overflow_policy: 'error', total_max_tokens: 100_000 },
      talk(8),
    ],
  ])('comes unchanged when no view is smaller: %s', async (_, strategy, messages) => {
    for (const stream of [false, true]) {
      deployment.upstream.next(refusing('first'));
      const { response, text, asked } = await sendRaw(newKey(), strategy, messages, { stream });

      expect(asked).toHaveLength(1);
      expect(response.status).toBe(400);
      expect(text).toBe(refusal('first'));
      expect(response.headers.get('x-said')).toBe('first');
      expect(response.headers.get('x-memory-applied')).toBe('none');
    }
  });

  it('comes unchanged in mode none, which never asks again', async () => {
    for (const stream of [false, true]) {
      deployment.upstream.next(refusing('first'));
      const { response, text, asked } = await sendRaw(newKey(), 'none', talk(8), { stream });

      expect(asked).toHaveLength(1);
      expect([response.status, text]).toEqual([400, refusal('first')]);
      expect(response.headers.get('x-memory-trigger')).toBe('none');
    }
  });

  it.each<[string, number, string]>([
    [
      'a call without its result',
      400,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ],
    [
      'a result without its call',
      400,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ],
    ['a rate in tokens', 413, 'Request too large on tokens per minute (TPM): Limit 6000, Requested 12328'],
    ['too large an answer', 400, 'max_tokens is too large: 50000. This model supports at most 16384 tokens.'],
    ['an unknown model', 404, 'The maximum context length of this model is 0 tokens: it does not exist.'],
    ['a key', 401, "This model's maximum context length is 6000 tokens."],
    ['trouble', 502, "This model's maximum context length is 6000 tokens."],
  ])('is not taken for it when it is about %s', async (_, status, message) => {
    const body = `{"error":{"message":${JSON.stringify(message)}, "code":null}}`;
    deployment.upstream.next({ type: 'error', status, body });
    const key = newKey();

    const { response, text, asked } = await sendRaw(key, 'compact', talk(8));

    expect(asked).toHaveLength(1);
    expect([response.status, text]).toEqual([status, body]);
    upstream = { type: 'answer' };
    expect((await send(key, 'compact', talk(8))).memory.warnings).toEqual(['idle']);
  });

  it('is relayed whole however long it is', async () => {
    const long = refusal('x'.repeat(300_000));
    deployment.upstream.next({ type: 'error', status: 400, body: long });

    const { response, text, asked } = await sendRaw(newKey(), 'compact', talk(8));

    expect(asked).toHaveLength(1);
    expect([response.status, text.length]).toEqual([400, long.length]);
    expect(text).toBe(long);
  });

  it.each(ofTurn(0, [false, true]))(
    'ends with what came of it when it breaks off, streamed: %s',
    async (stream) => {
      deployment.upstream.next({ type: 'break-off', status: 400, body: '{"error":' });

      const { response, text, asked } = await sendRaw(newKey(), 'compact', talk(8), { stream });

      expect(asked).toHaveLength(1);
      expect([response.status, text]).toEqual([400, '{"error":']);
      expect(response.headers.get('content-type')).toBe('application/json');
    },
  );

  it('that breaks off is no error that a client tries again', async () => {
    deployment.upstream.next({ type: 'break-off', status: 400, body: '{"error":' });
    const client = deployment.client({ apiKey: newKey(), maxRetries: 2 });
    const body = { model, messages: talk(8), memory_strategy: 'auto' } as unknown;

    const refused = client.chat.completions.create(body as ChatCompletionCreateParams);

    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    expect(deployment.chats()).toHaveLength(1);
  });

  it.each(ofTurn(1, [false, true]))(
    'comes unchanged when the second ask gets no answer, streamed: %s',
    async (stream) => {
      deployment.upstream.next(refusing('first'), { type: 'drop' });
      const { response, text, asked } = await sendRaw(newKey(), 'compact', talk(8), { stream });

      expect(asked).toHaveLength(2);
      expect([response.status, text]).toEqual([400, refusal('first')]);
      expect(response.headers.get('x-said')).toBe('first');
      expect(response.headers.get('retry-after')).toBe('3');
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-memory-applied')).toBe('none');
    },
  );

  it.each(ofTurn(0, [false, true]))(
    'has an event of the view that it refused, if the second ask gets no answer, streamed: %s',
    async (stream) => {
      const key = newKey();
      const headers = { authorization: `Bearer ${key}` };
      const conversation = `refused over ${protocol.name} ${stream}`;
      const asked = { conversation_id: conversation };
      await send(key, 'none', [{ role: 'user', content: 'Hello' }], asked);
      deployment.upstream.next(refusing('first'), { type: 'drop' });
      await sendRaw(key, 'compact', talk(8), { stream, ...asked });

      const path = `/v1/conversations/${encodeURIComponent(conversation)}/requests/2`;
      await until('the event is kept', async () => (await deployment.fetch(path, { headers })).ok);
      const event = await (await deployment.fetch(path, { headers })).json();

      expect(event).toMatchObject({ trigger: 'none', frontier: { moved: false }, edits: [], status: 400 });
    },
  );

  it('is not looked for where it is a message for the end user', async () => {
    const message = "Invalid value: 'maximum context length is 1000 tokens'. Supported values are: 'a'.";
    const body = { error: { message, type: 'invalid_request_error', code: 'invalid_value' } };
    deployment.upstream.next({ type: 'error', status: 400, body });
    upstream = { type: 'answer' };
    const key = newKey();

    expect((await sendRaw(key, 'compact', talk(8))).asked).toHaveLength(1);
    expect((await send(key, 'compact', talk(8))).view).toEqual(talk(8));
  });

  it('is the one that the client knows', async () => {
    upstream = { type: 'window', tokens: 10 };
    const client = deployment.client({ apiKey: newKey() });
    const body = { model, messages: talk(8), memory_strategy: 'auto' } as unknown;

    const refused = client.chat.completions.create(body as ChatCompletionCreateParams);

    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: protocol.field,
    });
    expect(deployment.chats()).toHaveLength(2);
  });

  it('of another server is known by its words, and without numbers a quarter goes', async () => {
    const body = { error: { code: 400, message: 'the request exceeds the available context size' } };
    deployment.upstream.next({ type: 'error', status: 400, body });
    upstream = { type: 'answer' };

    const { memory, asked } = await send(newKey(), { mode: 'auto', low_watermark_pct: 1 }, talk(8));

    expect(asked).toHaveLength(2);
    expect(memory.tokens?.window).toBe(Math.floor((memory.tokens?.before ?? 0) * 0.75));
    expect(memory.tokens?.after).toBeLessThanOrEqual(memory.tokens?.window ?? 0);
  });

  it('has its connection closed before the upstream is asked again', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json', connection: 'keep-alive' });
      response.end(refusal('first'));
    });

    await send(newKey(), 'compact', talk(8));

    await until('nothing is open', () => deployment.chats().every(({ closed }) => !closed));
    expect(deployment.chats()).toHaveLength(2);
  });
});

overProtocols('a small request that was refused', deployment, () => {
  /** A few tokens by Precis's count, and many by the upstream's. */
  const FILE: Message[] = [
    PREAMBLE,
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Read it.' },
        { type: 'file', file: { file_id: 'file-1' } },
      ],
    },
  ];

  it.each<[string, string]>([
    ['no limit', 'Input is too long for requested model.'],
    [
      'a limit',
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
    ],
    ['a limit alone', "This model's maximum context length is 128000 tokens."],
  ])('cuts no other conversation, where it reports %s', async (_, message) => {
    upstream = { type: 'answer' };
    const key = newKey();
    for (const messages of [FILE, [...turn('a').with(0, FILE[1] as Message), ...talk(1).slice(1)]]) {
      deployment.upstream.next({ type: 'error', status: 400, body: { error: { message, code: null } } });
      await sendRaw(key, 'compact', messages);
      await sendRaw(key, { mode: 'auto', low_watermark_pct: 1, keep_last_n_turns: 1 }, messages);
    }

    const { memory, asked, view } = await send(key, 'compact', talk(20));

    expect(asked).toHaveLength(1);
    expect(memory.warnings).toEqual(['idle']);
    expect(view).toEqual(talk(20));
  });
});

overProtocols('a limit that nobody has stated', deployment, () => {
  const untold: Behaviour = {
    type: 'error',
    status: 400,
    body: { error: { code: 400, message: 'the request exceeds the available context size' } },
  };
  const strategy = { mode: 'auto', low_watermark_pct: 1 };

  it('is remembered when the smaller view was accepted', async () => {
    upstream = { type: 'answer' };
    const key = newKey();
    deployment.upstream.next(untold);
    const refused = await send(key, strategy, talk(8));

    const { memory, asked } = await send(key, strategy, talk(8));

    expect(refused.asked).toHaveLength(2);
    expect(asked).toHaveLength(1);
    expect(memory.warnings).toContain('limit_learned');
    expect(memory.tokens?.window).toBe(Math.floor((memory.tokens?.before ?? 0) * 0.9));
  });

  it.each<[string, Behaviour]>([
    ['refused too', untold],
    ['met with trouble', { type: 'error', status: 500 }],
    ['not answered', { type: 'drop' }],
  ])('is not remembered when the smaller view was %s', async (_, second) => {
    upstream = { type: 'answer' };
    const key = newKey();
    deployment.upstream.next(untold, second);
    const { asked } = await sendRaw(key, strategy, talk(8));

    const { memory, view } = await send(key, strategy, talk(8));

    expect(asked).toHaveLength(2);
    // Without a budget, nothing is due before the window is nearly full.
    expect(memory.warnings).toEqual(['idle']);
    expect(view).toEqual(talk(8));
  });

  it('is not remembered when there is no smaller view', async () => {
    upstream = { type: 'answer' };
    const key = newKey();
    deployment.upstream.next(untold);
    const { asked } = await sendRaw(key, { mode: 'compact', compact_keep: 20 }, talk(8));

    const { memory, view } = await send(key, 'compact', talk(8));

    expect(asked).toHaveLength(1);
    expect(memory.warnings).toEqual(['idle']);
    expect(view).toEqual(talk(8));
  });
});

overProtocols('a limit that was learned', deployment, (protocol) => {
  it('is of one tenant', async () => {
    const [key, other] = [newKey(), newKey()];
    await send(key, 'compact', talk(8));

    expect((await send(key, 'compact', talk(8))).asked).toHaveLength(1);
    expect((await send(other, 'compact', talk(8))).asked).toHaveLength(2);
  });

  it('is of one model', async () => {
    const key = newKey();
    await send(key, 'compact', talk(8));

    expect((await send(key, 'compact', talk(8), { model: 'gpt-4.1-mini' })).asked).toHaveLength(2);
    expect((await send(key, 'compact', talk(8))).asked).toHaveLength(1);
  });

  it('holds for all modes and conversations of its tenant', async () => {
    const key = newKey();
    await send(key, 'compact', talk(8));

    expect((await send(key, 'trim', talk(9))).asked).toHaveLength(1);
    expect((await send(key, 'rolling_summary', talk(9))).asked).toHaveLength(1);
    expect((await sendRaw(key, 'none', talk(8))).response.status).toBe(400);
  });

  it('is not remembered where there is no tenant', async () => {
    for (const _ of [1, 2]) {
      const { memory, asked } = await send('EMPTY', 'compact', talk(8));

      expect(asked).toHaveLength(2);
      expect(memory.warnings).toEqual(['no_tenant', 'limit_learned']);
    }
  });

  it('leaves conversations alone that are shorter', async () => {
    const key = newKey();
    await send(key, 'compact', talk(8));
    const short = talk(2);

    const { memory, asked } = await send(key, 'compact', short);

    expect(asked).toHaveLength(1);
    expect(asked[0]?.body.messages).toEqual(short);
    expect(memory).toMatchObject({ trigger: 'none', warnings: ['idle'] });
  });

  it('counts for nothing where the strategy names a smaller window', async () => {
    const key = newKey();
    const narrow = { mode: 'compact', context_window_tokens: 4_000 };
    await send(key, 'compact', talk(8));

    const { memory } = await send(key, narrow, talk(8));

    expect(memory.warnings).not.toContain('limit_learned');
    expect(memory.tokens?.window).toBe(4_000);
  });

  it('holds for /v1/compact too, which asks no upstream', async () => {
    const key = newKey();
    const compacted = async () => {
      const response = await deployment.postTo(
        '/v1/compact',
        {
          ...protocol.body({ model, tools }),
          memory_strategy: COMPACT,
          messages: talk(8),
        },
        { authorization: `Bearer ${key}` },
      );
      return ((await response.json()) as { memory: Report }).memory;
    };
    const before = await compacted();
    const { memory } = await send(key, COMPACT, talk(8));
    const after = await compacted();

    expect(before).toMatchObject({ applied_edits: [], warnings: ['idle'] });
    expect(after).toMatchObject({
      trigger: 'upstream_limit',
      warnings: ['limit_learned'],
      tokens: memory.tokens,
    });
    expect(deployment.chats()).toHaveLength(2);
  });

  it('keeps what the view names', async () => {
    const key = newKey();
    const { memory } = await send(key, 'compact', talk(8));

    expect(memory.refs).toHaveLength(6);
    for (const { ref, tool_call_id } of memory.refs) {
      const response = await deployment.fetch(`/v1/refs/${ref}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(await response.text()).toBe(linesAbout(tool_call_id.replace('call_', ''), LINES));
    }
  });
});

overProtocols('an upstream whose window holds the answer too', deployment, () => {
  /** In the words of OpenAI and vLLM. */
  const holding =
    (tokens: number): Behaviour =>
    (request, response, recorded) => {
      const prompt = tokensOf(recorded);
      const answer = recorded.body.max_tokens ?? recorded.body.max_output_tokens ?? 0;
      if (prompt + answer <= tokens) return void behave({ type: 'answer' }, request, response, recorded);
      const message = `This model's maximum context length is ${tokens} tokens. However, you requested ${prompt + answer} tokens (${prompt} in the messages, ${answer} in the completion).`;
      sendJson(
        response,
        { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
        400,
      );
    };

  it('gets a view that leaves the answer its room, and goes on getting such views', async () => {
    upstream = holding(16_000);
    const key = newKey();
    const sent = await play(key, { mode: 'auto' }, 8, 14, { max_tokens: 8_000 });

    expect(sent.map(({ asked }) => asked.length)).toEqual(sent.map((_, at) => (at === 0 ? 2 : 1)));
    expect(sent.filter(({ memory }) => memory.frontier.moved).length).toBeLessThan(sent.length / 2);
    expect(brokenPrefixes(sent)).toEqual([]);
  });

  it('takes longer views for shorter answers', async () => {
    upstream = holding(16_000);
    const key = newKey();
    await send(key, 'compact', talk(7), { max_tokens: 10_000 });

    const { memory, asked } = await send(key, 'compact', talk(7), { max_tokens: 1_000 });

    expect(asked).toHaveLength(1);
    expect(memory.applied_edits).toEqual([]);
  });
});

overProtocols('cross-session memory', deployment, () => {
  it('stays as it was when the view gets smaller', async () => {
    const key = newKey();
    const headers = { authorization: `Bearer ${key}` };
    const user = 'a user with two conversations';
    const rolling = { mode: 'rolling_summary', full_zone_turns: 0 };
    upstream = { type: 'answer' };
    const earlier = new Talk(
      deployment,
      { conversation_id: 'earlier', user, memory_strategy: rolling },
      headers,
    );
    await earlier.rounds(1, 3);
    upstream = WINDOW;
    const fields = { user, conversation_id: 'later', memory_injection: true };
    await until('the user is shown it', async () => {
      const { memory } = await send(key, 'compact', talk(1), {
        ...fields,
        conversation_id: `${Math.random()}`,
      });
      return memory.injection !== undefined;
    });

    const { memory, asked } = await send(key, 'compact', talk(8), fields);

    expect(asked).toHaveLength(2);
    const blocks = asked.map(({ body }) => body.messages[1]);
    expect(blocks[0].content).toMatch(/^Cross-session memory/);
    expect(blocks[1]).toEqual(blocks[0]);
    expect(memory.injection?.tokens).toBeGreaterThan(0);
  });
});
