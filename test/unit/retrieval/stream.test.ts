import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerPipeline } from '../../../src/protocol/answers/answer-pipeline.ts';
import { goOnChat } from '../../../src/protocol/chat/calls.ts';
import { JoinedChatStreams } from '../../../src/protocol/chat/joined-streams.ts';
import { ChatStream } from '../../../src/protocol/chat/stream.ts';
import { Retriever } from '../../../src/retrieval/retriever.ts';
import { type Answerer, Rounds } from '../../../src/retrieval/rounds.ts';
import { faultOf, RoundsStage } from '../../../src/retrieval/stream.ts';
import { relayEvents } from '../../../src/upstream/stream.ts';
import { type Answer, chunks, DONE, usageOf } from '../../../tools/upstream/completion.ts';
import { forAllAsync } from '../../support/laws/runs.ts';

const OURS: ReadonlySet<string> = new Set(['retrieve_ref', 'search_memory']);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const shelf = { owns: () => true, get: async () => undefined, unknown: () => undefined, failed: () => {} };
const body = encoder.encode('{"messages":[{"role":"user","content":"Go."}]}');

const ROUNDS = { most: 3, goOn: goOnChat, names: OURS, areKept: false };

const joinedOf = (rounds: Rounds) => new JoinedChatStreams(OURS, () => rounds.isOpen);

const streamOf = (rounds: Rounds, joined = joinedOf(rounds)) =>
  new AnswerPipeline(new ChatStream(undefined), {
    join: new RoundsStage(joined, rounds, (coming) => coming),
  });

const answererOf = (retriever: Retriever): Answerer => ({
  given: [],
  announce: (turn) => retriever.announce(turn),
  answer: (call) => retriever.answer(call.arguments),
});

interface Reported {
  content: string;
  calls: { id: string; name: string; arguments: string }[];
  finish: string[];
  roles: string[];
  ids: Set<string>;
  usage: object[];
  done: number;
}

type Json = Record<string, never> & { choices: never[] };

/** A stream as a client reads it. */
function readOf(text: string): Reported {
  const seen: Reported = {
    content: '',
    calls: [],
    finish: [],
    roles: [],
    ids: new Set(),
    usage: [],
    done: 0,
  };
  for (const line of text.split('\n')) {
    if (line === 'data: [DONE]') seen.done++;
    if (!line.startsWith('data: {') || line.startsWith('data: {"error"')) continue;
    const chunk = JSON.parse(line.slice(6)) as Json & { id: string; usage?: object };
    seen.ids.add(chunk.id);
    if (chunk.usage) seen.usage.push(chunk.usage);
    for (const choice of chunk.choices as {
      delta: {
        role?: string;
        content?: string;
        tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
      };
      finish_reason: string | null;
    }[]) {
      const { role, content, tool_calls = [] } = choice.delta;
      if (role) seen.roles.push(role);
      seen.content += content ?? '';
      for (const { index, id, function: called } of tool_calls) {
        const call = seen.calls[index] ?? { id: '', name: '', arguments: '' };
        call.id ||= id ?? '';
        call.name += called.name ?? '';
        call.arguments += called.arguments;
        seen.calls[index] = call;
      }
      if (choice.finish_reason) seen.finish.push(choice.finish_reason);
    }
  }
  return seen;
}

/** All answers as one stream, each cut into pieces of this many bytes. */
async function relayed(answers: readonly Answer[], most: number, piece: number): Promise<string> {
  let asked = 0;
  const retriever = new Retriever(shelf, { text: (text) => text.length }, () => false);
  const answered = (at: number): Uint8Array => {
    const frame = { id: `chatcmpl-${at}`, model: 'gpt-4.1', usage: usageOf(100 * (at + 1), 10) };
    return encoder.encode([...chunks(answers[at] ?? { content: 'End.' }, frame, true), DONE].join(''));
  };
  const rounds = new Rounds({
    ...ROUNDS,
    most,
    start: async () => ({ body, answerer: answererOf(retriever) }),
    ask: async () => ({ response: new Response(), abort: () => undefined }),
  });
  const stream = streamOf(rounds);
  const shown: Uint8Array[] = [];
  for (;;) {
    const bytes = answered(asked);
    for (let at = 0; at < bytes.length; at += piece)
      shown.push(...stream.push(bytes.subarray(at, at + piece)));
    // Some upstreams close the stream after `[DONE]`, and some don't.
    const { complete, frames } = stream.end();
    shown.push(...frames);
    expect(complete).toBe(true);
    const next = stream.next();
    if (!next) break;
    await next;
    asked++;
  }
  expect(rounds.count).toBe(asked);
  return shown.map((frame) => decoder.decode(frame)).join('');
}

