/**
 * A model that thinks for longer than clients wait in silence, while its reasoning is held back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { eventsOf as upstreamEvents } from '../../../tools/upstream/response.ts';
import { agentsLoop, aiSdkLoop, MODEL, type Setting } from '../../support/clients/client-loops.ts';
import { OPENAI_VERSIONS, type OpenAIVersion, openaiOf } from '../../support/clients/openai-versions.ts';
import { deploy } from '../../support/deployment/deployment.ts';

type Json = Record<string, unknown>;

/** A little longer than the silence after which a stream is kept alive. */
const THINKS_MS = 17_000;

const QUIET = 'gpt-5-quiet';

const RETRIEVAL = { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' };

let answers = 0;

/** Thinks and calls our tool; with its result it thinks again, and answers. */
const thinking: Behaviour = async (_, response, { body }) => {
  // Unstored reasoning is streamed at once. A model without a summary sends none of it before its
  // end.
  const summary = body.model === QUIET ? {} : { summary: 'I think for a long while about it.' };
  const reasoning = { encrypted: 'sealed', ...summary };
  const isLong =
    body.model === QUIET ? /output_item\.done.*"reasoning"/ : /"response\.reasoning_summary_text\.done"/;
  const hasResult = JSON.stringify(body.input).includes('function_call_output');
  const fetches = { id: `call_${++answers}`, name: 'retrieve_ref', arguments: '{"ref":"ref_none"}' };
  // An agent of @openai/agents takes the last message for the complete answer.
  const before = body.model === MODEL ? {} : { content: 'Wait. ' };
  const said = hasResult ? { content: 'So.' } : { ...before, toolCalls: [fetches] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of upstreamEvents(body, { id: `${answers}`, ...said, reasoning })) {
    if (isLong.test(event)) await sleep(THINKS_MS);
    response.write(event);
  }
  response.end();
};

const deployment = deploy({ upstream: { responses: thinking } });

describe('F24: while reasoning is held back', () => {
  it('callers are sent events, which no client takes for anything else', { timeout: 90_000 }, async () => {
    const baseURL = `${deployment.url}/v1`;
    const headers = { 'x-memory-strategy': JSON.stringify(RETRIEVAL) };
    const setting: Setting = { baseURL, headers, fetch, book: 'silent', stream: true };
    const askOf = (fields: { model: string; store?: boolean }) => async (version: OpenAIVersion) => {
      const client = await openaiOf(version, { baseURL, defaultHeaders: headers });
      const { output } = await client.responses.stream({ ...fields, input: 'Hello.' }).finalResponse();
      return output.map((item) => (item.type === 'message' ? item.content[0] : item.type));
    };
    const openai = [{ model: 'gpt-5' }, { model: QUIET, store: false }].flatMap((fields) =>
      OPENAI_VERSIONS.map(askOf(fields)),
    );
    const others = [agentsLoop(false), aiSdkLoop(false)].map((loop) => loop(setting));
    const eventsOf = async (fields: object): Promise<Json[]> => {
      const response = await deployment.postTo(
        '/v1/responses',
        { input: 'Hello.', stream: true, ...fields },
        headers,
      );
      const data = (await response.text()).matchAll(/^data: (.*)$/gm);
      return [...data].map(([, json = '']) => JSON.parse(json) as Json);
    };
    const raw = eventsOf({ model: 'gpt-5' });
    const quiet = eventsOf({ model: QUIET, store: false });

    for (const output of await Promise.all(openai))
      expect(output).toMatchObject(['reasoning', { text: 'Wait. ' }, 'reasoning', { text: 'So.' }]);
    expect(await Promise.all(others)).toEqual(['So.', 'So.']);

    const events = await raw;
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
    ]);
    // In the second answer the response is open already, so `response.in_progress` is sent again.
    const again = types.lastIndexOf('response.in_progress');
    expect(again).toBeGreaterThan(types.indexOf('response.output_text.done'));
    const { response } = events[again] ?? {};
    expect(((response as Json).output as Json[]).map(({ type }) => type)).toEqual(['reasoning', 'message']);

    // Of reasoning that is streamed at once, the beginning is shown, and then repeated.
    const alive = (await quiet).filter(({ type }) => type === 'response.in_progress').slice(1);
    const outputs = alive.map((event) => ((event.response as Json).output as Json[]).map(({ type }) => type));
    expect(outputs).toEqual([['reasoning'], ['reasoning', 'message', 'reasoning']]);
  });
});
