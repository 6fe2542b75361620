/**
 * The summarizer of the request's own upstream, which may be a gateway that wants headers or a
 * query beside the key.
 */
import { describe, expect, it } from 'vitest';
import { behave } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { step } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS, type Protocol } from '../../support/deployment/protocol.ts';
import {
  conversation,
  HEADINGS,
  type Message,
  question,
  summarize,
} from '../../support/deployment/summarizer.ts';

/** What gateways want, by their pages, and what a caller may send beside it. */
const GATEWAY = {
  'cf-aig-authorization': 'Bearer of-the-gateway',
  'cf-aig-metadata': '{"team":"a"}',
  'x-portkey-api-key': 'pk',
  'x-portkey-provider': '@openai',
  'helicone-auth': 'Bearer h',
  'x-opencode-session': 'ses_1',
  'api-key': 'azure',
  'openai-organization': 'org-1',
  'user-agent': 'KimiCLI/1.30.0',
  'x-tenant': 't1',
};
const QUERY = '?api-version=2025-01-01-preview&tag=a&tag=b%20c';

/** What is about the caller's own body, connection or edge. */
const ONCE = {
  'idempotency-key': 'once',
  'x-client-request-id': 'r-1',
  'helicone-request-id': 'r-2',
  'cf-aig-cache-key': 'of-the-question',
};
const OF_EDGE = {
  'cf-connecting-ip': '203.0.113.7',
  'cf-ray': '1-FRA',
  'x-forwarded-for': '203.0.113.7',
  'cdn-loop': 'cloudflare',
  'x-memory-user': 'ann',
};
const SENT = { ...GATEWAY, ...ONCE, ...OF_EDGE };

const ofPrecis = ({ rawBody }: RecordedRequest) =>
  /<(?:transcript|output)-[0-9a-f]+>/.test(rawBody.toString());

const deployment = deploy({
  vars: { LOG_LEVEL: 'debug' },
  upstream: {
    chat: (request, response, recorded) =>
      ofPrecis(recorded)
        ? void behave(summarize, request, response, recorded)
        : void behave({ type: 'answer' }, request, response, recorded),
  },
});

/** The completions that the upstream was asked for, without another protocol's translation. */
const asked = () => deployment.upstream.requests.filter(({ method }) => method === 'POST');

/** All have what the gateway wants, and Precis's own have nothing of the caller’s body. */
function expectOfGateway(requests: readonly RecordedRequest[], query = QUERY): void {
  for (const { headers, path } of requests) {
    expect(headers).toMatchObject(GATEWAY);
    expect(new URL(path, 'http://up.test').search).toBe(query);
    for (const name of Object.keys(OF_EDGE)) expect(headers).not.toHaveProperty(name);
  }
  const summaries = requests.filter(ofPrecis);
  expect(summaries).not.toEqual([]);
  for (const { headers, rawBody } of summaries) {
    for (const name of Object.keys(ONCE)) expect(headers).not.toHaveProperty(name);
    expect(headers.accept).toBe('application/json');
    expect(headers['content-length']).toBe(String(rawBody.length));
  }
}

const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };
const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0 };
const DIGEST = {
  mode: 'auto',
  offload_min_tokens: 1_000,
  offload_fresh_tokens: 1_000,
  offload_digest: 'model',
};
const LOGS = { type: 'function', function: { name: 'logs', parameters: { type: 'object' } } };
const withOutput: Message[] = [
  { role: 'user', content: 'Which line is the last?' },
  ...step('call_1', 'logs', 'A line of the log.\n'.repeat(800)),
];

let named = 0;
const post = (path: string, body: object) =>
  deployment.postTo(path, body, { accept: 'text/event-stream', ...SENT });
const chat = (fields: object) =>
  post(`/v1/chat/completions${QUERY}`, {
    model: 'gpt-4.1',
    conversation_id: `gateway-${++named}`,
    ...fields,
  });
const inField = ({ field, elements }: Protocol, messages: readonly Message[]) => ({
  model: 'gpt-4.1',
  [field]: elements(messages),
});

