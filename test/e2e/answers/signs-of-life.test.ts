/** What a caller gets while there is nothing to send. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { messageEvents } from '../../../tools/upstream/message.ts';
import { type MessagesBehaviour, startMessagesUpstream } from '../../../tools/upstream/messages-upstream.ts';
import { eventsOf } from '../../../tools/upstream/response.ts';
import { CODEX_HEADERS, readAsCodex } from '../../support/clients/codex.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { dataOf, onceSeen } from '../../support/deployment/event-stream.ts';
import { until } from '../../support/deployment/polling.ts';

const KEEPALIVE_MS = 100;
/** What Precis sends meanwhile. Of the first one, the upstream sends one itself. */
const LIVES = /^event: response\.in_progress$/;
const COMMENT = /^: keepalive$/;

/** Where the upstream falls silent: before the first event that matches. */
let silentBefore = /./;
/** Ends when the test says so. */
let silence = Promise.withResolvers<void>();

async function halting(response: ServerResponse, events: Iterable<string>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  let hasWaited = false;
  for (const event of events) {
    if (!hasWaited && silentBefore.test(event)) {
      hasWaited = true;
      await silence.promise;
    }
    response.write(event);
  }
  response.end();
}

const CONTENT = 'Hello there, caller.';
const responses: Behaviour = (_, response, { body }) =>
  void halting(response, eventsOf(body, { id: '1', content: CONTENT }));
const messages: MessagesBehaviour = ({ body }, response) =>
  void halting(response, messageEvents(body, { id: '1', content: CONTENT }));

const anthropic = await startMessagesUpstream({ messages });
afterAll(() => anthropic.close());
const deployment = deploy({
  vars: { ANTHROPIC_BASE_URL: anthropic.url },
  limits: { keepaliveMs: KEEPALIVE_MS, streamBeginningMs: KEEPALIVE_MS },
  upstream: { responses },
});

beforeEach(() => {
  silence = Promise.withResolvers();
});

/** An answer whose upstream is silent until its reader has this many signs of life. */
async function silentUntil(sign: RegExp, times: number, asked: Promise<Response>): Promise<Response> {
  return onceSeen(await asked, sign, times, silence.resolve);
}

function respond(headers: Record<string, string>): Promise<Response> {
  silence = Promise.withResolvers();
  return deployment.postTo(
    '/v1/responses',
    { model: 'gpt-5', stream: true, input: 'Hello.' },
    { 'x-memory-strategy': 'compact', ...headers },
  );
}

const lives = (events: readonly string[]): number =>
  events.filter((type) => type === 'response.in_progress').length;

describe('a response that is silent', () => {
  it.each([
    ['before it is created', /response\.created/],
    ['after it is created', /response\.output_item\.added/],
    ['in the middle of a text', /caller/],
  ])('%s lives by events for Codex', async (_, where) => {
    silentBefore = where;
    const { turn, events } = await readAsCodex(await silentUntil(LIVES, 3, respond(CODEX_HEADERS)));
    expect(turn).toEqual({ does: 'goes_on' });
    expect(lives(events)).toBeGreaterThan(2);
  });

  it('lives by events for any client as long as it has no content', async () => {
    silentBefore = /response\.output_item\.added/;
    const { events } = await readAsCodex(await silentUntil(LIVES, 3, respond({})));
    expect(lives(events)).toBeGreaterThan(2);
    for (const where of [/response\.created/, /caller/]) {
      silentBefore = where;
      const text = await (await silentUntil(COMMENT, 1, respond({}))).text();
      expect(text.match(/^event: response\.in_progress$/gm)).toHaveLength(1);
      expect(text).toContain(': keepalive\n\n');
    }
  });

  it('lives by comments in mode none, where its bytes are the upstream’s', async () => {
    silentBefore = /response\.output_item\.added/;
    const asked = respond({ ...CODEX_HEADERS, 'x-memory-strategy': 'none' });
    const text = await (await silentUntil(COMMENT, 1, asked)).text();
    expect(text.match(/^event: response\.in_progress$/gm)).toHaveLength(1);
    expect(text).toContain(': keepalive\n\n');
  });
});

describe.each([
  {
    ...{ upstream_api: 'responses', model: 'gpt-6-astra', begins: /response\.created/ },
    ...{ thinks: /response\.output_item\.added/, seen: () => deployment.upstream.requests },
  },
  {
    ...{ upstream_api: 'messages', model: 'claude-opus-5-5', begins: /message_start/ },
    ...{ thinks: /content_block_start/, seen: () => anthropic.requests },
  },
])(
  'a chat answer over $upstream_api whose model is silent',
  ({ upstream_api, model, begins, thinks, seen }) => {
    const ask = (init: RequestInit = {}): Promise<Response> =>
      deployment.fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer sk-ant-of-a-silent-caller' },
        body: JSON.stringify({
          ...{ memory_strategy: { mode: 'auto', upstream_api }, model, stream: true },
          messages: [{ role: 'user', content: 'Hello.' }],
        }),
        ...init,
      });

    it.each([
      ['before it begins', begins],
      ['while it thinks', thinks],
      ['in the middle of a text', /caller/],
    ])('%s lives by comments', async (_, where) => {
      silentBefore = where;
      const text = await (await silentUntil(COMMENT, 1, ask())).text();
      expect(text).toContain(': keepalive\n\n');
      const chunks = dataOf(text).slice(0, -1);
      const said = chunks.flatMap((json) => JSON.parse(json).choices);
      expect(said.map(({ delta }) => delta.content ?? '').join('')).toBe(CONTENT);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    });

    it.each([
      ['before it begins', begins],
      ['while it thinks', thinks],
    ])('%s gives its headers all the same', async (_, where) => {
      silentBefore = where;
      const response = await ask();
      silence.resolve();
      expect(await response.text()).toContain('[DONE]');
    });

    it('is closed when its caller has left before it says a word', async () => {
      silentBefore = thinks;
      const leaving = new AbortController();
      const gone = ask({ signal: leaving.signal }).then((response) => response.text());
      const asked = () => seen().filter(({ method }) => method === 'POST');
      const before = asked().length;
      await until('the upstream is asked', () => asked().length > before);
      leaving.abort();
      await expect(gone).rejects.toThrow();
      await until('the connection is closed', () => asked().at(-1)?.closed === true);
    });
  },
);

describe('a compaction that takes long', () => {
  it('begins its response, and continues its numbers', async () => {
    const summary = {
      model: 'gpt-5',
      stream: true,
      memory_strategy: { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1 },
    };
    const said = (role: string, text: string) => ({ role, content: text.repeat(400) });
    const input = [
      said('user', 'One. '),
      said('assistant', 'Two. '),
      said('user', 'Three. '),
      said('assistant', 'Four. '),
      { type: 'compaction_trigger' },
    ];
    const content = 'They have counted up to four. '.repeat(6);
    deployment.upstream.next(async (...asked) => {
      await silence.promise;
      await behave({ type: 'answer', content }, ...asked);
    });
    const posted = deployment.postTo('/v1/responses', { ...summary, input }, CODEX_HEADERS);
    const response = await silentUntil(LIVES, 2, posted);
    const copy = response.clone();
    const { turn, events } = await readAsCodex(response);
    expect(turn).toEqual({ does: 'goes_on' });
    expect([events[0], ...events.slice(-3)]).toEqual([
      'response.created',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(lives(events)).toBeGreaterThan(1);
    const numbers = [...(await copy.text()).matchAll(/"sequence_number":(\d+)/g)].map(([, n]) => Number(n));
    expect(numbers).toEqual([...numbers.keys()]);
  });
});
