import { describe, expect, it } from 'vitest';
import { inTime } from '../../../src/answer/late-stream.ts';
import { responsesFormat } from '../../../src/protocol/responses/format.ts';
import { ApiError } from '../../../src/request/errors.ts';

const KEEPALIVE = ': keepalive\n\n';

function late(work: Promise<Response>): Promise<Response> {
  return inTime(work, {
    format: responsesFormat.stream(undefined, undefined),
    errorOf: (error) => (error instanceof ApiError ? error : new ApiError('internal_error', 'Failed.')),
    keepaliveMs: 5,
  });
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
    expect([await read(), await read()]).toEqual([KEEPALIVE, KEEPALIVE]);
    resolve(new Response('the events'));
    let last = await read();
    while (last === KEEPALIVE) last = await read();
    expect(last).toBe('the events');
    expect((await reader.read()).done).toBe(true);
  });

  it('ends with an error where it fails after the first byte', async () => {
    const { promise, reject } = Promise.withResolvers<Response>();
    const response = await late(promise);
    const text = response.text();
    reject(new ApiError('upstream_unreachable', 'Gone.'));
    expect((await text).replaceAll(KEEPALIVE, '')).toBe(
      'event: error\ndata: {"type":"error","sequence_number":0,"code":"upstream_unreachable","message":"Gone.","param":null}\n\n',
    );
  });
});
