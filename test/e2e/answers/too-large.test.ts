/** Upstreams that refuse a body for its bytes: images leave, and the limit is learned. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { image } from '../../support/clients/agent-run.ts';
import { assistant, calls, user } from '../../support/conversations/chat.ts';
import { askByClient } from '../../support/deployment/asked-by-client.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

type Json = Record<string, unknown>;

/** In bytes: what each upstream takes. */
const LIMIT = 260_000;
const SHOT = 40_000;

const NGINX = '<html><head><title>413 Request Entity Too Large</title></head></html>';
const STATED = JSON.stringify({
  code: 'RequestEntityTooLarge',
  message: `Request body size exceeds maximum allowed size: ${LIMIT} bytes`,
});
const IN_WORDS = JSON.stringify({
  error: { message: `Exceeded limit on max bytes to request body : ${LIMIT}`, type: 'BadRequest.TooLarge' },
});
const REFUSALS: readonly [words: string, status: number, body: string][] = [
  ['HTML', 413, NGINX],
  ['a number', 413, STATED],
  ['a bad request', 400, IN_WORDS],
];

let refusal: (typeof REFUSALS)[number] = ['HTML', 413, NGINX];

const refuse = (response: ServerResponse): void => {
  const [, status, body] = refusal;
  response.writeHead(status, { 'content-type': body.startsWith('<') ? 'text/html' : 'application/json' });
  response.end(body);
};

const limited: Behaviour = (request: IncomingMessage, response, recorded) =>
  recorded.rawBody.length > LIMIT
    ? refuse(response)
    : void behave({ type: 'answer' }, request, response, recorded);

const deployment = deploy({ upstream: { chat: (...args) => void behave(limited, ...args) } });
const messagesDeployment = deployMessages();

let keys = 0;
/** A new key, since limits are remembered. */
const newKey = (): string => `sk-the-key-of-a-large-caller-${++keys}`;

const tools = [{ type: 'function', function: { name: 'screenshot', parameters: { type: 'object' } } }];
const shot = (at: number): Json[] => [
  calls([`call_${at}`, 'screenshot']),
  {
    role: 'tool',
    tool_call_id: `call_${at}`,
    content: [{ type: 'text', text: `Screen ${at}.` }, image(`screen ${at}`, SHOT)],
  },
];
/** Screenshots as outputs of tools. */
const clicked = (shots: number): Json[] => [
  user('Click through all pages.'),
  ...Array.from({ length: shots }, (_, at) => shot(at)).flat(),
];
/** Images and files of the user, in turn. */
const attached = (turns: number): Json[] => [
  user('I will show you pages.'),
  ...Array.from({ length: turns }, (_, at) => [
    assistant(`I have seen ${at}.`),
    user([{ type: 'text', text: `Page ${at}.` }, at % 2 === 0 ? image(`page ${at}`, SHOT) : pdf(at)]),
  ]).flat(),
];
const pdf = (at: number): Json => {
  const file_data = `data:application/pdf;base64,${Buffer.from(`page ${at} `.repeat(SHOT)).toString('base64').slice(0, SHOT)}`;
  return { type: 'file', file: { filename: `${at}.pdf`, file_data } };
};

/** Outputs with images, which chat has not. */
const thread = (shots: number): Json[] =>
  deployment.protocol.name === 'chat' ? attached(shots) : clicked(shots);

interface Sent {
  readonly memory: Report;
  readonly asked: readonly RecordedRequest[];
  readonly view: Json[];
}

/** One request by the `openai` client, in the protocol of the block. */
async function ask(apiKey: string, messages: Json[], more: Json = {}): Promise<Sent> {
  const strategy = { memory_strategy: { mode: 'auto' }, memory_report: true };
  const fields = { model: 'gpt-4.1', tools, ...strategy, ...more, messages };
  const { memory, asked } = await askByClient(deployment, apiKey, fields);
  return { memory, asked, view: asked.at(-1)?.body.messages as Json[] };
}

