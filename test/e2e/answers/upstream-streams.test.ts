import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { saidStream } from '../../support/conversations/said-stream.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { collect, dataOf } from '../../support/deployment/event-stream.ts';
import { until } from '../../support/deployment/polling.ts';
import { CHAT, overProtocols } from '../../support/deployment/protocol.ts';

const IDLE_TIMEOUT_MS = 2_000;

const deployment = deploy({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS) } });

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('streams')]);
const request = { model, messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true, stream: true };

/** The first line of a stream's last frame. */
function endOf(frames: string): string {
  return frames.trimEnd().split('\n\n').at(-1)?.split('\n')[0] ?? '';
}

/** An upstream that streams the output of `write`. */
function streaming(write: (response: ServerResponse) => void) {
  return (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write(response);
  };
}

overProtocols('a stream that breaks off', deployment, (protocol) => {
  const errorOf = (code: string) => ({
    error: { message: expect.stringContaining('upstream'), type: 'server_error', param: null, code },
  });

  it.each([
    ['dies', 'die-mid-stream', 'upstream_unreachable'],
    ['falls silent', 'hang-mid-stream', 'upstream_timeout'],
    ['ends without having finished', 'end-without-done', 'upstream_unreachable'],
  ] as const)(
    'because the upstream %s ends with an error frame and without its own end',
    async (_, type, code) => {
      deployment.upstream.next({ type });

      const response = await deployment.chat(request);
      const data = dataOf(await response.text());

      expect(response.status).toBe(200);
      expect(data).toHaveLength(4);
      const said = data.slice(0, 3).map((chunk) => JSON.parse(chunk).choices[0].delta.content);
      expect(said.join('').trim()).toBe('This is');
      expect(JSON.parse(data[3] ?? '')).toEqual(errorOf(code));
      if (type === 'hang-mid-stream')
        await until('the silent connection is closed', () => deployment.lastChat().closed);
    },
  );

  it('in the middle of a frame still ends with an error frame that can be read', async () => {
    const { open, words, close } = saidStream(protocol, ['first', 'second']);
    const [first = '', second = ''] = words;
    deployment.upstream.next(
      streaming((response) => {
        response.write(open + first + second.slice(0, second.length / 2), () => response.destroy());
      }),
    );

    const response = await deployment.wire(request);
    const [forTest, forReading] = response.body?.tee() ?? [];
    const text = await new Response(forTest).text();
    const read = await protocol.answer(new Response(forReading, response));

    expect(text.startsWith(open + first)).toBe(true);
    expect(text).not.toContain(endOf(close));
    expect(JSON.parse(dataOf(await read.text()).at(-1) ?? '')).toEqual(errorOf('upstream_unreachable'));
  });

  it.each(['Text/Event-Stream', 'text/plain; charset=utf-8', 'application/octet-stream', undefined])(
    'is known as a stream whose type is %s',
    async (type) => {
      const { open, words } = saidStream(protocol, ['one']);
      deployment.upstream.next((_, response) => {
        response.writeHead(200, type === undefined ? {} : { 'content-type': type });
        response.end(open + words[0]);
      });

      const data = dataOf(await (await deployment.chat(request)).text());

      expect(JSON.parse(data.at(-1) ?? '')).toEqual(errorOf('upstream_unreachable'));
    },
  );

  it('is passed on unread where it is none, whatever was asked', async () => {
    const body = '{"error":"Overloaded","data":1}';
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write(body.slice(0, 3));
      response.end(body.slice(3));
    });

    const answer = await deployment.wire(request);

    expect(answer.headers.get('content-type')).toBe('text/plain');
    expect(await answer.text()).toBe(body);
  });

  it('is an error for the client, after what has come', async () => {
    deployment.upstream.next({ type: 'die-mid-stream' });
    const { chat, responses } = deployment.client();
    const said: string[] = [];
    const read = async () => {
      if (protocol.name === 'chat') {
        const stream = await chat.completions.create({ model, messages, stream: true });
        for await (const chunk of stream) said.push(chunk.choices[0]?.delta.content ?? '');
      } else {
        const stream = await responses.create({ model, input: 'Hi.', stream: true });
        for await (const event of stream)
          if (event.type === 'response.output_text.delta') said.push(event.delta);
      }
    };

    await expect(read()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(said.join('').trim()).toBe('This is');
  });

  it('with an error of its own ends as the upstream ends it', async () => {
    const { open, words } = saidStream(protocol, ['one']);
    const error = { message: 'Overloaded', param: null, code: null };
    const frame =
      protocol.name === 'chat'
        ? `data: ${JSON.stringify({ error: { ...error, type: 'server_error' } })}\n\n`
        : `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 9, ...error })}\n\n`;
    deployment.upstream.next(streaming((response) => response.end(open + words[0] + frame)));

    const text = await (await deployment.wire(request)).text();

    expect(text).toBe(open + words[0] + frame);
  });
});