const name = fc.constantFrom(...OURS, ...OURS, 'search', 'retrieve', 'retrieve_refs', 'r');
const answer = fc.record({
  content: fc.option(fc.string({ minLength: 1, maxLength: 30 }), { nil: undefined }),
  toolCalls: fc.array(fc.record({ name, arguments: fc.json({ maxDepth: 1 }) }), { maxLength: 4 }),
});

/** The content of these answers that the caller must see. */
function expected(answers: readonly Answer[], most: number): Pick<Reported, 'content' | 'calls' | 'finish'> {
  let content = '';
  for (const [at, { content: text = '', toolCalls = [] }] of answers.entries()) {
    content += text;
    if (OURS.has(toolCalls[0]?.name ?? '') && at < most) continue;
    const calls = toolCalls.filter(({ name }) => !OURS.has(name));
    return { content, calls, finish: [calls.length > 0 ? 'tool_calls' : 'stop'] };
  }
  return { content: `${content}End.`, calls: [], finish: ['stop'] };
}

describe('a stream with retrieval in it', () => {
  it('is to its caller one answer, whatever the model calls for and wherever the bytes are cut', async () => {
    const answers = fc.array(answer, { maxLength: 4 }).map((list) =>
      list.map((one, at) => ({
        ...one,
        toolCalls: one.toolCalls.map((called, nth) => ({ ...called, id: `call_${at}_${nth}` })),
      })),
    );
    await forAllAsync(
      { numRuns: 300, endOnFailure: true },
      answers,
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 400 }),
      async (answers, most, piece) => {
        const given = answers.map(
          ({ content, toolCalls }): Answer => ({
            ...(content === undefined ? {} : { content }),
            ...(toolCalls.length > 0 ? { toolCalls } : {}),
          }),
        );
        const seen = readOf(await relayed(given, most, piece));
        const { content, calls, finish, roles, ids, usage, done } = seen;
        expect({ content, calls, finish }).toEqual(expected(given, most));
        expect([roles, ids.size, usage.length, done]).toEqual([['assistant'], 1, 1, 1]);
      },
    );
  });

  it('passes on the bytes of an answer that calls none of Precis’s tools', async () => {
    const plain = {
      content: 'Hello there.',
      toolCalls: [{ id: 'a', name: 'look_up', arguments: '{"q":1}' }],
    };
    const frame = { id: 'chatcmpl-0', model: 'gpt-4.1', usage: usageOf(100, 10) };
    expect(await relayed([plain], 3, 50)).toBe([...chunks(plain, frame, true), DONE].join(''));
  });

  it('holds back nothing but the pieces of calls whose name may be Precis’s', () => {
    const rounds = new Rounds({
      ...ROUNDS,
      start: () => Promise.reject(new Error('not asked for')),
      ask: () => Promise.reject(new Error('not asked for')),
    });
    const stream = streamOf(rounds);
    const push = (delta: object): string =>
      stream
        .push(
          encoder.encode(
            `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`,
          ),
        )
        .map((frame) => decoder.decode(frame))
        .join('');
    const piece = (name: string, args = '') => ({
      tool_calls: [{ index: 0, id: 'a', function: { name, arguments: args } }],
    });

    expect(push({ role: 'assistant', content: '' })).not.toBe('');
    expect(push({ content: 'Hm.' })).not.toBe('');
    expect(push({ reasoning_content: 'I think.' })).not.toBe('');
    expect(push(piece('retr'))).toBe('');
    expect(push({ content: ' And.' })).toContain(' And.');
    expect(readOf(push(piece('ain'))).calls).toEqual([{ id: 'a', name: 'retrain', arguments: '' }]);
    expect(
      readOf(push({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] })).calls[0]?.arguments,
    ).toBe('{}');
  });
});