overProtocols('a body that is too large', deployment, () => {
  describe.each(REFUSALS)('in the words of %s', (...words) => {
    it.each(
      ofTurn(
        REFUSALS.findIndex(([one]) => one === words[0]),
        [false, true],
      ),
    )(
      'is sent once more without its oldest images, and the limit is learned, streamed: %s',
      async (stream) => {
        refusal = words;
        const key = newKey();
        await ask(key, thread(1));
        const { memory, asked, view } = await ask(key, thread(8), { stream });

        expect(asked).toHaveLength(2);
        expect(asked[0]?.body.messages).toHaveLength(thread(8).length);
        expect(asked[1]?.rawBody.length).toBeLessThanOrEqual(LIMIT);
        expect(memory.trigger).toBe('upstream_limit');
        expect(memory.warnings).toContain('limit_learned');
        expect(memory.bytes?.after).toBe(asked[1]?.rawBody.length);
        expect(memory.bytes?.limit).toBeLessThanOrEqual(LIMIT);
        expect(JSON.stringify(view.at(-1))).toContain('base64,');
        expect(JSON.stringify(view[2])).toMatch(/⟦removed: (?:image|tool output) for \w+ .*ref=ref_/);

        const next = await ask(key, thread(9), { stream });
        expect(next.asked).toHaveLength(1);
        if (!next.memory.frontier.moved) expect(next.view.slice(0, view.length)).toEqual(view);
      },
    );
  });

  it('keeps what left under refs, as it was', async () => {
    refusal = ['a number', 413, STATED];
    const key = newKey();
    await ask(key, attached(1));
    const { memory } = await ask(key, attached(8));
    const texts: string[] = [];
    for (const { ref } of memory.refs) {
      const response = await deployment.fetch(`/v1/refs/${ref}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      texts.push(await response.text());
    }
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(text).toContain('base64,');
    for (const kind of ['image/png', 'application/pdf']) expect(texts.join('\n')).toContain(kind);
  });

  it('extends the view before, request by request, but for reported moves, and stays within the limit', async () => {
    refusal = ['a number', 413, STATED];
    const key = newKey();
    await ask(key, thread(1));
    await ask(key, thread(7));
    let before: Json[] = [];
    let moves = 0;
    for (let shots = 8; shots < 16; shots++) {
      const { memory, asked, view } = await ask(key, thread(shots));
      expect(asked.map(({ rawBody }) => rawBody.length <= LIMIT)).toEqual([true]);
      if (memory.frontier.moved) moves++;
      else expect(view.slice(0, before.length)).toEqual(before);
      before = view;
    }
    expect(moves).toBeGreaterThan(0);
    expect(moves).toBeLessThan(5);
  });

  it('comes back unchanged where nothing may leave', async () => {
    refusal = ['HTML', 413, NGINX];
    const key = newKey();
    await ask(key, thread(1));
    const messages = [user([{ type: 'text', text: 'Look.' }, image('one', 300_000)])];
    await expect(ask(key, messages)).rejects.toMatchObject({ status: 413 });
    expect(deployment.chats()).toHaveLength(2);
  });

  it('is not what a rate in tokens says', async () => {
    const message = 'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 12328';
    const key = newKey();
    await ask(key, thread(1));
    deployment.upstream.next({
      type: 'error',
      status: 413,
      body: { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } },
    });
    await expect(ask(key, thread(4))).rejects.toMatchObject({ status: 413 });
    expect((await ask(key, thread(4))).memory.bytes).toBeUndefined();
  });

  it('is sent unchanged in mode none', async () => {
    refusal = ['HTML', 413, NGINX];
    await expect(
      ask(newKey(), thread(8), { memory_strategy: 'none', memory_report: false }),
    ).rejects.toMatchObject({
      status: 413,
    });
    expect(deployment.chats()).toHaveLength(1);
  });
});

describe('a body of Messages that is too large', () => {
  /** A screenshot, or a file. */
  const media = (at: number): Json => {
    const data = Buffer.from(`${at}`.repeat(SHOT)).toString('base64');
    const [type, media_type] = at % 2 === 0 ? ['image', 'image/png'] : ['document', 'application/pdf'];
    return { type, source: { type: 'base64', media_type, data } };
  };
  const result = (at: number): Json[] => [
    assistant([{ type: 'tool_use', id: `toolu_${at}`, name: 'screenshot', input: {} }]),
    user([
      {
        type: 'tool_result',
        tool_use_id: `toolu_${at}`,
        content: [{ type: 'text', text: `Screen ${at}.` }, media(at)],
      },
    ]),
  ];
  const asking = (shots: number): Json => ({
    tools: [{ name: 'screenshot', description: 'Shows the screen.', input_schema: { type: 'object' } }],
    memory_strategy: { mode: 'auto' },
    messages: [
      user('Click through all pages.'),
      ...Array.from({ length: shots }, (_, at) => result(at)).flat(),
    ],
  });
  const message = `Request exceeds the maximum size (max ${LIMIT} bytes)`;
  const refusing = (_: RecordedRequest, response: ServerResponse): void => {
    response.writeHead(413, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ type: 'error', error: { type: 'request_too_large', message } }));
  };

  it.each(ofTurn(1, [false, true]))(
    'is sent once more without its oldest images, streamed: %s',
    async (stream) => {
      const headers = { 'x-api-key': `sk-ant-${newKey()}` };
      await messagesDeployment.ask(asking(1), headers);
      messagesDeployment.upstream.next(refusing);
      const response = await messagesDeployment.post({ ...asking(6), stream }, headers);
      expect(response.status).toBe(200);
      expect(response.headers.get('x-memory-trigger')).toBe('upstream_limit');
      await response.text();
      const [, refused, smaller] = messagesDeployment.upstream.messages();
      expect(refused?.rawBody.length).toBeGreaterThan(LIMIT);
      expect(smaller?.rawBody.length).toBeLessThanOrEqual(LIMIT);
      const { memory } = await messagesDeployment.ask(asking(7), headers);
      expect(memory.warnings).toContain('limit_learned');
      expect(memory.bytes?.limit).toBe(LIMIT);
    },
  );
});
