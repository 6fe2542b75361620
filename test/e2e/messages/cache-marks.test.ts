/** Marks of Anthropic's prompt cache that its API refuses, the caller's and Precis's. */
import { describe, expect, it } from 'vitest';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const deployment = deployMessages({ refuses: true });

const MARK = { type: 'ephemeral' };
const INVALID = { type: 'persistent' };
const REFUSED = 'cache_control.type: must be ephemeral';

const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
/** A view with a move, so Precis marks the ends of two of the caller's messages. */
const asked = (marks: { first?: Json; result?: Json; last?: Json }, more: Json = {}): Json => ({
  tools: [{ name: 'search', description: 'Searches.', input_schema: { type: 'object' } }],
  memory_strategy: { mode: 'compact', token_budget: 3_000, compact_keep: 0 },
  messages: [
    user([text('What do apples weigh?', { cache_control: marks.first })]),
    assistant([{ type: 'tool_use', id: 'toolu_a', name: 'search', input: {} }]),
    user([
      {
        type: 'tool_result',
        tool_use_id: 'toolu_a',
        content: rows('apples', 300),
        cache_control: marks.result,
      },
    ]),
    assistant('A lot.'),
    user([text('And the seventh?', { cache_control: marks.last })]),
  ],
  ...more,
});

const keyOf = (name: string) => ({ 'x-api-key': `sk-ant-the-key-of-refused-marks-${name}` });
const bodies = (): string[] => deployment.upstream.messages().map(({ rawBody }) => rawBody.toString());
const marksIn = (body = ''): number => body.split('"cache_control"').length - 1;

describe('an invalid mark', () => {
  it('beside three others is refused in the API’s words, and asked once', async () => {
    const system = [1, 2, 3].map((at) => text(`${at} ${rows('rules', 100)}`, { cache_control: MARK }));
    const response = await deployment.post(asked({ last: INVALID }, { system }), keyOf('callers'));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', message: REFUSED },
      request_id: expect.stringMatching(/^req_upstream_/),
    });
    expect(deployment.upstream.messages()).toHaveLength(1);
  });

  it('in the places that Precis’s would have had is asked once too', async () => {
    const response = await deployment.post(
      asked({ first: INVALID, result: MARK, last: MARK }),
      keyOf('same-place'),
    );
    expect(response.status).toBe(400);
    expect(bodies().map(marksIn)).toEqual([3]);
  });

  it('of Precis’s leaves with all of Precis’s, and the caller’s stay', async () => {
    const refuses: MessagesBehaviour = (_recorded, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const error = {
        type: 'invalid_request_error',
        message: 'cache_control: Extra inputs are not permitted',
      };
      response.end(JSON.stringify({ type: 'error', error }));
    };
    deployment.upstream.next(refuses);
    await deployment.ask(asked({}, { system: [text('Be terse.', { cache_control: MARK })] }), keyOf('ours'));
    expect(bodies().map(marksIn)).toEqual([3, 1]);
  });
});
