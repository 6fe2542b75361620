import { describe, expect, it, vi } from 'vitest';
import { AnswerPipeline } from '../../../src/protocol/answers/answer-pipeline.ts';
import { ChatStream } from '../../../src/protocol/chat/stream.ts';
import { LONGEST_ANSWER, readBody, relayBody, relayEarly } from '../../../src/upstream/body.ts';
import { type EventFormat, relayEvents } from '../../../src/upstream/stream.ts';
import { tap } from '../../../src/upstream/tap.ts';
import { shorten } from '../../support/time-limits.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const LONG = 60_000;
const TIMES = { idleMs: LONG, keepaliveMs: LONG, beginningMs: LONG, broken: () => undefined };
const FAILED = { message: '', type: 'server_error', param: null, code: 'internal_error' };

/** An answer whose body a test writes by hand. */
function upstream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const state = { aborted: false, cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start: (made) => {
      controller = made;
    },
    cancel: () => {
      state.cancelled = true;
    },
  });
  const abort = () => {
    state.aborted = true;
  };
  return {
    answer: { response: new Response(body), abort },
    state,
    send: (text: string) => controller?.enqueue(encode(text)),
    end: () => controller?.close(),
    die: () => controller?.error(new Error('reset')),
  };
}

const limits = (idleMs: number) => ({ idleMs, broken: vi.fn(), died: vi.fn() });

const frame = 'data: {"choices":[{"delta":{},"finish_reason":null}]}\n\n';

function relay(
  answer: ReturnType<typeof upstream>['answer'],
  times: { idleMs?: number; keepaliveMs?: number; beginningMs?: number } = {},
  format: EventFormat = new AnswerPipeline(new ChatStream(undefined)),
) {
  const ended = vi.fn();
  const [broken, died] = [vi.fn(), vi.fn()];
  const how = { ...TIMES, ...times, failed: () => FAILED, ended, broken, died };
  const stream = relayEvents(answer, format, how);
  const reader = stream.getReader();
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read();
    return value && new TextDecoder().decode(value);
  };
  return { reader, read, ended, broken, died };
}

describe('a stream of comments that never begins', () => {
  const comment = ': still working\n\n';

  it('ends with an error after the time that a beginning may take', async () => {
    const up = upstream();
    const { read, ended } = relay(up.answer, { beginningMs: 1_000 });
    up.send(comment);
    expect(await read()).toBe(comment);
    const now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 1_000);
    up.send(comment);
    expect(await read()).toContain('"error"');
    expect(await read()).toBeUndefined();
    expect(up.state.aborted).toBe(true);
    expect(ended).toHaveBeenCalledWith('upstream_broke');
    clock.mockRestore();
  });

  it('goes on for as long as it likes once it has begun', async () => {
    const up = upstream();
    const { read } = relay(up.answer, { beginningMs: 1_000 });
    up.send(frame);
    expect(await read()).toBe(frame);
    const now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 10_000);
    for (let at = 0; at < 3; at++) {
      up.send(comment);
      expect(await read()).toContain(comment);
    }
    expect(up.state.aborted).toBe(false);
    clock.mockRestore();
  });
});

