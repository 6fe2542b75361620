/**
 * A model that thinks for longer than clients wait in silence, while its reasoning is held back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { eventsOf } from '../../../tools/upstream/response.ts';
import { agentsLoop, aiSdkLoop, MODEL, type Setting } from '../../support/client-loops.ts';
import { deploy } from '../../support/deployment.ts';
import { OPENAI_VERSIONS, openaiOf } from '../../support/openai-versions.ts';

type Json = Record<string, unknown>;

/** A little longer than the silence after which a stream is kept alive. */
const THINKS_MS = 17_000;

const RETRIEVAL = { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' };

let answers = 0;

/** Thinks, and calls for a content of ours; when it has that, it thinks again, and answers. */
const thinking: Behaviour = async (_, response, { body }) => {
  const reasoning = { encrypted: 'sealed', summary: 'I think for a long while about it.' };
  const hasResult = JSON.stringify(body.input).includes('function_call_output');
  const fetches = { id: `call_${++answers}`, name: 'retrieve_ref', arguments: '{"ref":"ref_none"}' };
  // An agent of @openai/agents takes the last message for the whole of what was said.
  const before = body.model === MODEL ? {} : { content: 'Wait. ' };
  const said = hasResult ? { content: 'So.' } : { ...before, toolCalls: [fetches] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of eventsOf(body, { id: `${answers}`, ...said, reasoning })) {
    if (event.includes('"response.reasoning_summary_text.done"')) await sleep(THINKS_MS);
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
    const openai = OPENAI_VERSIONS.map(async (version) => {
      const client = await openaiOf(version, { baseURL, defaultHeaders: headers });
      const { output } = await client.responses.stream({ model: 'gpt-5', input: 'Hello.' }).finalResponse();
      return output.map((item) => (item.type === 'message' ? item.content[0] : item.type));
    });
    const others = [agentsLoop(false), aiSdkLoop(false)].map((loop) => loop(setting));
    const raw = deployment
      .fetch('/v1/responses', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'gpt-5', input: 'Hello.', stream: true }),
      })
      .then((response) => response.text());

    for (const output of await Promise.all(openai))
      expect(output).toMatchObject(['reasoning', { text: 'Wait. ' }, 'reasoning', { text: 'So.' }]);
    expect(await Promise.all(others)).toEqual(['So.', 'So.']);

    const events = [...(await raw).matchAll(/^data: (.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as Json,
    );
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
    ]);
    // In the second answer the response is open already: it is said again that it is in progress.
    const again = types.lastIndexOf('response.in_progress');
    expect(again).toBeGreaterThan(types.indexOf('response.output_text.done'));
    const { response } = events[again] ?? {};
    expect(((response as Json).output as Json[]).map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });
});
