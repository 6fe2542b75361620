import { describe, expect, it } from 'vitest';
import { inTime } from '../../../src/answer/compacted.ts';
import type { StreamForm } from '../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../src/protocol/answers/sse.ts';
import { responsesFormat } from '../../../src/protocol/responses/format.ts';
import { ApiError } from '../../../src/request/errors.ts';

const LIVES = { type: 'response.in_progress', sequence_number: 4, response: { id: 'resp_1' } };
const ALIVE = `data: ${JSON.stringify(LIVES)}\n\n`;

function late(work: Promise<Response>, form?: StreamForm): Promise<Response> {
  return inTime(work, {
    format: responsesFormat.stream(undefined, undefined, form),
    keepalive: () => Frame.of(JSON.stringify(LIVES)),
    errorOf: (error) => (error instanceof ApiError ? error : new ApiError('internal_error', 'Failed.')),
    keepaliveMs: 5,
  });
}

/** The last event of an answer that fails after a sign of life. */
async function lastOf(form?: StreamForm): Promise<string> {
  const { promise, reject } = Promise.withResolvers<Response>();
  const response = await late(promise, form);
  let text = '';
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    text += new TextDecoder().decode(bytes);
    reject(new ApiError('upstream_unreachable', 'Gone.'));
  }
  return text.replaceAll(ALIVE, '');
}

describe('an answer that may take long', () => {
  it('is as it was made where it comes at once', async () => {
    const answer = new Response('an event', { headers: { 'x-memory-mode': 'auto' } });
    expect(await late(Promise.resolve(answer))).toBe(answer);
  });

  it('fails with its status where it fails at once', async () => {
    const error = new ApiError('invalid_messages', 'None.');
    await expect(late(Promise.reject(error))).rejects.toBe(error);
  });

  it('is kept alive until it comes', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const response = await late(promise);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const read = async () => new TextDecoder().decode((await reader.read()).value);
    expect([await read(), await read()]).toEqual([ALIVE, ALIVE]);
    resolve(new Response('the events'));
    let last = await read();
    while (last === ALIVE) last = await read();
    expect(last).toBe('the events');
    expect((await reader.read()).done).toBe(true);
  });

  it('ends with an error where it fails after the first byte', async () => {
    expect(await lastOf()).toBe(
      'event: error\ndata: {"type":"error","sequence_number":5,"code":"upstream_unreachable","message":"Gone.","param":null,"error":{"type":"server_error","code":"upstream_unreachable","message":"Gone.","param":null}}\n\n',
    );
  });

  it('ends as a failed answer where its caller looks for errors there', async () => {
    const last = await lastOf({ failsAsAnswer: true });
    expect(last).toMatch(/^event: response\.failed\ndata: \{/);
    expect(JSON.parse(last.slice(last.indexOf('{')))).toEqual({
      type: 'response.failed',
      sequence_number: 5,
      response: {
        id: 'resp_1',
        status: 'failed',
        error: {
          code: 'server_error',
          message: 'Gone.',
          type: 'server_error',
          param: null,
          reason: 'upstream_unreachable',
        },
      },
    });
  });
});
