import { describe, expect, it, vi } from 'vitest';
import type { Log } from '../../../src/log.ts';
import type { UpstreamAnswer } from '../../../src/upstream/fetch.ts';
import { openAnswer, openStream } from '../../../src/upstream/opening.ts';

describe('the beginning of a stream', () => {
  it('is held up to 1 MiB where nothing decides, and loses nothing', async () => {
    let sent = 0;
    const most = 40;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (sent === most) return controller.close();
          controller.enqueue(new Uint8Array(64 * 1024).fill(++sent));
        },
      },
      { highWaterMark: 0 },
    );
    const answer = { response: new Response(body), abort: () => undefined };
    const opened = await openStream(answer, { push: () => false, end: () => undefined }, 60_000);
    expect(sent).toBe(16);
    let length = 0;
    for (let read = await opened.rest?.next(); read && !read.done; read = await opened.rest?.next())
      length += read.value.length;
    expect(length).toBe(most * 64 * 1024);
  });
});

describe('an answer that is opened', () => {
  const log = () => undefined;
  function answerOf(body: BodyInit | null): UpstreamAnswer {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_1' };
    return {
      response: new Response(body, { status: 400, statusText: 'Bad', headers }),
      abort: () => undefined,
    };
  }
  function inPieces(
    count: number,
    size: number,
    end: 'closed' | 'broken' | 'open' = 'closed',
  ): ReadableStream {
    let sent = 0;
    const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
      if (sent++ < count) return controller.enqueue(new Uint8Array(size).fill(sent));
      if (end === 'closed') return controller.close();
      // Waits until the sent bytes are read: an error discards bytes that are still queued.
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (end === 'broken') controller.error(new Error('gone'));
    };
    return new ReadableStream({ pull });
  }

  it('is whole, and still there to be read', async () => {
    const { whole, answer } = await openAnswer(answerOf('{"é":1}'), 100, 1_000, log);

    expect(new TextDecoder().decode(whole)).toBe('{"é":1}');
    expect(await answer.response.text()).toBe('{"é":1}');
    expect([answer.response.status, answer.response.statusText]).toEqual([400, 'Bad']);
    expect(answer.response.headers.get('x-request-id')).toBe('req_1');
  });

  it('is left alone where it is longer than was looked at, and loses nothing', async () => {
    const { whole, answer } = await openAnswer(answerOf(inPieces(5, 100)), 250, 1_000, log);

    expect(whole).toBeUndefined();
    const body = new Uint8Array(await answer.response.arrayBuffer());
    expect([...new Set(body)]).toEqual([1, 2, 3, 4, 5]);
    expect(body).toHaveLength(500);
  });

  it('is left alone where its body takes too long', async () => {
    const { whole, answer } = await openAnswer(answerOf(inPieces(1, 10, 'open')), 100, 20, log);

    expect(whole).toBeUndefined();
    const read = await answer.response.body?.getReader().read();
    expect(read?.value).toHaveLength(10);
  });

  it('can be read when its connection is closed', async () => {
    const { answer } = await openAnswer(answerOf(inPieces(2, 10)), 100, 1_000, log);
    answer.abort();

    expect(await answer.response.text()).toHaveLength(20);
  });

  it.each([10, 200])(
    'ends with what came where its body breaks off, after 3 times %i bytes',
    async (size) => {
      const broken = answerOf(inPieces(3, size, 'broken'));
      broken.response.headers.set('content-length', '1000');
      let aborted = 0;
      const logged = vi.fn<Log>();
      const { whole, answer } = await openAnswer({ ...broken, abort: () => aborted++ }, 500, 1_000, logged);

      expect(whole).toBeUndefined();
      expect(aborted).toBe(1);
      expect(logged.mock.lastCall?.[2]).toEqual({ code: 'upstream_unreachable', error: 'Error' });
      expect(await answer.response.text()).toHaveLength(3 * size);
      expect(answer.response.status).toBe(400);
      expect(answer.response.headers.get('x-request-id')).toBe('req_1');
      expect(answer.response.headers.has('content-length')).toBe(false);
    },
  );

  it('may have no body', async () => {
    const { whole, answer } = await openAnswer(answerOf(null), 100, 1_000, log);

    expect(whole).toBeUndefined();
    expect(await answer.response.text()).toBe('');
  });
});
