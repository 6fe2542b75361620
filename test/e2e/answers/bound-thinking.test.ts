/**
 * Upstreams that sign thinking together with everything before it, as Claude does, where only their
 * refusal shows it.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn, ofTurn } from '../../support/deployment/in-turn.ts';

type Json = Record<string, unknown>;

const WORDS =
  'messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.';
const ANTHROPIC = { type: 'error', error: { type: 'invalid_request_error', message: WORDS } };

/** A way to have thinking in a conversation, and how its upstream refuses it. */
interface Dialect {
  readonly path: string;
  /** A step of an agent: its thinking, its call and the output. */
  step(before: readonly Json[], topic: string): Json[];
  /** The signatures in an element of the conversation. */
  signatures(element: Json): unknown[];
  readonly refused: Behaviour;
}

const refusedBy = (body: object): Behaviour => ({ type: 'error', status: 400, body });

const streams =
  (data: object): Behaviour =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(data)}\n\n`);
  };

const sign = (before: readonly Json[]): string =>
  createHash('sha256').update(JSON.stringify(before)).digest('base64');

function chat(
  thought: (signature: string) => Json,
  signatures: Dialect['signatures'],
  refused: Behaviour,
): Dialect {
  return {
    path: '/v1/chat/completions',
    step: (before, topic) => {
      const call = { id: `call_${topic}`, type: 'function', function: { name: 'read', arguments: '{}' } };
      return [
        { role: 'assistant', content: 'I read it.', tool_calls: [call], ...thought(sign(before)) },
        { role: 'tool', tool_call_id: `call_${topic}`, content: linesAbout(topic, 120) },
      ];
    },
    signatures,
    refused,
  };
}

function responses(refused: Behaviour): Dialect {
  return {
    path: '/v1/responses',
    step: (before, topic) => [
      { type: 'reasoning', id: `rs_${topic}`, summary: [], encrypted_content: sign(before) },
      { type: 'function_call', id: `fc_${topic}`, call_id: `call_${topic}`, name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${topic}`, output: linesAbout(topic, 120) },
    ],
    signatures: ({ encrypted_content }) => (encrypted_content === undefined ? [] : [encrypted_content]),
    refused,
  };
}

const listed = (field: string) => (element: Json) =>
  ((element[field] ?? []) as Json[]).map(({ signature }) => signature);

const details = (signature: string) => ({
  reasoning_details: [{ type: 'reasoning.text', text: 'I should read it.', signature }],
});
const blocks = (signature: string) => ({
  thinking_blocks: [{ type: 'thinking', thinking: 'I should read it.', signature }],
  reasoning_content: 'I should read it.',
});
const parts = (signature: string) => ({
  content: [
    { type: 'thinking', thinking: 'I should read it.', signature },
    { type: 'text', text: 'I read it.' },
  ],
});
const inContent = ({ content }: Json) =>
  Array.isArray(content) ? content.flatMap(({ signature }: Json) => (signature ? [signature] : [])) : [];

const DIALECTS: Record<string, Dialect> = {
  'in Anthropic’s content': chat(parts, inContent, refusedBy(ANTHROPIC)),
  'by LiteLLM': chat(
    blocks,
    listed('thinking_blocks'),
    refusedBy({ error: { message: `litellm.BadRequestError: AnthropicException - ${WORDS}`, code: '400' } }),
  ),
  'by OpenRouter': chat(
    details,
    listed('reasoning_details'),
    refusedBy({
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(ANTHROPIC), provider_name: 'Anthropic' },
      },
    }),
  ),
  'in the first event of a stream': chat(
    details,
    listed('reasoning_details'),
    streams({ error: { message: WORDS, code: 400 } }),
  ),
  'over the Responses API': responses(refusedBy({ error: { message: WORDS, code: 'invalid_request' } })),
  'over the Responses API, in a stream': responses(streams({ type: 'error', code: null, message: WORDS })),
};

/** A model of which nobody knows that it binds its thinking. */
const NAMELESS = 'the-best-of-the-house';

let current: Dialect;

/** Checks signatures, and answers with what it was asked. */
const signing: Behaviour = (request, response, recorded) => {
  const list = (recorded.body.messages ?? recorded.body.input) as Json[];
  const isBound = list.every((element, index) => {
    const found = current.signatures(element);
    return found.every((signature) => signature === sign(list.slice(0, index)));
  });
  void behave(isBound ? { type: 'answer' } : current.refused, request, response, recorded);
};

