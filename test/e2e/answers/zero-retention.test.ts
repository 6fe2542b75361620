/**
 * Upstreams that store nothing without being asked, and models whose reasoning they know only in
 * its encrypted form.
 */
import type { ServerResponse } from 'node:http';
import type OpenAI from 'openai';
import { expect, it } from 'vitest';
import { type Behaviour, refuse, respond } from '../../../tools/upstream/behaviours.ts';
import type { ResponseAnswer } from '../../../tools/upstream/response.ts';
import { responsesViolations } from '../../../tools/upstream/strict-responses.ts';
import { OPENAI_VERSIONS, openaiOf } from '../../support/clients/openai-versions.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';

type Json = Record<string, unknown>;

const ENCRYPTED = 'reasoning.encrypted_content';
const RETRIEVAL = { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' };

/**
 * The `store` in the answers; undefined leaves it out. With false, requests are checked as unstored
 * ones.
 */
let store: boolean | undefined = false;
/**
 * Whether its model reasons. Otherwise it refuses a request for encrypted reasoning, as OpenAI
 * does.
 */
let reasons = true;
let answers = 0;

/** Fetches once, and answers. */
const upstream: Behaviour = (_, response: ServerResponse, { body }) => {
  if (!reasons && body.include?.includes(ENCRYPTED))
    return refuse(response, 400, 'Encrypted content is not supported with this model.');
  const found = store === false ? responsesViolations({ ...body, store: false }) : [];
  if (found.length > 0) return refuse(response, 400, found.join('\n'));
  const id = `${++answers}`;
  const hasResult = JSON.stringify(body.input).includes('function_call_output');
  const fetches = { id: `call_${id}`, name: 'retrieve_ref', arguments: '{"ref":"ref_none"}' };
  const said: ResponseAnswer = hasResult ? { content: 'So.' } : { content: 'Wait. ', toolCalls: [fetches] };
  const reasoning = { encrypted: `sealed ${id}`, summary: 'I think.' };
  return respond(response, body, {
    id,
    ...said,
    ...(reasons ? { reasoning } : {}),
    fields: store === undefined ? {} : { store },
  });
};

const deployment = deploy({ upstream: { responses: upstream } });

let keys = 0;
/** A new key, with nothing known about its upstream. */
const newKey = (): string => `sk-the-key-of-unstored-caller-${++keys}`;

async function ask(apiKey: string, stream: boolean, more: Json = {}) {
  const before = deployment.upstream.requests.length;
  const client = await openaiOf(OPENAI_VERSIONS[3], { apiKey, baseURL: `${deployment.url}/v1` });
  const params = { model: 'gpt-5', input: 'Hello.', memory_strategy: RETRIEVAL, ...more } as never;
  const { output } = stream
    ? await client.responses.stream(params).finalResponse()
    : ((await client.responses.create(params)) as OpenAI.Responses.Response);
  const asked = deployment.upstream.requests.slice(before).filter(({ path }) => path.endsWith('/responses'));
  return { output: output as unknown as Json[], bodies: asked.map(({ body }) => body as Json) };
}

const reasoningIn = (items: unknown) => (items as Json[]).filter(({ type }) => type === 'reasoning');

inBothForms('F22: a model that fetches', (stream) => {
  it.each<[string, Json]>([
    ['unasked', {}],
    ['with `store: false`', { store: false }],
    ['with `store: true`', { store: true, include: ['message.output_text.logprobs'] }],
  ])('is said its reasoning back where the upstream stores nothing, %s', async (_, fields) => {
    store = false;
    const key = newKey();
    // The first answer's statement about storing changes nothing for the second request.
    for (let request = 0; request < 2; request++) {
      const { output, bodies } = await ask(key, stream, fields);
      expect(bodies).toHaveLength(2);
      for (const { include } of bodies)
        expect(include).toEqual([...((fields.include as string[]) ?? []), ENCRYPTED]);
      expect(reasoningIn(bodies[1]?.input)).toEqual([
        expect.objectContaining({ encrypted_content: expect.stringMatching(/^sealed /) }),
      ]);
      // The caller did not ask for encrypted reasoning.
      expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'reasoning', 'message']);
      for (const item of reasoningIn(output)) expect(item).not.toHaveProperty('encrypted_content');
    }
  });

  it('is said it back, and its caller sees it, where the caller asks for it', async () => {
    store = false;
    const { output, bodies } = await ask(newKey(), stream, { store: false, include: [ENCRYPTED] });
    expect(bodies.map(({ include }) => include)).toEqual([[ENCRYPTED], [ENCRYPTED]]);
    const sealed = { encrypted_content: expect.stringMatching(/^sealed /) };
    expect(reasoningIn(output)).toMatchObject([sealed, sealed]);
  });

  it.each([true, undefined])(
    'has it asked for once where the upstream stores it, or says nothing of that (%s)',
    async (wording) => {
      store = wording;
      const key = newKey();
      expect((await ask(key, stream)).bodies[0]?.include).toEqual([ENCRYPTED]);
      const { output, bodies } = await ask(key, stream);
      expect(bodies.map(({ include }) => include)).toEqual([undefined, undefined]);
      expect(reasoningIn(bodies[1]?.input)).toHaveLength(1);
      expect(output).toHaveLength(4);
    },
  );

  it('is asked once more without it where the upstream refuses it, and then never with it', async () => {
    store = false;
    reasons = false;
    try {
      const key = newKey();
      const first = await ask(key, stream);
      expect(first.bodies.map(({ include }) => include)).toEqual([[ENCRYPTED], undefined, undefined]);
      const { output, bodies } = await ask(key, stream);
      expect(bodies.map(({ include }) => include)).toEqual([undefined, undefined]);
      expect(output.map(({ type }) => type)).toEqual(['message', 'message']);
    } finally {
      reasons = true;
    }
  });

  it('goes on without its reasoning where that came in no form that can be said back', async () => {
    const key = newKey();
    store = true;
    await ask(key, stream);
    store = false;
    const { output, bodies } = await ask(key, stream);
    expect(bodies[0]?.include).toBeUndefined();
    expect(reasoningIn(bodies[1]?.input)).toEqual([]);
    expect(output).toHaveLength(4);
  });

  it('is asked for nothing more where it can’t fetch', async () => {
    store = false;
    const { bodies } = await ask(newKey(), stream, { memory_strategy: 'none' });
    expect(bodies.map(({ include }) => include)).toEqual([undefined]);
  });
});
