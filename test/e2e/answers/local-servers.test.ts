/**
 * A full window in the words of Ollama, LM Studio and llama.cpp, and in answers that it cuts short.
 */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, tokensOf } from '../../../tools/upstream/behaviours.ts';
import { chunks, completion, DONE, usageOf } from '../../../tools/upstream/completion.ts';
import { messageEvents, messageOf } from '../../../tools/upstream/message.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { eventsOf, responseOf } from '../../../tools/upstream/response.ts';
import { searchTurns } from '../../support/clients/agent-run.ts';
import { step } from '../../support/conversations/chat.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { askByClient } from '../../support/deployment/asked-by-client.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

type Json = Record<string, unknown>;

const deployment = deploy();
const messagesDeployment = deployMessages();

/** A model of the deployer's own: it has no price. */
const model = 'qwen3:8b';
const WINDOW = 8_192;
/** Tokens of a whole answer. */
const ANSWER = 600;

let keys = 0;
/** A new key, since limits are remembered. */
const newKey = (): string => `sk-the-key-of-a-local-caller-${++keys}`;

const tools = [{ type: 'function', function: { name: 'read_file', parameters: { type: 'object' } } }];
const turn = (topic: string): Json[] => [
  { role: 'user', content: `Read the file about ${topic}.` },
  ...step(`call_${topic}`, 'read_file', linesAbout(topic, 84)),
  { role: 'assistant', content: `I have read all about ${topic}.` },
];
/** About 1,450 tokens a turn, by the upstream's count. */
const talk = (turns: number): Json[] => [
  ...Array.from({ length: turns }, (_, at) => turn(`topic${at}`)).flat(),
  { role: 'user', content: 'What have you read?' },
];

/** An answer that ends with the window. */
function cutAnswer({ path, body }: RecordedRequest, prompt: number): { json: object; frames: string[] } {
  const output = WINDOW - prompt;
  const usage = usageOf(prompt, output);
  const of = { content: 'I have' };
  if (path.includes('/messages')) {
    const answer = {
      ...of,
      stopReason: 'max_tokens',
      usage: { input_tokens: prompt, output_tokens: output },
    };
    return { json: messageOf(body, answer), frames: [...messageEvents(body, answer)] };
  }
  if (path.includes('/responses')) {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    const json = { ...responseOf(body, { ...of, usage }), ...cut };
    const last = `event: response.incomplete\ndata: ${JSON.stringify({ type: 'response.incomplete', response: json })}\n\n`;
    return { json, frames: [...[...eventsOf(body, { ...of, usage })].slice(0, -1), last] };
  }
  const frame = { id: 'chatcmpl-local', model, usage };
  const short = (text: string): string => text.replace('"finish_reason":"stop"', '"finish_reason":"length"');
  return {
    json: JSON.parse(short(JSON.stringify(completion(of, frame)))),
    frames: [...[...chunks(of, frame, true)].map(short), DONE],
  };
}

function send(response: ServerResponse, body: Json, { json, frames }: ReturnType<typeof cutAnswer>): void {
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(json));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(frames.join(''));
}

/** Cuts an answer at the end of the window; with a limit of the caller, there. */
const cutting: Behaviour = (_, response, recorded) => {
  const prompt = tokensOf(recorded);
  const limit = recorded.body.max_tokens ?? recorded.body.max_output_tokens;
  if (limit) {
    const cut = cutAnswer(recorded, prompt);
    const whole = JSON.stringify(cut).replaceAll(`:${WINDOW - prompt},`, `:${limit},`);
    return send(response, recorded.body, JSON.parse(whole));
  }
  send(response, recorded.body, cutAnswer(recorded, prompt));
};

interface Sent {
  readonly memory: Report;
  readonly asked: readonly RecordedRequest[];
  readonly answer: string;
}

/** One request by the `openai` client, in the protocol of the block. */
async function ask(apiKey: string, messages: Json[], more: Json = {}): Promise<Sent> {
  const fields = { model, tools, memory_strategy: { mode: 'auto' }, memory_report: true, ...more, messages };
  const { memory, asked, parts } = await askByClient(deployment, apiKey, fields);
  return { memory, asked, answer: JSON.stringify(parts) };
}

/** Errors of local servers, with their status. 200: an event of a stream. */
const WORDS: readonly [server: string, status: number, stream: boolean, error: Json][] = [
  ...[false, true].flatMap((stream): (typeof WORDS)[number][] => [
    [
      'llama.cpp',
      500,
      stream,
      { code: 500, message: 'Context size has been exceeded.', type: 'server_error' },
    ],
    [
      'Ollama',
      500,
      stream,
      {
        message: `input length (9000 tokens) exceeds the model's maximum context length (${WINDOW} tokens)`,
        type: 'api_error',
      },
    ],
    [
      'LM Studio',
      stream ? 200 : 400,
      stream,
      {
        message: `Input does not fit in context length. The input has 9000 tokens, but the context length only supports ${WINDOW} tokens.`,
      },
    ],
  ]),
];

const sendError = (response: ServerResponse, status: number, error: object): void => {
  const isEvent = status === 200;
  response.writeHead(status, { 'content-type': isEvent ? 'text/event-stream' : 'application/json' });
  response.end(isEvent ? `event: error\ndata: ${JSON.stringify(error)}\n\n` : JSON.stringify(error));
};

const refusing =
  (error: Json, status = 500): Behaviour =>
  (_, response) =>
    sendError(response, status, { error });