const deployment = deploy({ upstream: { strict: false, chat: signing } });

const user = (content: string): Json => ({ role: 'user', content });
const TOPICS = ['a', 'b', 'c', 'd', 'e', 'f'];

let keys = 0;

/** A caller whose conversation has thinking in all of its answers. */
function callerOf(dialect: Dialect, stream: boolean, strategy: unknown) {
  current = dialect;
  const key = `sk-the-key-of-thinker-${++keys}`;
  const list = [user('Read all of it.')];
  for (const topic of TOPICS) list.push(...dialect.step(list, topic));
  const field = dialect.path.endsWith('responses') ? 'input' : 'messages';
  return async (more: readonly Json[] = []) => {
    list.push(...more);
    const before = deployment.upstream.requests.length;
    const response = await fetch(`${deployment.url}${dialect.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: NAMELESS,
        stream,
        store: false,
        memory_report: true,
        memory_strategy: strategy,
        [field]: [...list, user('Go on.')],
      }),
    });
    const text = await response.text();
    const asked = deployment.upstream.requests.slice(before).filter(({ method }) => method === 'POST');
    const views = asked.map(({ body }) => body[field] as Json[]);
    const warnings = response.headers.get('x-memory-warning');
    return { status: response.status, text, views, warnings, list };
  };
}

const COMPACT = { mode: 'compact', token_budget: 3_000, compact_keep: 1 };

inTurn(
  Object.entries(DIALECTS),
  ([name]) => `thinking that an upstream binds, ${name}`,
  ([, dialect]) => {
    const signatures = (view: readonly Json[] = []) => view.flatMap(dialect.signatures);

    it.each(ofTurn(0, [false, true]))(
      'is left out once it is refused, and from then on (stream: %s)',
      async (stream) => {
        const send = callerOf(dialect, stream, COMPACT);
        const { status, text, views, warnings, list } = await send();

        expect([status, views.length]).toEqual([200, 2]);
        expect(text).not.toContain('Invalid');
        expect(signatures(views[0])).toHaveLength(TOPICS.length);
        expect(signatures(views[1])).toEqual([]);
        expect(JSON.stringify(views[1])).not.toContain('I should read it.');
        expect(warnings).toContain('thinking_dropped');
        expect(text).toContain('"thinking_dropped"');

        const again = await send(dialect.step(list, 'g'));
        expect([again.status, again.views.length]).toEqual([200, 1]);
        expect(signatures(again.views[0])).toEqual([]);
        expect(again.warnings).toContain('thinking_dropped');
      },
    );

    it('is forwarded as it is where nothing changes', async () => {
      const { status, views, warnings } = await callerOf(dialect, false, 'none')();
      expect([status, views.length, warnings]).toEqual([200, 1, null]);
      expect(signatures(views[0])).toHaveLength(TOPICS.length);
    });

    it('is refused to the caller in mode none', async () => {
      const send = callerOf(dialect, false, 'none');
      const { list } = await send();
      const { status, text, views } = await send([user('One more.'), ...dialect.step(list.slice(2), 'h')]);
      expect(views).toHaveLength(1);
      expect(text).toContain('Invalid `signature`');
      expect(status).toBe(views[0] && dialect.refused && 'type' in dialect.refused ? 400 : 200);
    });
  },
);

describe('an upstream that refuses thinking', () => {
  it('is answered with its first error if it also refuses the request without', async () => {
    const [dialect] = Object.values(DIALECTS);
    if (!dialect) return;
    const send = callerOf(dialect, false, COMPACT);
    deployment.upstream.next(dialect.refused, { type: 'drop' });
    const { status, text, views } = await send();
    expect([status, views.length]).toEqual([400, 2]);
    expect(text).toContain('bound to a different conversation');
  });

  it('is asked once where the conversation has no thinking', async () => {
    const [dialect] = Object.values(DIALECTS);
    if (!dialect) return;
    const plain = {
      ...dialect,
      step: (before: readonly Json[], topic: string) =>
        dialect.step(before, topic).map(({ content, ...rest }) => ({
          ...rest,
          content: typeof content === 'string' ? content : 'I read it.',
        })),
    };
    const send = callerOf(plain, false, COMPACT);
    deployment.upstream.next(dialect.refused);
    const { status, views } = await send();
    expect([status, views.length]).toEqual([400, 1]);
  });
});