describe('while the model is asked again', () => {
  const calling = (): { response: Response; abort: () => void } => {
    const answer = { content: 'Hm.', toolCalls: [{ id: 'a', name: 'retrieve_ref', arguments: '{}' }] };
    const frame = { id: 'chatcmpl-0', model: 'gpt-4.1', usage: usageOf(100, 10) };
    const text = [...chunks(answer, frame, false), DONE].join('');
    return { response: new Response(text), abort: () => undefined };
  };
  const failed = () => ({ message: 'Failed.', type: 'server_error', param: null, code: null });
  const TIMES = { idleMs: 60_000, keepaliveMs: 5, beginningMs: 60_000, failed, broken: () => undefined };
  const retriever = new Retriever(shelf, { text: (text) => text.length }, () => false);
  const start = async () => ({
    body,
    answerer: answererOf(retriever),
  });

  it('comments keep the stream alive, and the text so far has gone out', async () => {
    const asked = Promise.withResolvers<{ response: Response; abort: () => void }>();
    const rounds = new Rounds({ ...ROUNDS, start, ask: () => asked.promise });
    const format = streamOf(rounds);
    const reader = relayEvents(calling(), format, TIMES).getReader();
    let text = '';
    while (!text.includes(': keepalive')) text += decoder.decode((await reader.read()).value);

    expect(readOf(text)).toMatchObject({ content: 'Hm.', finish: [], done: 0 });
    const frame = { id: 'chatcmpl-1', model: 'gpt-4.1', usage: usageOf(100, 10) };
    const rest = [...chunks({ content: ' So.' }, frame, false), DONE].join('');
    asked.resolve({ response: new Response(rest), abort: () => undefined });
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += decoder.decode(read.value);
    expect(readOf(text)).toMatchObject({ content: 'Hm. So.', finish: ['stop'], done: 1 });
  });

  it('a caller who leaves ends the work in progress', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const rounds = new Rounds({
      ...ROUNDS,
      start,
      ask: (_, signal) => {
        asked.resolve(signal);
        return new Promise(() => undefined);
      },
    });
    const format = streamOf(rounds);
    const reader = relayEvents(calling(), format, TIMES).getReader();
    let text = '';
    while (!text.includes(': keepalive')) text += decoder.decode((await reader.read()).value);
    const signal = await asked.promise;

    expect(signal.aborted).toBe(false);
    await reader.cancel();
    expect(signal.aborted).toBe(true);
  });

  it('an upstream that can’t be reached ends the stream with an error', async () => {
    const rounds = new Rounds({ ...ROUNDS, start, ask: () => Promise.reject(new Error('no upstream')) });
    const format = streamOf(rounds);
    const text = await new Response(relayEvents(calling(), format, TIMES)).text();

    expect(text).toContain('"code":"upstream_unreachable"');
    expect(readOf(text)).toMatchObject({ content: 'Hm.', finish: [], done: 0 });
  });
});

describe('a frame that is very long', () => {
  const rounds = () =>
    new Rounds({ ...ROUNDS, start, ask: () => Promise.reject(new Error('not asked for')) });
  const retriever = new Retriever(shelf, { text: (text) => text.length }, () => false);
  const start = async () => ({ body, answerer: answererOf(retriever) });
  const long = (length: number): Uint8Array => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } };
    const choices = [
      { index: 0, delta: { content: 'x'.repeat(length), tool_calls: [call] }, finish_reason: 'tool_calls' },
    ];
    return encoder.encode(`data: ${JSON.stringify({ id: 'x', choices })}\n\n${DONE}`);
  };
  const inPieces = (stream: ReturnType<typeof streamOf>, bytes: Uint8Array): string => {
    let text = '';
    for (let at = 0; at < bytes.length && !stream.next(); at += 65_536)
      for (const frame of stream.push(bytes.subarray(at, at + 65_536))) text += decoder.decode(frame);
    return text;
  };

  it('is read, so that no call of Precis’s tools comes through', () => {
    const joined = joinedOf(rounds());
    const stream = streamOf(rounds(), joined);
    const seen = readOf(inPieces(stream, long(3 * 1024 * 1024).subarray(0, -DONE.length)));
    expect(seen.content).toHaveLength(3 * 1024 * 1024);
    expect([seen.calls, seen.finish]).toEqual([[], []]);
    expect(joined.turn?.calls).toEqual([{ id: 'a', name: 'retrieve_ref', arguments: '{}' }]);
  });

  it('ends the stream with an error where it is too long to be read', async () => {
    const stream = streamOf(rounds());
    expect(inPieces(stream, long(17 * 1024 * 1024))).toBe('');
    const end = await stream.next();
    expect(end instanceof Uint8Array && decoder.decode(end)).toMatch(
      /^data: \{"error":\{"message":"The upstream has sent an event of more than/,
    );
  });
});

describe('the frame that ends a stream which can’t go on', () => {
  const frameOf = (said: string, isAnswer: boolean): string =>
    decoder.decode(new ChatStream(undefined).error(faultOf(encoder.encode(said), isAnswer)));

  it.each([
    ['{"error":{"message":"Slow\\ndown.","code":"x"}}', { message: 'Slow\ndown.', code: 'x' }],
    ['<html>', expect.objectContaining({ message: 'The upstream has refused to go on: <html>' })],
    ['{"error":"Busy."}', expect.objectContaining({ message: 'The upstream has refused to go on: Busy.' })],
    ['', expect.objectContaining({ type: 'server_error' })],
  ])('holds what the upstream has said: %s', (said, error) => {
    const frame = frameOf(said, false);
    expect(frame).toMatch(/^data: .*\n\n$/);
    expect(JSON.parse(frame.slice(6))).toEqual({ error });
  });

  it('holds no word of an answer that is no stream', () => {
    const said = JSON.stringify({ choices: [{ message: { content: 'a secret' } }] });
    const frame = frameOf(said, true);
    expect(frame).toContain('did not continue with a stream');
    expect(frame).not.toContain('secret');
    expect(frameOf('{"error":{"message":"Busy."}}', true)).toContain('Busy.');
  });
});
