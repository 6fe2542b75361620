/** Upstreams that report within a stream, with status 200, that the context is too long. */
import { describe, expect, it } from 'vitest';
import { type Behaviour, tokensOf } from '../../../tools/upstream/behaviours.ts';
import { step } from '../../support/conversations/chat.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { saidStream } from '../../support/conversations/said-stream.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols, PROTOCOLS, type Protocol } from '../../support/deployment/protocol.ts';

const deployment = deploy();

type Message = Record<string, unknown>;

const tools = [{ type: 'function', function: { name: 'read_file', parameters: { type: 'object' } } }];

const turn = (topic: string): Message[] => [
  { role: 'user', content: `Read the file about ${topic}.` },
  ...step(`call_${topic}`, 'read_file', linesAbout(topic, 80)),
  { role: 'assistant', content: `I have read all about ${topic}.` },
];
const messages = [...['a', 'b', 'c', 'd', 'e', 'f'].flatMap(turn), { role: 'user', content: 'Go on.' }];

const TOLD =
  "This model's maximum context length is 6000 tokens. However, your messages resulted in 9999 tokens.";
const UNTOLD = 'Your input exceeds the context window of this model.';
const CODE = 'context_length_exceeded';

const frameOf = (data: object): string =>
  'type' in data
    ? `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
    : `data: ${JSON.stringify(data)}\n\n`;

/** Frames with which a stream refuses, by name. @param limit whether they state it */
function refusals({ name }: Protocol, limit = true): Record<string, string> {
  const message = limit ? TOLD : UNTOLD;
  if (name === 'chat') {
    const error = { message, type: 'invalid_request_error', param: 'messages', code: CODE };
    return {
      'an error': frameOf({ error }),
      'an error by its words alone': frameOf({ error: { message, code: 400 } }),
      'an error behind a comment': `: PROCESSING\n\n${frameOf({ error })}`,
      "an error behind the filter's words": `${frameOf({ choices: [], prompt_filter_results: [] })}${frameOf({ error })}`,
      'the fields of an error': frameOf({ object: 'error', message, code: 400 }),
      'an error without an end': frameOf({ error }).trimEnd(),
    };
  }
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  const opening = ['response.created', 'response.in_progress']
    .map((type, sequence_number) => frameOf({ type, sequence_number, response }))
    .join('');
  const failed = {
    ...response,
    status: 'failed',
    instructions: 'a prompt is too long',
    error: { code: CODE, message },
  };
  return {
    'response.failed': `${opening}${frameOf({ type: 'response.failed', sequence_number: 2, response: failed })}`,
    'an error': `${opening}${frameOf({ type: 'error', sequence_number: 2, code: CODE, message, param: 'input' })}`,
    'an error alone': frameOf({ type: 'error', sequence_number: 0, code: null, message, param: null }),
    'an error in an error': `${opening}${frameOf({ type: 'error', error: { type: 'invalid_request_error', code: CODE, message } })}`,
    'an error behind other events': `${frameOf({ type: 'codex.rate_limits' })}${opening}${frameOf({ type: 'keepalive' })}${frameOf({ error: { code: CODE, message } })}`,
  };
}

const streams =
  (...frames: string[]): Behaviour =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames.join(''));
  };

let keys = 0;
/** A new key, since limits are remembered. */
const newKey = () => ({ authorization: `Bearer sk-the-key-of-stream-caller-${++keys}` });

async function send(strategy: unknown, headers = newKey(), more: object = {}) {
  const before = deployment.chats().length;
  const body = { model: 'gpt-4.1', stream: true, tools, memory_strategy: strategy, ...more, messages };
  const response = await deployment.wire(body, headers);
  const text = await response.text();
  const asked = deployment.chats().slice(before);
  return { status: response.status, headers: response.headers, text, asked };
}

describe.each(PROTOCOLS)('a stream that begins with a refusal, over $name', (protocol) => {
  deployment.over(protocol);
  const [first = ''] = Object.values(refusals(protocol));

  it.each(Object.keys(refusals(protocol)))('F19: is tried with a smaller view, once (%s)', async (kind) => {
    const key = newKey();
    deployment.upstream.next(streams(refusals(protocol)[kind] ?? ''));
    const { status, headers, text, asked } = await send({ mode: 'compact' }, key, { memory_report: true });

    expect(asked).toHaveLength(2);
    const [refused, smaller] = asked.map(tokensOf);
    expect(smaller).toBeLessThan(refused ?? 0);
    expect(status).toBe(200);
    expect(text).toMatch(/"This ?"/);
    expect(text).not.toMatch(/"error":\{|context/);
    expect(headers.get('x-memory-trigger')).toBe('upstream_limit');
    expect(text).toContain('"trigger":"upstream_limit"');
    expect((await send({ mode: 'compact' }, key)).asked).toHaveLength(1);
  });

  it('F19: is tried so where the model may fetch, too', async () => {
    deployment.upstream.next(streams(first));
    const { asked, text } = await send({ mode: 'compact', compact_retrieval: 'tool' });
    expect([asked.length, /"This ?"/.test(text)]).toEqual([2, true]);
  });

  it('F19: comes unchanged where the smaller view is refused too, and nothing is learned of it', async () => {
    const key = newKey();
    const [untold = ''] = Object.values(refusals(protocol, false));
    deployment.upstream.next(streams(untold), streams(untold));
    const { asked, text } = await send({ mode: 'compact' }, key);
    expect(asked).toHaveLength(2);
    expect(text).toBe(untold);
    const { headers } = await send({ mode: 'compact' }, key);
    expect(headers.get('x-memory-warning')).toBe('idle');
  });

  it.each([
    ['in mode none', 'none'],
    ['without a smaller view', { mode: 'compact', compact_keep: 20 }],
  ])('F19: comes unchanged %s', async (_, strategy) => {
    deployment.upstream.next(streams(first));
    const { asked, text } = await send(strategy);
    expect([asked.length, text]).toEqual([1, first]);
  });

  it.each([
    ['about something else', { message: 'Slow down.', code: 'rate_limit_exceeded' }],
    ['about time, in such words', { message: TOLD, code: 429 }],
  ])('F19: comes unchanged where it is %s', async (_, error) => {
    const frame = frameOf(protocol.name === 'chat' ? { error } : { type: 'error', ...error });
    deployment.upstream.next(streams(frame));
    const { asked, text } = await send({ mode: 'compact' });
    expect([asked.length, text]).toEqual([1, frame]);
  });
});

overProtocols('a stream that begins with words', deployment, (protocol) => {
  const said = saidStream(protocol, ['One', 'two']);

  it('F19: is not tried again for what it says later', async () => {
    const frames = [said.open, said.words[0] ?? '', Object.values(refusals(protocol))[0] ?? ''];
    deployment.upstream.next(streams(...frames));
    const { asked, text } = await send({ mode: 'compact', compact_retrieval: 'off' });
    expect([asked.length, text]).toEqual([1, frames.join('')]);
  });

  it('F19: has its first word shown before the second one is there', async () => {
    const seen = Promise.withResolvers<void>();
    deployment.upstream.next(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(said.open);
      response.write(said.words[0]);
      await seen.promise;
      response.end(`${said.words[1]}${said.close}`);
    });
    const body = { model: 'gpt-4.1', stream: true, tools, memory_strategy: 'compact', messages };
    const { body: stream } = await deployment.wire(body, newKey());
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of stream ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(said.words[0] ?? '')) seen.resolve();
    }
    expect(text).toBe([said.open, ...said.words, said.close].join(''));
  });
});
