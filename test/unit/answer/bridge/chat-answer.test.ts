/** What of an answer over a bridge waits until the answer is kept. */
import { expect, it } from 'vitest';
import { chatAnswer } from '../../../../src/answer/bridge/chat-answer.ts';
import type { RequestScope } from '../../../../src/request/scope.ts';
import { Source } from '../../../../src/upstream/source.ts';
import { eventsOf, responseOf } from '../../../../tools/upstream/response.ts';
import { bridged, type Json } from '../../protocol/bridges/responses/bridged.ts';

const ASKED: Json = { model: 'gpt-6.1-sol', input: [] };
const SCOPE = { services: { config: { idleTimeoutMs: 60_000 } } } as RequestScope;

/** Reads an answer that comes in one piece. @param type that its server states */
async function answering(type: string, streams = true) {
  const said = { content: 'It is there.' };
  const body = streams ? [...eventsOf(ASKED, said)].join('') : JSON.stringify(responseOf(ASKED, said));
  const headers = { 'content-type': type };
  const kept = Promise.withResolvers<void>();
  const answer = await chatAnswer(
    { response: new Response(body, { headers }), abort: () => undefined },
    { reader: bridged({ stream: streams }).reader, streams, scope: SCOPE, keep: () => kept.promise },
  );
  const source = new Source(answer);
  const next = async (): Promise<string | undefined> => {
    const read = await source.read(60_000);
    if (typeof read === 'string') throw new Error(read);
    return read.done ? undefined : new TextDecoder().decode(read.value);
  };
  const waits = async () => (await source.read(1)) === 'silent';
  return { next, waits, keep: kept.resolve, type: answer.response.headers.get('content-type') };
}

it.each(['text/event-stream', 'text/plain', ''])(
  'of a stream (%j), the end alone, also where the text comes together with it',
  async (stated) => {
    const { next, waits, keep, type } = await answering(stated);
    expect(type).toMatch(/^text\/event-stream/);
    const text = await next();
    expect(text).toContain('It');
    expect(text).not.toContain('"finish_reason":"stop"');
    expect(await waits()).toBe(true);
    keep();
    expect(await next()).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/s);
    while ((await next()) === '');
    expect(await next()).toBeUndefined();
  },
);

it('of JSON, the body alone', async () => {
  const { next, waits, keep, type } = await answering('application/json', false);
  expect(type).toBe('application/json');
  expect(await waits()).toBe(true);
  keep();
  expect(await next()).toContain('It is there.');
  expect(await next()).toBeUndefined();
});
