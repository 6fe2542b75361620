import { describe, expect, it, vi } from 'vitest';
import { type RelayOptions, relay } from '../../../src/answer/relay.ts';
import { Timings } from '../../../src/lib/server-timing.ts';
import { CallLife } from '../../../src/listeners/life.ts';
import type { CallListener } from '../../../src/listeners/listener.ts';
import { idleReport } from '../../../src/memory/plan/report.ts';
import { goOnChat } from '../../../src/protocol/chat/calls.ts';
import { chatFormat } from '../../../src/protocol/chat/format.ts';
import { ApiError } from '../../../src/request/errors.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import { Rounds } from '../../../src/retrieval/rounds.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';
import { LONGEST_ANSWER } from '../../../src/upstream/body.ts';
import type { UpstreamAnswer } from '../../../src/upstream/fetch.ts';
import type { OfferedTools } from '../../../src/view/offer-tools.ts';
import { type Answer, chunks, completion, DONE, usageOf } from '../../../tools/upstream/completion.ts';

const STREAM = 'text/event-stream';
const JSON_TYPE = 'application/json';
const frame = { id: 'chatcmpl-0', model: 'gpt-4.1', usage: usageOf(100, 10) };
const calling: Answer = {
  content: 'Hm. ',
  toolCalls: [{ id: 'a', name: 'retrieve_ref', arguments: '{}' }],
};

function answerOf(answer: Answer, type: string, status = 200): UpstreamAnswer {
  const body =
    type === STREAM
      ? [...chunks(answer, frame, false), DONE].join('')
      : JSON.stringify(completion(answer, frame));
  return {
    response: new Response(body, { status, headers: { 'content-type': type } }),
    abort: () => undefined,
  };
}

/** Relays an answer that calls our tool, and the answer after it. */
async function relayed(first: UpstreamAnswer, next: () => Promise<UpstreamAnswer>, streams: boolean) {
  const log = vi.fn();
  const how: unknown[] = [];
  const archive = vi.fn<(text: string | undefined) => void>();
  const body = new TextEncoder().encode('{"messages":[]}');
  const answerer = { given: [], announce: () => undefined, answer: async () => 'A result.' };
  const report = idleReport('compact', 'request');
  const options: Omit<RelayOptions, 'life'> = {
    format: chatFormat,
    inBody: false,
    streams,
    retrieval: {
      tools: { names: new Set(['retrieve_ref']) } as unknown as OfferedTools,
      rounds: new Rounds({
        most: 3,
        goOn: goOnChat,
        start: async () => ({ body, answerer }),
        ask: next,
        names: new Set(),
        areKept: false,
      }),
    },
  };
  const scope = {
    headers: new Headers(),
    services: { config: { idleTimeoutMs: 1_000, logLevel: 'warn' }, log, metrics: new Metrics() },
    caller: { tenant: undefined, account: {} },
    timings: new Timings(),
    waitUntil: () => undefined,
    incoming: new Request('https://precis.example'),
  } as unknown as RequestScope;
  const ended: CallListener['ended'] = (end) => {
    archive(end.text);
    how.push(end.how);
  };
  const listener = () => ({ readsAnswer: true, ended });
  const life = new CallLife(scope, 'chat', { everyCall: [listener], answers: [], conversations: [] });
  const answer = life.through(() => relay(first, report, { ...options, life }, scope));
  const text = answer.then((response) => response.text());
  return { text, log, archive, how };
}

describe('a stream whose model can’t be asked again', () => {
  const first = () => answerOf(calling, STREAM);
  const ends = async (next: () => Promise<UpstreamAnswer>) => {
    const { text, log } = await relayed(first(), next, true);
    const last = (await text).trim().split('\n\n').at(-1) ?? '';
    return { error: JSON.parse(last.slice(6)).error, log };
  };

  it.each(['upstream_timeout', 'upstream_unreachable'] as const)('ends with the code %s', async (code) => {
    const { error } = await ends(() => Promise.reject(new ApiError(code, 'No answer.')));
    expect(error).toEqual({ message: 'No answer.', type: 'server_error', param: null, code });
  });

  it('ends with a fault of Precis where it is one, which is logged without a word of it', async () => {
    const { error, log } = await ends(() => Promise.reject(new TypeError('a secret')));
    expect(error).toMatchObject({ code: 'internal_error', type: 'server_error' });
    expect(log).toHaveBeenCalledWith('error', expect.any(String), {
      code: 'internal_error',
      error: 'TypeError',
      at: expect.any(String),
    });
    expect(JSON.stringify([error, log.mock.calls])).not.toContain('secret');
  });

  it('holds no word of an answer that is no stream', async () => {
    const { error } = await ends(async () => answerOf({ content: 'a secret' }, JSON_TYPE));
    expect(error.message).toContain('did not continue with a stream');
    expect(JSON.stringify(error)).not.toContain('secret');
  });
});