overProtocols('a local server with a full window', deployment, () => {
  it.each(WORDS)(
    'is asked once more, with a smaller view, in the words of %s (status %d, streamed: %s)',
    async (_, status, stream, error) => {
      const key = newKey();
      deployment.upstream.next(refusing(error, status));
      const { memory, asked } = await ask(key, talk(6), { stream });

      expect(asked).toHaveLength(2);
      const [refused = 0, smaller = 0] = asked.map(tokensOf);
      expect(smaller).toBeLessThan(refused);
      expect(memory.trigger).toBe('upstream_limit');
      const next = await ask(key, talk(7));
      expect(next.asked).toHaveLength(1);
      expect(next.memory.warnings).toContain('limit_learned');
    },
  );

  it('passes on a failure that is about something else, and asks once', async () => {
    deployment.upstream.next(refusing({ code: 500, message: 'Compute error.', type: 'server_error' }));
    await expect(ask(newKey(), talk(6))).rejects.toMatchObject({ status: 500 });
    expect(deployment.chats()).toHaveLength(1);
  });

  it('is asked once more where it has cut the answer short, and the limit is learned', async () => {
    const key = newKey();
    deployment.upstream.next(cutting);
    const { memory, asked, answer } = await ask(key, talk(5));

    expect(asked).toHaveLength(2);
    const [cut = 0, smaller = 0] = asked.map(tokensOf);
    expect(smaller).toBeLessThan(cut);
    expect(memory.trigger).toBe('upstream_limit');
    expect(answer).toContain('This is what the upstream has to say.');
    const next = await ask(key, talk(6));
    expect(next.asked).toHaveLength(1);
    expect(tokensOf(next.asked[0] as RecordedRequest) + ANSWER).toBeLessThan(WINDOW);
  });

  it('gives the cut answer where the smaller view is refused', async () => {
    deployment.upstream.next(cutting, refusing({ message: 'Compute error.' }));
    const { asked, answer } = await ask(newKey(), talk(5));
    expect(asked).toHaveLength(2);
    expect(answer).toContain('I have');
    expect(answer).not.toContain('Compute');
  });

  it('is not asked again for a stream, which its caller has already, and the limit is learned', async () => {
    const key = newKey();
    deployment.upstream.next(cutting);
    const { asked, answer } = await ask(key, talk(5), { stream: true });

    expect(asked).toHaveLength(1);
    expect(answer).not.toContain('This is what the upstream has to say.');
    const next = await ask(key, talk(5), { stream: true });
    expect(next.memory.warnings).toContain('limit_learned');
    expect(tokensOf(next.asked[0] as RecordedRequest)).toBeLessThan(tokensOf(asked[0] as RecordedRequest));
  });

  it('is not asked again for an answer that the caller has limited, and nothing is learned', async () => {
    const key = newKey();
    deployment.upstream.next(cutting);
    const { asked } = await ask(key, talk(5), { max_tokens: 300 });

    expect(asked).toHaveLength(1);
    const next = await ask(key, talk(5));
    expect(next.memory.warnings).not.toContain('limit_learned');
  });

  it('learns nothing of an answer that a vendor has cut short', async () => {
    const key = newKey();
    deployment.upstream.next(cutting);
    const { asked } = await ask(key, talk(5), { model: 'gpt-4.1' });
    expect(asked).toHaveLength(1);
    expect((await ask(key, talk(5), { model: 'gpt-4.1' })).memory.warnings).not.toContain('limit_learned');
  });

  it('learns the limit of an error in the middle of a stream', async () => {
    const key = newKey();
    const message = `Reached context length of ${WINDOW} tokens with model (arch: qwen3) that does not currently support mid-generation context overflow.`;
    deployment.upstream.next((_, response, recorded) => {
      const { frames } = cutAnswer(recorded, tokensOf(recorded));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frames.slice(0, 6).join(''));
      response.end(`event: error\ndata: ${JSON.stringify({ error: { message }, message })}\n\n`);
    });
    const body = { model, tools, memory_strategy: { mode: 'auto' }, stream: true, messages: talk(6) };
    const response = await deployment.wire(body, { authorization: `Bearer ${key}` });
    await response.text();
    const { memory, asked } = await ask(key, talk(6));
    expect(asked).toHaveLength(1);
    expect(memory.warnings).toContain('limit_learned');
  });
});

describe('a local server of Messages', () => {
  const CONVERSATION = searchTurns('pears', 12);
  const asking: Json = {
    model,
    max_tokens: 4_000,
    tools: [{ name: 'search', description: 'Searches.', input_schema: { type: 'object' } }],
    memory_strategy: { mode: 'auto' },
    messages: [...CONVERSATION, { role: 'user', content: 'And now?' }],
  };
  const keyOf = () => ({ 'x-api-key': `sk-ant-${newKey()}` });

  it.each(WORDS)(
    'is asked once more, with a smaller view, in the words of %s (status %d, streamed: %s)',
    async (_, status, stream, error) => {
      const key = keyOf();
      messagesDeployment.upstream.next((_recorded, response) =>
        sendError(response, status, { type: 'error', error }),
      );
      const response = await messagesDeployment.post({ ...asking, stream }, key);
      expect(response.status).toBe(200);
      expect(response.headers.get('x-memory-trigger')).toBe('upstream_limit');
      await response.text();
      expect(messagesDeployment.upstream.messages()).toHaveLength(2);
    },
  );

  it.each(ofTurn(0, [false, true]))(
    'learns from an answer that it has cut short, streamed: %s',
    async (stream) => {
      const key = keyOf();
      messagesDeployment.upstream.next((recorded, response) =>
        send(response, recorded.body, cutAnswer(recorded, WINDOW - 500)),
      );
      const response = await messagesDeployment.post({ ...asking, stream }, key);
      await response.text();
      expect(messagesDeployment.upstream.messages()).toHaveLength(stream ? 1 : 2);
      const { memory } = await messagesDeployment.ask(asking, key);
      expect(memory.warnings).toContain('limit_learned');
    },
  );
});