describe('a relayed stream', () => {
  it('passes a frame on as soon as it is whole', async () => {
    const up = upstream();
    const { read } = relay(up.answer);
    up.send(frame.slice(0, 9));
    up.send(`${frame.slice(9)}data: half`);
    expect(await read()).toBe(frame);
  });

  it('says nothing, in a frame, while all that the upstream says is held back', async () => {
    const up = upstream();
    const holding: EventFormat = {
      push: () => [],
      end: () => ({ complete: true, frames: [] }),
      error: () => encode('error'),
      keepalive: () => encode(': keepalive\n\n'),
      isOver: false,
      hasBegun: true,
    };
    const { read, reader } = relay(up.answer, { keepaliveMs: 20 }, holding);
    const speaking = setInterval(() => up.send(frame), 2);
    expect(await read()).toBe(': keepalive\n\n');
    clearInterval(speaking);
    await reader.cancel();
  });

  it('says nothing, in a frame, while the upstream is silent, and then goes on where it was', async () => {
    const up = upstream();
    const { read } = relay(up.answer, { keepaliveMs: 5 });
    expect(await read()).toBe(': keepalive\n\n');
    up.send(frame);
    let next = await read();
    while (next === ': keepalive\n\n') next = await read();
    expect(next).toBe(frame);
  });

  it('ends in an error frame when the upstream stays silent', async () => {
    const up = upstream();
    const { read, broken } = relay(up.answer, { idleMs: 12, keepaliveMs: 5 });
    let last = await read();
    while (last === ': keepalive\n\n') last = await read();
    expect(last).toContain('"code":"upstream_timeout"');
    expect(await read()).toBeUndefined();
    expect(up.state.aborted).toBe(true);
    expect(broken.mock.calls).toEqual([['upstream_timeout']]);
  });

  it('ends in an error frame when the upstream dies', async () => {
    const up = upstream();
    const { read, died } = relay(up.answer);
    up.send(frame);
    expect(await read()).toBe(frame);
    up.die();
    expect(await read()).toContain('"code":"upstream_unreachable"');
    expect(await read()).toBeUndefined();
    expect(died.mock.calls).toEqual([[new Error('reset')]]);
  });

  it.each(['dies', 'stays open'])('ends cleanly after [DONE] when the upstream then %s', async (how) => {
    const up = upstream();
    const { read } = relay(up.answer, { idleMs: 20, keepaliveMs: 5 });
    up.send('data: [DONE]\n\n');
    expect(await read()).toBe('data: [DONE]\n\n');
    if (how === 'dies') up.die();
    expect(await read()).toBeUndefined();
  });

  it('says nothing of its own inside of a frame that goes in pieces, and ends it before an error', async () => {
    const up = upstream();
    const { read } = relay(up.answer, { idleMs: 40, keepaliveMs: 5 });
    const piece = `data: ${'x'.repeat(1024 * 1024)}`;
    up.send(piece);
    expect(await read()).toBe(piece);
    expect(await read()).toMatch(/^\n\ndata: \{"error"/);
  });

  it('closes the upstream when the caller leaves', async () => {
    const up = upstream();
    const { reader } = relay(up.answer);
    await reader.cancel();
    expect(up.state).toEqual({ aborted: true, cancelled: true });
  });

  it('does not take a caller who leaves for an upstream that dies', async () => {
    const up = upstream();
    const { reader, read, died } = relay({ ...up.answer, abort: up.die });
    const reading = read();
    await reader.cancel();
    await reading;
    expect(died).not.toHaveBeenCalled();
  });

  const done = 'data: [DONE]\n\n';
  it.each<[string, (up: ReturnType<typeof upstream>, relayed: ReturnType<typeof relay>) => unknown]>([
    ['is done', ({ send, end }) => [send(done), end()]],
    ['stays open after its last word', ({ send }) => send(done)],
    ['has not said all', ({ end }) => end()],
    ['dies', ({ die }) => die()],
    ['falls silent', () => undefined],
    ['is left by the caller', (_, { reader }) => reader.cancel()],
  ])('reports once that it has ended when the upstream %s', async (_, end) => {
    const up = upstream();
    const relayed = relay(up.answer, { idleMs: 12 });
    up.send(frame);
    expect(await relayed.read()).toBe(frame);
    expect(relayed.ended).not.toHaveBeenCalled();

    await end(up, relayed);
    while ((await relayed.read()) !== undefined);

    expect(relayed.ended).toHaveBeenCalledTimes(1);
  });
});

describe('a body that is read whole', () => {
  it('is all of its chunks', async () => {
    const up = upstream();
    up.send('{"a":');
    up.send('1}');
    up.end();
    expect(await readBody(up.answer, limits(LONG))).toEqual(encode('{"a":1}'));
  });

  it('says how it broke off', async () => {
    const [dead, silent] = [upstream(), upstream()];
    dead.die();
    expect(await readBody(dead.answer, limits(LONG))).toBe('upstream_unreachable');
    expect(await readBody(silent.answer, limits(5))).toBe('upstream_timeout');
    expect(silent.state.aborted).toBe(true);
  });

  it('F29: is left as a stream of all its bytes where it is too long, and no more of it is read', async () => {
    let sent = 0;
    const chunk = new Uint8Array(1024 * 1024).fill(120);
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += chunk.length;
        if (sent > 3 * LONGEST_ANSWER) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const rest = await readBody({ response: new Response(endless), abort: () => undefined }, limits(LONG));
    expect(rest).toBeInstanceOf(ReadableStream);
    expect(sent).toBeLessThanOrEqual(LONGEST_ANSWER + 3 * chunk.length);
    const passed = await new Response(rest as ReadableStream).arrayBuffer();
    expect(passed.byteLength).toBe(3 * LONGEST_ANSWER);
  });
});

describe('a relayed body', () => {
  it('F31: comes as it is', async () => {
    const up = upstream();
    up.send('{"a":');
    const body = await relayBody(up.answer, limits(LONG));
    up.send('1}');
    up.end();
    expect(await new Response(body as ReadableStream).text()).toBe('{"a":1}');
  });

  it('is the bytes where all of a known length came at once', async () => {
    const up = upstream();
    up.send('{"a":1}');
    expect(await relayBody(up.answer, limits(LONG), 7)).toEqual(encode('{"a":1}'));
  });

  it.each([
    ['whose length nobody said', undefined],
    ['of a known length', 7],
  ])('is the bytes where a short one %s comes at once, in pieces', async (_, length) => {
    // A machine that is busy elsewhere takes longer than the five milliseconds.
    shorten({ answerAtOnceMs: LONG });
    const up = upstream();
    const relay = { ...limits(LONG), ended: vi.fn() };
    up.send('{"a":');
    up.send('1}');
    if (length === undefined) up.end();
    expect(await relayBody(up.answer, relay, length)).toEqual(encode('{"a":1}'));
  });

  it('is a stream where it is long, though all of it has come', async () => {
    const up = upstream();
    const text = 'a'.repeat(50_000);
    up.send(text);
    up.send(text);
    up.end();
    const body = await relayBody(up.answer, limits(LONG));
    expect(body).toBeInstanceOf(ReadableStream);
    expect(await new Response(body as ReadableStream).text()).toBe(text + text);
  });

  it('breaks off where it dies at once, after what has come of it', async () => {
    const pieces = [encode('{"a":')];
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = pieces.pop();
        if (piece) controller.enqueue(piece);
        else controller.error(new Error('reset'));
      },
    });
    const relay = { ...limits(LONG), ended: vi.fn() };
    const answer = { response: new Response(body), abort: () => undefined };
    const reader = ((await relayBody(answer, relay)) as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('{"a":');
    await expect(reader.read()).rejects.toMatchObject({ fault: 'upstream_unreachable' });
    expect(relay.ended.mock.calls).toEqual([['upstream_broke']]);
    expect(relay.died.mock.calls).toEqual([[new Error('reset')]]);
  });

  it('is a stream where it ends short of its length, so that this can be seen', async () => {
    const up = upstream();
    up.send('{"a":1}');
    up.end();
    expect(await relayBody(up.answer, limits(LONG), 8)).toBeInstanceOf(ReadableStream);
  });

  it('has ended for those who listen, if it came whole with its first chunk', async () => {
    const up = upstream();
    const listener = { push: vi.fn(), end: vi.fn() };
    up.send('{"a":1}');
    await relayBody(tap(up.answer, listener), limits(LONG), 7);
    expect([listener.push, listener.end].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });

  it.each([
    ['less came', 8],
    ['more came', 6],
    ['its length is not a number', Number.NaN],
  ])('F31: comes as it is where %s', async (_, length) => {
    const up = upstream();
    up.send('{"a":1}');
    const relay = limits(LONG);
    const body = (await relayBody(up.answer, relay, length)) as ReadableStream<Uint8Array>;
    up.die();
    await expect(new Response(body).text()).rejects.toMatchObject({ fault: 'upstream_unreachable' });
    expect(relay.broken.mock.calls).toEqual([['upstream_unreachable']]);
  });

  it('F31: is none where the upstream sends none', async () => {
    const up = upstream();
    up.end();
    expect(await relayBody(up.answer, limits(LONG))).toBeNull();
  });

  it('F31: without a single byte is a fault that can still be reported', async () => {
    const [dead, silent] = [upstream(), upstream()];
    dead.die();
    expect(await relayBody(dead.answer, limits(LONG))).toBe('upstream_unreachable');
    expect(await relayBody(silent.answer, limits(5))).toBe('upstream_timeout');
    expect(silent.state.aborted).toBe(true);
  });

  it.each([
    ['falls silent', 'upstream_timeout', 5],
    ['dies', 'upstream_unreachable', LONG],
  ] as const)('F31: breaks where the upstream %s, and never ends cleanly', async (how, fault, idleMs) => {
    const up = upstream();
    up.send('{"a":');
    const relay = limits(idleMs);
    const body = (await relayBody(up.answer, relay)) as ReadableStream<Uint8Array>;
    const reader = body.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('{"a":');
    if (how === 'dies') up.die();
    await expect(reader.read()).rejects.toMatchObject({ fault });
    expect(relay.broken.mock.calls).toEqual([[fault]]);
    expect(relay.died.mock.calls).toEqual(how === 'dies' ? [[new Error('reset')]] : []);
    expect(up.state.aborted).toBe(true);
  });

  it('F31: gives its headers at once where it is a stream of events, and is bounded too', async () => {
    const up = upstream();
    const body = relayEarly(up.answer, limits(5)) as ReadableStream<Uint8Array>;
    await expect(new Response(body).text()).rejects.toMatchObject({ fault: 'upstream_timeout' });
  });

  it('F31: that its caller leaves closes the connection to the upstream', async () => {
    const up = upstream();
    up.send('{');
    const body = (await relayBody(up.answer, limits(LONG))) as ReadableStream<Uint8Array>;
    await body.cancel();
    expect(up.state).toEqual({ aborted: true, cancelled: true });
  });
});