describe('a whole answer', () => {
  const secondly = async () => answerOf({ content: 'So.' }, JSON_TYPE);

  it.each([
    ['can’t be had', () => Promise.reject(new ApiError('upstream_timeout', 'No answer.'))],
    [
      'breaks off',
      async () => {
        const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
        return { response: new Response(broken), abort: () => undefined };
      },
    ],
    ['is a fault of ours', () => Promise.reject(new TypeError('odd'))],
  ])('is archived without its text where a later round %s', async (_, next) => {
    const { text, archive } = await relayed(answerOf(calling, JSON_TYPE), next, false);
    await expect(text).rejects.toThrow();
    expect(archive.mock.calls).toEqual([[undefined]]);
  });

  it('is archived without its text where the provider sends an error beside it, and ends with it', async () => {
    const said = { ...completion({ content: 'So.' }, frame), error: { message: 'Disconnected' } };
    const response = Response.json(said);
    const next = async () => ({ response, abort: () => undefined });
    const { text, archive, how } = await relayed(answerOf(calling, JSON_TYPE), next, false);
    expect(JSON.parse(await text).error).toEqual(said.error);
    expect(archive.mock.calls).toEqual([[undefined]]);
    expect(how).toEqual(['error']);
  });

  it('is archived once where all goes well', async () => {
    const { text, archive } = await relayed(answerOf(calling, JSON_TYPE), secondly, false);
    expect(JSON.parse(await text).choices[0].message.content).toBe('Hm. So.');
    expect(archive.mock.calls).toEqual([['Hm. So.']]);
  });

  it.each(['text/plain', 'text/html; charset=utf-8', ''])('is read whatever its type: %j', async (type) => {
    const { text } = await relayed(answerOf(calling, type), secondly, false);
    expect(JSON.parse(await text).choices[0]).toMatchObject({
      message: { content: 'Hm. So.' },
      finish_reason: 'stop',
    });
  });

  it('that is no JSON comes as it is', async () => {
    const response = new Response('<html>', { headers: { 'content-type': 'text/html' } });
    const { text } = await relayed({ response, abort: () => undefined }, secondly, false);
    expect(await text).toBe('<html>');
  });

  it('F29: is an error of Precis where it is too long to be looked into', async () => {
    const huge = new Response(new Uint8Array(LONGEST_ANSWER + 1).fill(32), {
      headers: { 'content-type': JSON_TYPE },
    });
    const abort = vi.fn();
    const { text, archive } = await relayed({ response: huge, abort }, secondly, false);
    await expect(text).rejects.toMatchObject({ code: 'answer_too_large' });
    expect(abort).toHaveBeenCalled();
    expect(archive.mock.calls).toEqual([[undefined]]);
  });

  it('F32: in an encoding that can’t be read comes as it is, and is named in the log', async () => {
    const headers = { 'content-type': JSON_TYPE, 'content-encoding': 'zstd' };
    const response = new Response('(bytes)', { headers });
    const { text, log, archive } = await relayed({ response, abort: () => undefined }, secondly, false);
    expect(await text).toBe('(bytes)');
    expect(log).toHaveBeenCalledWith('warn', expect.any(String), { code: 'answer_unreadable' });
    expect(archive.mock.calls).toEqual([[undefined]]);
  });
});

describe('a stream whose connection breaks off', () => {
  it('is logged with the name of the error', async () => {
    const broken = new ReadableStream({
      start: (controller) => controller.error(new RangeError('a secret')),
    });
    const response = new Response(broken, { headers: { 'content-type': STREAM } });
    const never = () => Promise.reject(new Error('not asked for'));
    const { text, log } = await relayed({ response, abort: () => undefined }, never, true);
    expect(await text).toContain('"code":"upstream_unreachable"');
    expect(log.mock.calls).toEqual([
      [
        'warn',
        expect.any(String),
        { code: 'upstream_unreachable', error: 'RangeError', at: expect.any(String) },
      ],
      ['warn', expect.any(String), { code: 'upstream_unreachable' }],
    ]);
  });
});

describe('a stream that breaks off in the middle of an event', () => {
  it.each(['data: {"id":"chatcmpl-0","choi', 'data: {"id', 'dat'])(
    'F29: ends with our error alone, and no half event before it: %s',
    async (half) => {
      const body = [...chunks({ content: 'Hm.' }, frame, false)].slice(0, -1).join('');
      const response = new Response(body + half, { headers: { 'content-type': STREAM } });
      const never = () => Promise.reject(new Error('not asked for'));
      const { text } = await relayed({ response, abort: () => undefined }, never, true);
      const events = (await text).slice(body.length);
      expect((await text).startsWith(body)).toBe(true);
      expect(events).toMatch(/^data: \{"error":\{[^\n]*"code":"upstream_unreachable"[^\n]*\n\n$/);
    },
  );
});