/** Each way to a summary. */
const WAYS: [string, (protocol: Protocol) => Promise<unknown>][] = [
  ['the summary of a prefix', () => chat({ memory_strategy: SUMMARIZE, messages: conversation('plums', 4) })],
  [
    'a rolling memory',
    async () => {
      const messages = conversation('pears', 4);
      const conversation_id = `gateway-${++named}`;
      for (let end = 2; end <= messages.length; end += 2)
        await chat({ conversation_id, memory_strategy: ROLLING, messages: messages.slice(0, end) });
    },
  ],
  ['the digest of an output', () => chat({ memory_strategy: DIGEST, tools: [LOGS], messages: withOutput })],
  [
    'the memory of a session',
    () =>
      chat({
        user: 'ann',
        memory_injection: { publish: 'each_round' },
        memory_strategy: 'none',
        messages: conversation('grapes', 2),
      }),
  ],
  [
    '/v1/compact',
    (protocol) =>
      post(`/v1/compact${QUERY}`, {
        ...inField(protocol, conversation('figs', 4)),
        memory_strategy: SUMMARIZE,
        force: true,
      }),
  ],
  [
    'the end of a conversation',
    (protocol) =>
      post(
        `/v1/conversations/ended-${++named}/end${QUERY}&user=ann`,
        inField(protocol, conversation('dates', 2)),
      ),
  ],
];

overProtocols('a gateway before the request’s upstream', deployment, (protocol) => {
  it.each(WAYS)('gets for %s what the model’s call has', async (_, way) => {
    await way(protocol);
    await until('it is asked for a summary', () => asked().some(ofPrecis));
    expectOfGateway(asked());
  });

  it('gets all of it in mode none, with what identifies the caller’s body', async () => {
    await chat({ memory_strategy: 'none', messages: [question('kiwis', 1)] });
    const [seen, ...more] = asked();
    expect(more).toEqual([]);
    expect(seen?.headers).toMatchObject({ ...GATEWAY, ...ONCE });
    expect(seen?.path.endsWith(QUERY)).toBe(true);
  });

  it('gets what identifies a body with the first body of a request, and not after a fetch', async () => {
    deployment.upstream.next((request, response, recorded) => {
      const ref = /ref=(ref_[a-z2-7]{26})/.exec(recorded.rawBody.toString())?.[1];
      const fetching = { id: 'call_r', name: 'retrieve_ref', arguments: JSON.stringify({ ref }) };
      void behave({ type: 'answer', toolCalls: [fetching] }, request, response, recorded);
    });
    const memory_strategy = {
      mode: 'compact',
      compact_trigger_turns: 0,
      compact_keep: 0,
      compact_retrieval: 'tool',
    };
    const later = [{ role: 'assistant', content: 'The last.' }, question('logs', 2)];
    await chat({ memory_strategy, tools: [LOGS], messages: [...withOutput, ...later] });
    const [first, second, ...more] = asked();
    expect(more).toEqual([]);
    expect(first?.headers).toMatchObject({ ...GATEWAY, ...ONCE });
    expect(second?.headers).toMatchObject(GATEWAY);
    for (const name of Object.keys(ONCE)) expect(second?.headers).not.toHaveProperty(name);
  });

  it('logs none of it', () => {
    expect(deployment.worker.output()).not.toMatch(/of-the-gateway|2025-01-01-preview|ses_1/);
  });
});

describe('a gateway of the Responses API', () => {
  it('gets for /v1/responses/compact what the model’s call has', async () => {
    const [responses] = PROTOCOLS.filter(({ name }) => name === 'responses');
    if (!responses) throw new Error('there is no such protocol');
    const response = await post(
      `/v1/responses/compact${QUERY}`,
      inField(responses, [...conversation('limes', 4), question('limes', 5)]),
    );
    expect(response.status).toBe(200);
    expectOfGateway(asked());
  });
});

const messages = deployMessages({
  upstream: {
    messages: {
      type: 'model',
      answer: (body) => ({
        content:
          typeof body.system === 'string' ? HEADINGS.map((one) => `${one}\n(none)`).join('\n') : 'Done.',
      }),
    },
  },
});

describe('a gateway of the Messages API', () => {
  it('gets for the summary of a prefix what the model’s call has', async () => {
    const body = { model: 'claude-sonnet-4-6', max_tokens: 64, memory_strategy: SUMMARIZE };
    const [, ...turns] = conversation('quinces', 4);
    const response = await messages.postTo(
      `/v1/messages${QUERY}`,
      { ...body, messages: turns },
      { 'anthropic-beta': 'a-beta', ...SENT },
    );
    expect(response.status).toBe(200);
    const seen = messages.upstream.messages();
    expectOfGateway(seen);
    for (const { headers } of seen) expect(headers).toMatchObject({ 'anthropic-beta': 'a-beta' });
  });
});
