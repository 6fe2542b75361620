/**
 * Upstreams that fall silent at any point of an answer, with callers that wait and callers that
 * leave. Each connection is closed, and no error goes uncaught, which `deploy` checks.
 */
import { describe, expect, it } from 'vitest';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { uncaughtIn } from '../../support/deployment/watched-worker.ts';

const deployment = deploy({
  upstream: { strict: false },
  vars: {
    // An upstream that answers must be in time on a busy machine, too.
    UPSTREAM_HEADERS_TIMEOUT_MS: '500',
    UPSTREAM_IDLE_TIMEOUT_MS: '500',
    METRICS_TOKEN: 'x'.repeat(20),
  },
});

const call = { id: 'call_a', type: 'function', function: { name: 'search', arguments: '{}' } };
const messages = [
  { role: 'user', content: 'What do they weigh?' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_a', content: rows('apples', 40) },
  { role: 'assistant', content: 'A lot.' },
  { role: 'user', content: 'And the seventh one?' },
];
const tools = [{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }];
const compact = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, compact_retrieval: 'tool' };

const RETRIEVAL = { memory_strategy: { ...compact, archive: true }, memory_report: true };

/** A request whose answer is passed on, read, or heard. */
interface Form {
  readonly name: string;
  readonly fields: object;
  readonly headers?: Record<string, string>;
}

const FORMS: readonly Form[] = [
  { name: 'mode none', fields: { memory_strategy: 'none' } },
  { name: 'a report and retrieval', fields: RETRIEVAL },
  {
    name: 'an observed request',
    fields: { memory_strategy: compact, memory_report: true },
    headers: { 'x-memory-observe': 'true' },
  },
];

const writes =
  (type: string, text: string): Behaviour =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type });
    response.flushHeaders();
    if (text !== '') response.write(text);
  };

/** Where the upstream falls silent. */
const PLACES: readonly (readonly [string, Behaviour, isStream: boolean])[] = [
  ['before its headers', { type: 'hang' }, false],
  ['before its headers, for a stream', { type: 'hang' }, true],
  ['after its headers', writes('application/json', ''), false],
  ['in the middle of a body', writes('application/json', '{"choices":[{"ind'), false],
  ['in the middle of a body of another type', writes('text/plain', 'half a bo'), false],
  ['after the headers of a stream', writes('text/event-stream', ''), true],
  ['in the middle of a stream', { type: 'hang-mid-stream' }, true],
];

let asked = 0;

/** Asks in a conversation of its own, and waits for the answer's end, whatever it is. */
async function ask(fields: object, headers: Record<string, string> = {}, signal?: AbortSignal) {
  const body = {
    model: 'gpt-4.1',
    tools,
    ...fields,
    conversation_id: `hanging ${++asked}`,
    messages: [{ role: 'system', content: `Conversation ${asked}` }, ...messages],
  };
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
    body: JSON.stringify(body),
  };
  const path = '/v1/chat/completions';
  await deployment
    .fetch(path, signal ? { ...init, signal } : init)
    .then((response) => response.text())
    .catch(() => undefined);
}

/** Asks, and leaves when the upstream has been asked this many times. */
async function leave(times: number, fields: object, headers?: Record<string, string>): Promise<void> {
  const leaving = new AbortController();
  const gone = ask(fields, headers, leaving.signal);
  await until('the upstream is asked', () => deployment.chats().length === times);
  leaving.abort();
  await gone;
}

const closed = () => until('the connection is closed', () => deployment.lastChat().closed);

overProtocols('an upstream that falls silent', deployment, () => {
  inTurn(
    FORMS,
    ({ name }) => `with ${name}`,
    ({ fields, headers }) => {
      it.each(PLACES)('%s, leaves no error uncaught', async (_, behaviour, stream) => {
        deployment.upstream.next(behaviour, behaviour);
        await ask({ ...fields, stream }, headers);
        await closed();
        await leave(2, { ...fields, stream }, headers);
        await closed();
      });
    },
  );

  /** Calls our tool with the ref in its view. */
  const fetches: Behaviour = (request, response, recorded) => {
    const [ref = ''] = refsIn(deployment.protocol.seen(recorded).body.messages);
    const toolCalls = [{ id: 'call_ref', name: 'retrieve_ref', arguments: JSON.stringify({ ref }) }];
    void behave({ type: 'answer', toolCalls }, request, response, recorded);
  };

  it.each(PLACES)('%s of a further round, leaves no error uncaught', async (_, behaviour, stream) => {
    deployment.upstream.next(fetches, behaviour, fetches, behaviour);
    await ask({ ...RETRIEVAL, stream });
    expect(deployment.chats()).toHaveLength(2);
    await closed();
    await leave(4, { ...RETRIEVAL, stream });
    await closed();
  });
});

describe('the watched Worker', () => {
  it('has printed no error that went uncaught', () => {
    const output = deployment.worker.output();

    expect(output).toContain('upstream_timeout');
    expect(uncaughtIn(output)).toEqual([]);
  });
});
