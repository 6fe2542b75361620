/** `instructions` that the upstream's cache leaves out, and that are moved into the input. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';

type Json = Record<string, unknown>;

const deployment = deploy({ upstream: { strict: {} } });

const INSTRUCTIONS = linesAbout('rules', 120);

let cached = 0;

/** A cache that holds this many tokens. */
const answering = () => {
  deployment.upstream.become({
    strict: {},
    responses: (_, response, { body }) => {
      const usage = {
        input_tokens: 5_000,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 5_005,
      };
      const said = { type: 'output_text', text: 'Yes.', annotations: [] };
      const output = [
        { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [said] },
      ];
      const done = {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: body.model,
        output,
        usage,
      };
      if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(done));
        return;
      }
      const events = [
        { type: 'response.created', response: { ...done, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...output[0], content: [] } },
        {
          type: 'response.content_part.added',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          part: { ...said, text: '' },
        },
        {
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta: 'Yes.',
        },
        { type: 'response.output_item.done', output_index: 0, item: output[0] },
        { type: 'response.completed', response: done },
      ];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [sequence_number, event] of events.entries())
        response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`);
      response.end();
    },
  });
};

let keys = 0;
function callerOf(named: Json = {}) {
  answering();
  const apiKey = `sk-the-key-of-an-instructing-caller-${++keys}`;
  const client = new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey, maxRetries: 0 });
  const input: Json[] = [];
  const ask = async (more: Json = {}, stream = false) => {
    input.push({ role: 'user', content: `Question ${input.length}.` });
    const params = {
      model: 'gpt-6.2-sol',
      store: false,
      instructions: INSTRUCTIONS,
      input,
      memory_strategy: { mode: 'auto', ...more },
      memory_report: true,
      ...named,
    } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const final = stream
      ? await client.responses.stream(params as never).finalResponse()
      : await client.responses.create(params);
    input.push({ role: 'assistant', content: final.output_text });
    const body = deployment.upstream.requests.findLast(({ path }) => path.endsWith('/responses'))?.body;
    return { memory: (final as unknown as { memory: Report }).memory, body, client, params };
  };
  return ask;
}

/** Asked until the event of the answer before is known: it is learned after the answer. */
async function warned(ask: ReturnType<typeof callerOf>, times: number, stream: boolean): Promise<boolean[]> {
  const warnings: boolean[] = [];
  for (let at = 0; at < times; at++)
    warnings.push((await ask({}, stream)).memory.warnings.includes('instructions_uncached'));
  return warnings;
}

inBothForms('instructions that no cache holds', (stream) => {
  it.each([{}, { conversation_id: 'named' }])('are reported after three answers, in %o', async (named) => {
    cached = 0;
    const warnings = await warned(callerOf(named), 7, stream);
    expect(warnings.slice(0, 4)).toEqual([false, false, false, false]);
    expect(warnings.at(-1)).toBe(true);
  });

  it('are not reported where the cache holds them', async () => {
    cached = 4_096;
    expect(await warned(callerOf(), 7, stream)).not.toContain(true);
  });
});

describe('move_instructions', () => {
  const MOVED = { move_instructions: true };

  it('puts a developer message in their place, from the first request on without a move', async () => {
    cached = 0;
    const ask = callerOf({ conversation_id: 'moved' });
    for (let at = 0; at < 5; at++) {
      const { memory, body } = await ask(MOVED, at % 2 === 1);
      expect(body.instructions).toBeUndefined();
      expect(body.input[0]).toEqual({ role: 'developer', content: INSTRUCTIONS });
      expect(body.input).toHaveLength(2 * at + 2);
      expect(memory.frontier.moved).toBe(false);
      expect(memory.warnings).not.toContain('instructions_uncached');
    }
  });

  it('is a move where it begins in the middle of a conversation, once', async () => {
    const ask = callerOf({ conversation_id: 'begun' });
    const moves = [];
    for (const given of [{}, {}, MOVED, MOVED, MOVED]) moves.push((await ask(given)).memory.frontier.moved);
    expect(moves).toEqual([false, false, true, false, false]);
  });

  it('counts and explains the same request', async () => {
    const { client, params } = await callerOf()(MOVED);
    await client.responses.inputTokens.count(params as never);
    const counted = deployment.upstream.requests.at(-1)?.body;
    expect(counted.instructions).toBeUndefined();
    expect(counted.input[0]).toEqual({ role: 'developer', content: INSTRUCTIONS });
  });

  it('leaves a request alone that goes on from stored state', async () => {
    const { client, params } = await callerOf()(MOVED);
    await client.responses.create({ ...params, previous_response_id: 'resp_1' });
    const body = deployment.upstream.requests.at(-1)?.body;
    expect(body.instructions).toBe(INSTRUCTIONS);
    expect(body.input[0].role).toBe('user');
  });
});