describe('an error of Precis in the middle of a stream', () => {
  const failing = (at: 'push' | 'end' | 'next'): EventFormat => ({
    push: (chunk) => (at === 'push' ? thrown() : [chunk]),
    end: () => (at === 'end' ? thrown() : { complete: true, frames: [] }),
    next: () => (at === 'next' ? thrown() : undefined),
    error: ({ code }) => encode(`error ${code}`),
    keepalive: () => undefined,
    isOver: false,
    hasBegun: true,
  });
  const thrown = () => {
    throw new TypeError('odd');
  };

  it.each(['push', 'end', 'next'] as const)('F33: ends it with an error event, in %s', async (at) => {
    const up = upstream();
    up.send(frame);
    up.end();
    const ended = vi.fn();
    const failed = vi.fn(() => FAILED);
    const text = await new Response(relayEvents(up.answer, failing(at), { ...TIMES, ended, failed })).text();
    expect(text).toMatch(/error internal_error$/);
    expect(failed).toHaveBeenCalledExactlyOnceWith(expect.any(TypeError));
    expect(ended).toHaveBeenCalledOnce();
    expect(up.state.aborted).toBe(true);
  });

  it('F33: is logged even if its frame can’t be written', async () => {
    const up = upstream();
    up.send(frame);
    up.end();
    const failed = vi.fn(() => FAILED);
    const broken = new RangeError('no frame');
    const format = {
      ...failing('push'),
      error: () => {
        throw broken;
      },
    };
    const stream = relayEvents(up.answer, format as never, { ...TIMES, failed });
    await expect(new Response(stream).text()).rejects.toThrow();
    expect(failed.mock.calls).toEqual([[expect.any(TypeError)], [broken]]);
  });

  it('F33: is none of a caller who has left', async () => {
    const up = upstream();
    const failed = vi.fn(() => FAILED);
    const reader = relayEvents(up.answer, failing('push'), { ...TIMES, failed }).getReader();
    const reading = reader.read();
    await reader.cancel();
    await reading;
    expect(failed).not.toHaveBeenCalled();
  });
});
