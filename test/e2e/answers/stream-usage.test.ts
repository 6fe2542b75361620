/** The usage of a stream whose caller does not ask for it. */
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { deploy } from '../../support/deployment/deployment.ts';

const deployment = deploy();

const USAGE = {
  prompt_tokens: 1_200,
  completion_tokens: 7,
  total_tokens: 1_207,
  prompt_tokens_details: { cached_tokens: 0 },
};
const OPTIONS = { include_usage: true };

const chunk = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1', ...fields })}\n\n`;
const said = (more: object): string[] => [
  chunk({
    choices: [{ index: 0, delta: { role: 'assistant', content: 'It is "usage":null' }, finish_reason: null }],
    ...more,
  }),
  chunk({
    choices: [{ index: 0, delta: { content: ' 42.' }, finish_reason: null }],
    ...more,
    ...(more && 'usage' in more ? { obfuscation: 'xyz' } : {}),
  }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more }),
];

/** A stream as OpenAI writes it: with a null in each chunk where usage is asked for. */
const likeOpenAi: Behaviour = (_, response, recorded) => {
  const asked = recorded.body?.stream_options?.include_usage === true;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const frames = asked ? [...said({ usage: null }), chunk({ choices: [], usage: USAGE })] : said({});
  for (const frame of [...frames, 'data: [DONE]\n\n']) response.write(frame);
  response.end();
};

const messages = [{ role: 'user', content: 'What is it?' }];
const STRATEGY = { mode: 'auto', token_budget: 20_000 };

async function stream(conversation_id: string, more: object = {}) {
  const response = await deployment.postTo('/v1/chat/completions', {
    model: 'gpt-4.1',
    stream: true,
    messages,
    conversation_id,
    memory_strategy: STRATEGY,
    ...more,
  });
  return { status: response.status, text: await response.text() };
}

async function billIn(id: string): Promise<{ sent: { fresh: number; output: number } | null } | undefined> {
  await deployment.fetch(`/v1/conversations/${id}/memory/flush`, { method: 'POST' });
  const response = await deployment.fetch(`/v1/conversations/${id}/requests`);
  const { data } = (await response.json()) as { data: { bill: { sent: never } }[] };
  return data.at(0)?.bill;
}

describe('a stream of chat whose caller does not ask for usage', () => {
  it('is the one that the caller would have had, byte for byte, and has a bill', async () => {
    deployment.upstream.next(likeOpenAi);
    const { text } = await stream('unasked');
    expect(deployment.lastChat().body.stream_options).toEqual(OPTIONS);
    const left = [...said({})];
    left[1] = chunk({
      choices: [{ index: 0, delta: { content: ' 42.' }, finish_reason: null }],
      obfuscation: 'xyz',
    });
    expect(text).toBe([...left, 'data: [DONE]\n\n'].join(''));
    expect((await billIn('unasked'))?.sent).toMatchObject({ fresh: 1_200, output: 7 });
  });

  it('keeps its other options, and the usage that its caller asks for', async () => {
    deployment.upstream.next(likeOpenAi, likeOpenAi);
    await stream('others', { stream_options: { include_obfuscation: false } });
    expect(deployment.lastChat().body.stream_options).toEqual({ include_obfuscation: false, ...OPTIONS });
    const { text } = await stream('asked', { stream_options: OPTIONS });
    expect(text).toContain(JSON.stringify(USAGE));
    expect(text).toContain('"usage":null');
  });

  it.each([
    [400, "Unknown parameter: 'stream_options'.", 'gpt-4.1-2025-04-14'],
    [500, "create() got an unexpected keyword argument 'stream_options'", 'gpt-4.1-mini-2025-04-14'],
  ])(
    'is asked again without where its upstream refuses that with %i, which is remembered',
    async (...row) => {
      const [status, message, model] = row;
      const error = { message, type: 'invalid_request_error' };
      deployment.upstream.next({ type: 'error', status, body: { error } }, likeOpenAi, likeOpenAi);
      const asked = deployment.chats().length;
      expect((await stream('refused', { model })).text).toBe([...said({}), 'data: [DONE]\n\n'].join(''));
      await stream('refused', { model });
      const options = deployment
        .chats()
        .slice(asked)
        .map(({ body }) => body.stream_options);
      expect(options).toEqual([OPTIONS, undefined, undefined]);
    },
  );

  it('is left alone in mode none, and so is an answer that is no stream', async () => {
    deployment.upstream.next(likeOpenAi, likeOpenAi);
    await stream('none', { memory_strategy: 'none' });
    expect(deployment.lastChat().body.stream_options).toBeUndefined();
    const { text } = await stream('whole', { stream: false });
    expect(deployment.lastChat().body.stream_options).toBeUndefined();
    expect(text).not.toBe('');
  });
});
