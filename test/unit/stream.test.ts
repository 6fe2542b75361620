import { describe, expect, it, vi } from 'vitest';
import { ChatStream } from '../../src/protocol/chat-stream.ts';
import { type EventFormat, readBody, relayEvents } from '../../src/upstream/stream.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const LONG = 60_000;

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

const frame = 'data: {"choices":[{"delta":{},"finish_reason":null}]}\n\n';

function relay(
  answer: ReturnType<typeof upstream>['answer'],
  times: { idleMs?: number; keepaliveMs?: number } = {},
  format: EventFormat = new ChatStream(undefined),
) {
  const ended = vi.fn();
  const stream = relayEvents(answer, format, { idleMs: LONG, keepaliveMs: LONG, ...times }, ended);
  const reader = stream.getReader();
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read();
    return value && new TextDecoder().decode(value);
  };
  return { reader, read, ended };
}

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
    const { read } = relay(up.answer, { idleMs: 12, keepaliveMs: 5 });
    let last = await read();
    while (last === ': keepalive\n\n') last = await read();
    expect(last).toContain('"code":"upstream_timeout"');
    expect(await read()).toBeUndefined();
    expect(up.state.aborted).toBe(true);
  });

  it('ends in an error frame when the upstream dies', async () => {
    const up = upstream();
    const { read } = relay(up.answer);
    up.send(frame);
    expect(await read()).toBe(frame);
    up.die();
    expect(await read()).toContain('"code":"upstream_unreachable"');
    expect(await read()).toBeUndefined();
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

  const done = 'data: [DONE]\n\n';
  it.each<[string, (up: ReturnType<typeof upstream>, relayed: ReturnType<typeof relay>) => unknown]>([
    ['is done', ({ send, end }) => [send(done), end()]],
    ['stays open behind its last word', ({ send }) => send(done)],
    ['has not said all', ({ end }) => end()],
    ['dies', ({ die }) => die()],
    ['falls silent', () => undefined],
    ['is left by the caller', (_, { reader }) => reader.cancel()],
  ])('tells once that it has ended when the upstream %s', async (_, end) => {
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
    expect(await readBody(up.answer, LONG)).toEqual(encode('{"a":1}'));
  });

  it('tells how it broke off', async () => {
    const [dead, silent] = [upstream(), upstream()];
    dead.die();
    expect(await readBody(dead.answer, LONG)).toBe('upstream_unreachable');
    expect(await readBody(silent.answer, 5)).toBe('upstream_timeout');
    expect(silent.state.aborted).toBe(true);
  });
});