overProtocols('a stream that goes on', deployment, (protocol) => {
  it('is passed on frame by frame, none waiting for the next', async () => {
    const { open, words, close } = saidStream(protocol, ['word0', 'word1', 'word2']);
    const steps = words.map(() => Promise.withResolvers<void>());
    deployment.upstream.next(
      streaming(async (response) => {
        response.write(open);
        for (const [index, step] of steps.entries()) {
          response.write(words[index]);
          await step.promise;
        }
        response.end(close);
      }),
    );

    const said: string[] = [];
    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) {
      const content = chunk.choices[0]?.delta.content ?? '';
      if (content === '') continue;
      said.push(content.trim());
      // The upstream sends no more before this part has arrived.
      steps[said.length - 1]?.resolve();
    }

    expect(said).toEqual(['word0', 'word1', 'word2']);
  });

  it('may last longer than the upstream may be silent', async () => {
    const { open, words, close } = saidStream(protocol, ['a', 'b', 'c', 'd']);
    deployment.upstream.next(
      streaming(async (response) => {
        response.write(open);
        for (const word of words) {
          response.write(word);
          await sleep(IDLE_TIMEOUT_MS / 3);
        }
        response.end(close);
      }),
    );

    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    const chunks = await collect(stream);

    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('a b c d');
  });

  it('keeps its bytes, however they are framed and cut', async () => {
    const { open, words, close } = saidStream(protocol, ['é😀', 'é']);
    const [first = '', second = ''] = words;
    const text = [
      ': keepalive\r\n\r\n',
      open.replaceAll('\n', '\r\n'),
      // A frame with data of two lines.
      `id: 7\r\n${first.replace(/,(?=")/, ',\ndata: ').replaceAll('\n', '\r\n')}`,
      'retry: 10\n\n',
      second.replace('data: ', 'data:'),
      close,
    ].join('');
    deployment.upstream.next(
      streaming(async (response) => {
        response.socket?.setNoDelay(true);
        for (const byte of Buffer.from(text)) {
          response.write(Uint8Array.of(byte));
          if (byte > 0x7f || byte === 0x0d) await sleep(1);
        }
        response.end();
      }),
    );

    const response = await deployment.wire({ ...request, memory_report: false });

    expect(await response.text()).toBe(text);
  });
});

/** Chat only: a stream of the Responses API has nothing after its last event. */
describe('a stream of chunks', () => {
  it('is not taken for broken when it ends after its finish reason without [DONE]', async () => {
    const { open, words, close } = saidStream(CHAT, ['all']);
    const text = open + words[0] + close.replace('data: [DONE]\n\n', '');
    deployment.upstream.next(streaming((response) => response.end(text)));

    const response = await deployment.chat({ ...request, memory_report: false });

    expect(await response.text()).toBe(text);
    expect(text).not.toContain('[DONE]');
  });
});

overProtocols('a client that leaves', deployment, (protocol) => {
  it('in the middle of a stream closes the connection to the upstream', async () => {
    const { open, words } = saidStream(protocol, ['more']);
    deployment.upstream.next(
      streaming((response) => {
        response.write(open);
        const timer = setInterval(() => response.write(words[0]), 20);
        response.on('close', () => clearInterval(timer));
      }),
    );

    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'more') break;

    await until('the connection is closed', () => deployment.lastChat().closed);
  });

  it('in the middle of the answer of another route closes the connection to the upstream', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      const timer = setInterval(() => response.write('more '), 20);
      response.on('close', () => clearInterval(timer));
    });

    const response = await deployment.fetch('/v1/audio/speech', { method: 'POST', body: '{}' });
    await response.body?.cancel();

    await until('the connection is closed', () => deployment.upstream.requests.some(({ closed }) => closed));
  });
});
