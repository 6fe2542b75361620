/**
 * Every major version of the `openai` client in use, with JSON and streamed answers, with and
 * without retrieval.
 */
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, behave, respond } from '../../../tools/upstream/behaviours.ts';
import type { Answer } from '../../../tools/upstream/completion.ts';
import type { ResponseAnswer } from '../../../tools/upstream/response.ts';
import { chatStream, OPENAI_VERSIONS, openaiOf } from '../../support/clients/openai-versions.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';

const deployment = deploy({ upstream: { strict: { jsonArguments: true } } });

type Json = Record<string, unknown>;

const RETRIEVAL = { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' };
const SETTINGS = [
  ['without a strategy', undefined],
  ['with retrieval', RETRIEVAL],
] as const;

const PARAMETERS = { type: 'object', properties: {}, additionalProperties: true };
const call = (name: string, id: string) => ({ id, name, arguments: '{}' });
const fetches = (id: string) => ({ ...call('retrieve_ref', id), arguments: '{"ref":"ref_none"}' });

const answers =
  (answer: Answer): Behaviour =>
  (request, response, recorded) => {
    void behave({ type: 'answer', ...answer }, request, response, recorded);
  };
const responds =
  (answer: ResponseAnswer): Behaviour =>
  (_, response, { body }) =>
    respond(response, body, answer);

describe.each(OPENAI_VERSIONS)('F17: the openai client of version %s', (version) => {
  const at = OPENAI_VERSIONS.indexOf(version);
  const client = (): Promise<OpenAI> => openaiOf(version, { baseURL: `${deployment.url}/v1` });

  describe.each(ofTurn(at, [false, true]))('over chat (streamed: %s)', (stream) => {
    const ask = async (strategy: object | undefined): Promise<OpenAI.ChatCompletionMessage | undefined> => {
      const openai = await client();
      const body = {
        model: 'gpt-4.1',
        messages: [{ role: 'user', content: 'Hello.' }],
        tools: [{ type: 'function', function: { name: 'look_up', parameters: PARAMETERS } }],
        ...(strategy && { memory_strategy: strategy }),
      };
      const completion = stream
        ? await chatStream(openai, body).finalChatCompletion()
        : await openai.chat.completions.create(body as never);
      return (completion as OpenAI.ChatCompletion).choices[0]?.message;
    };

    it.each(SETTINGS)('is answered %s', async (_, strategy) => {
      const looksUp = call('look_up', 'call_1');
      if (strategy) deployment.upstream.next(answers({ content: 'Wait. ', toolCalls: [fetches('call_0')] }));
      deployment.upstream.next(answers({ content: 'So.', toolCalls: [looksUp] }));
      const message = await ask(strategy);
      expect(message?.content).toBe(strategy ? 'Wait. So.' : 'So.');
      expect(message?.tool_calls).toMatchObject([{ id: 'call_1', function: { name: 'look_up' } }]);
    });
  });

  describe.each(ofTurn(at + 1, [false, true]))('over the Responses API (streamed: %s)', (stream) => {
    const ask = async (strategy: object | undefined, more: Json = {}): Promise<OpenAI.Responses.Response> => {
      const openai = await client();
      const body = {
        model: 'gpt-5',
        input: 'Hello.',
        tools: [{ type: 'function', name: 'look_up', parameters: PARAMETERS, strict: false }],
        ...(strategy && { memory_strategy: strategy, memory_report: true }),
        ...more,
      } as never;
      return stream
        ? openai.responses.stream(body).finalResponse()
        : ((await openai.responses.create(body)) as OpenAI.Responses.Response);
    };
    /** The clients of versions 4 and 5 don't set `output_text` on streamed responses. */
    const said = ({ output }: OpenAI.Responses.Response) =>
      output
        .flatMap((item) => (item.type === 'message' ? item.content : []))
        .map((part) => (part.type === 'output_text' ? part.text : ''))
        .join('');
    const kinds = ({ output }: OpenAI.Responses.Response) =>
      output.map((item) => ('name' in item ? item.name : item.type));

    it.each(SETTINGS)('is answered %s', async (_, strategy) => {
      const reasoning = { encrypted: 'sealed', summary: 'I think.' };
      if (strategy)
        deployment.upstream.next(
          responds({ id: 'a', reasoning, content: 'Wait. ', toolCalls: [fetches('call_0')] }),
        );
      deployment.upstream.next(
        responds({ id: 'b', reasoning, content: 'So.', toolCalls: [call('look_up', 'call_1')] }),
      );
      const response = await ask(strategy);
      const last = ['reasoning', 'message', 'look_up'];
      expect(kinds(response)).toEqual(strategy ? ['reasoning', 'message', ...last] : last);
      expect(said(response)).toBe(strategy ? 'Wait. So.' : 'So.');
    });

    it('sees one id, and learns from which one a stored conversation continues', async () => {
      const stored = (answer: ResponseAnswer): Behaviour => responds({ ...answer, fields: { store: true } });
      deployment.upstream.next(
        stored({ id: 'a', content: 'Wait. ', toolCalls: [fetches('call_0')] }),
        stored({ id: 'b', content: 'So.' }),
      );
      const response = await ask(RETRIEVAL, { store: true });
      expect(said(response)).toBe('Wait. So.');
      const { memory } = response as unknown as { memory: Report };
      expect([response.id, memory.retrieval?.response_id]).toEqual(
        stream ? ['resp_a', 'resp_b'] : ['resp_b', undefined],
      );
    });
  });
});
