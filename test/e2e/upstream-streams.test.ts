import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { event } from '../support/completion.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../support/conversations.ts';
import { deploy } from '../support/deployment.ts';
import { collect, dataOf } from '../support/event-stream.ts';
import { until } from '../support/polling.ts';

const IDLE_TIMEOUT_MS = 2_000;

const deployment = deploy({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS) } });

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('streams')]);
const request = { model, messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true, stream: true };

function delta(content: string, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason }];
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices });
}

const DONE = 'data: [DONE]\n\n';

/** An upstream that streams what `write` writes. */
function streaming(write: (response: ServerResponse) => void) {
  return (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write(response);
  };
}

describe('a stream that breaks off', () => {
  const errorOf = (code: string) => ({
    error: { message: expect.stringContaining('upstream'), type: 'server_error', param: null, code },
  });

  it.each([
    ['dies', 'die-mid-stream', 'upstream_unreachable'],
    ['falls silent', 'hang-mid-stream', 'upstream_timeout'],
    ['ends without having finished', 'end-without-done', 'upstream_unreachable'],
  ] as const)(
    'because the upstream %s ends with an error frame and without [DONE]',
    async (_, type, code) => {
      deployment.upstream.next({ type });

      const response = await deployment.chat(request);
      const data = dataOf(await response.text());

      expect(response.status).toBe(200);
      expect(data).toHaveLength(4);
      const said = data.slice(0, 3).map((chunk) => JSON.parse(chunk).choices[0].delta.content);
      expect(said).toEqual(['', 'This', ' is']);
      expect(JSON.parse(data[3] ?? '')).toEqual(errorOf(code));
      if (type === 'hang-mid-stream')
        await until('the silent connection is closed', () => deployment.lastChat().closed);
    },
  );

  it('in the middle of a frame still ends with an error frame that can be read', async () => {
    const half = delta('the second').slice(0, 30);
    deployment.upstream.next(
      streaming((response) => {
        response.write(delta('the first') + half, () => response.destroy());
      }),
    );

    const text = await (await deployment.chat(request)).text();

    const frames = text.split('\n\n').filter((frame) => frame !== '');
    expect(frames[0]).toBe(delta('the first').trimEnd());
    expect(JSON.parse(dataOf(frames.at(-1) ?? '')[0] ?? '')).toEqual(errorOf('upstream_unreachable'));
    expect(text).not.toContain('[DONE]');
  });

  it('is an error for the client, after what has come', async () => {
    deployment.upstream.next({ type: 'die-mid-stream' });
    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });

    const said: string[] = [];
    const read = async () => {
      for await (const chunk of stream) said.push(chunk.choices[0]?.delta.content ?? '');
    };

    await expect(read()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(said.join('')).toBe('This is');
  });

  it('with an error of its own ends as the upstream ends it', async () => {
    const error = event({ error: { message: 'Overloaded', type: 'server_error', param: null, code: null } });
    deployment.upstream.next(streaming((response) => response.end(delta('one') + error)));

    const text = await (await deployment.chat(request)).text();

    expect(text).toBe(delta('one') + error);
  });
});

describe('a stream that goes on', () => {
  it('is passed on chunk by chunk, none waiting for the next', async () => {
    const steps = [0, 1, 2].map(() => Promise.withResolvers<void>());
    deployment.upstream.next(
      streaming(async (response) => {
        for (const [index, step] of steps.entries()) {
          response.write(delta(`word${index}`));
          await step.promise;
        }
        response.end(delta('', 'stop') + DONE);
      }),
    );

    const said: string[] = [];
    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) {
      said.push(chunk.choices[0]?.delta.content ?? '');
      // The upstream sends no more before this one has arrived.
      steps[said.length - 1]?.resolve();
    }

    expect(said).toEqual(['word0', 'word1', 'word2', '']);
  });

  it('may last longer than the upstream may be silent', async () => {
    const pieces = ['a', 'b', 'c', 'd'];
    deployment.upstream.next(
      streaming(async (response) => {
        for (const piece of pieces) {
          response.write(delta(piece));
          await sleep(IDLE_TIMEOUT_MS / 3);
        }
        response.end(delta('', 'stop') + DONE);
      }),
    );

    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    const chunks = await collect(stream);

    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content).join('')).toBe('abcd');
  });

  it('keeps its bytes, however they are framed and cut', async () => {
    const text = [
      ': keepalive\r\n\r\n',
      'event: message\r\nid: 7\r\ndata: {"choices":[{"index":0,\r\ndata: "delta":{"content":"é 😀"},"finish_reason":null}]}\r\n\r\n',
      'retry: 10\n\n',
      'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
      'data: [DONE]\n\n',
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

    const response = await deployment.chat({ ...request, memory_report: false });

    expect(await response.text()).toBe(text);
  });

  it('is not taken for broken when it ends after its finish reason without [DONE]', async () => {
    const text = delta('all') + delta('', 'stop');
    deployment.upstream.next(streaming((response) => response.end(text)));

    const response = await deployment.chat({ ...request, memory_report: false });

    expect(await response.text()).toBe(text);
  });
});

describe('a client that leaves', () => {
  it('in the middle of a stream closes the connection to the upstream', async () => {
    deployment.upstream.next(
      streaming((response) => {
        const timer = setInterval(() => response.write(delta('more ')), 20);
        response.on('close', () => clearInterval(timer));
      }),
    );

    const stream = await deployment.client().chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'more ') break;

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
