/** How streams of Messages end: where they break off, and with errors of the API inside them. */
import type { ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { messageEvents } from '../../../tools/upstream/message.ts';
import { eventsIn } from '../../support/conversations/message-stream.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';

const deployment = deployMessages({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: '1000' } });

const SAID = 'One two three four.';
const FRAMES = [...messageEvents({ model: MESSAGES_MODEL }, { content: SAID })];
const PARAMS = {
  model: MESSAGES_MODEL,
  max_tokens: 9,
  messages: [{ role: 'user' as const, content: 'Say four words.' }],
  memory_strategy: { mode: 'auto' },
  memory_report: true,
};

const client = () => new Anthropic({ baseURL: deployment.url, apiKey: MESSAGES_KEY, maxRetries: 0 });

const ENDS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'is closed': (response) => response.end(),
  'is closed within a frame': (response) => response.end(FRAMES.at(-1)?.slice(0, 30)),
  dies: (response) => setTimeout(() => response.destroy(), 50),
  'falls silent': () => undefined,
};

describe.each(Object.entries(ENDS))('a stream of Messages that %s before message_stop has come', (_, end) => {
  const answer = (_recorded: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(FRAMES.slice(0, -1).join(''), () => end(response));
  };

  it('has shown all that came, and then an error', async () => {
    deployment.upstream.next(answer);
    const response = await deployment.post({ ...PARAMS, stream: true });
    const events = eventsIn((await response.text()).replaceAll(/^:.*\n\n/gm, ''));
    const came = events.filter(({ type }) => type !== 'ping');
    expect(came.slice(0, -1)).toEqual(
      eventsIn(FRAMES.slice(0, -1).join('')).filter(({ type }) => type !== 'ping'),
    );
    expect(came.at(-1)).toMatchObject({ type: 'error', error: { message: expect.any(String) } });
  });

  it('gives its client the message so far, with what it has counted', async () => {
    deployment.upstream.next(answer);
    const stream = client().messages.stream(PARAMS as Anthropic.MessageStreamParams);
    let snapshot: Anthropic.Message | undefined;
    stream.on('streamEvent', (_event, message) => {
      snapshot = structuredClone(message);
    });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(snapshot).toMatchObject({
      content: [{ type: 'text', text: SAID }],
      stop_reason: 'end_turn',
      usage: { output_tokens: 5 },
    });
  });
});
