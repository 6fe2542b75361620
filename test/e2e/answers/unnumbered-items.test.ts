/** Upstreams whose streams give items no index, such as llama.cpp's. */
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { deploy } from '../../support/deployment/deployment.ts';

type Json = Record<string, unknown>;

const deployment = deploy();

const OPENED = { id: 'resp_1', object: 'response', status: 'in_progress' };
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'retrieve_ref', arguments: '{}' };

const messageOf = (text: string): Json => ({
  type: 'message',
  id: `msg_${text.length}`,
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const frames = (...events: Json[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const begins = (text: string): string =>
  frames(
    { type: 'response.created', response: OPENED },
    { type: 'response.output_item.added', item: { ...messageOf(text), content: [] } },
    { type: 'response.output_text.delta', item_id: `msg_${text.length}`, delta: text },
  );

const ends = (text: string, ...calls: Json[]): string =>
  frames(
    ...calls.flatMap((item) => [
      { type: 'response.output_item.added', item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: item.id, delta: '{}' },
    ]),
    ...[messageOf(text), ...calls].map((item) => ({ type: 'response.output_item.done', item })),
    {
      type: 'response.completed',
      response: { ...OPENED, status: 'completed', output: [messageOf(text), ...calls] },
    },
  );

describe('a stream without numbers, whose model fetches', () => {
  it('F21: flows while it comes, and shows no call of Precis’s tools', async () => {
    const seen = Promise.withResolvers<void>();
    const first: Behaviour = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(begins('Let me look.'));
      // The model waits until its text was seen, which never happens if the stream is held back to
      // its end.
      await seen.promise;
      response.end(ends('Let me look.', CALL));
    };
    const second: Behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${begins('So.')}${ends('So.')}`);
    };
    deployment.upstream.next(first, second);
    const { body } = await deployment.postTo('/v1/responses', {
      model: 'qwen',
      input: 'Hello.',
      stream: true,
      memory_strategy: { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' },
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('"delta":"Let me look."')) seen.resolve();
    }

    expect(text).not.toMatch(/retrieve_ref|call_1|fc_1/);
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      ...['Let me look.', 'So.'].flatMap(() => [
        'response.output_item.added',
        'response.output_text.delta',
        'response.output_item.done',
      ]),
      'response.completed',
    ]);
    expect(events.at(-1)?.response).toMatchObject({ output: ['Let me look.', 'So.'].map(messageOf) });
    const asked = deployment.upstream.requests.filter(({ path }) => path.endsWith('/responses'));
    const input = asked[1]?.body.input as Json[];
    expect(input.slice(-3).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
    ]);
  });
});
