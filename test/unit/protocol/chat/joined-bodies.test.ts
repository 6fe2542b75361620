import { describe, expect, it } from 'vitest';
import { goOnChat } from '../../../../src/protocol/chat/calls.ts';
import { JoinedChatBodies } from '../../../../src/protocol/chat/joined-bodies.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';

const OURS: ReadonlySet<string> = new Set(['retrieve_ref']);
const encoder = new TextEncoder();

const ours = { id: 'x', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } };
const search = { id: 'b', type: 'function', function: { name: 'search', arguments: '{}' } };
const patch = { id: 'c', type: 'custom', custom: { name: 'retrieve_ref', input: '*** Begin' } };

function bodyOf(
  calls: readonly object[],
  usage?: object,
  finish_reason: string | null = 'tool_calls',
): Uint8Array {
  const message = { role: 'assistant', content: null, tool_calls: calls };
  const choices = [{ index: 0, message, finish_reason }];
  return encoder.encode(JSON.stringify({ id: 'c1', choices, ...(usage ? { usage } : {}) }));
}

/** The caller's body; undefined if the model is asked again. */
function taken(answers: JoinedChatBodies, body: Uint8Array) {
  const took = answers.take(body);
  return took instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(took)) : undefined;
}

describe('the joined bodies of chat', () => {
  it('keeps the caller’s calls where none of Precis’s is answered again', () => {
    const last = new JoinedChatBodies(OURS, () => false);
    const [choice] = taken(last, bodyOf([ours, search])).choices;
    expect(choice).toMatchObject({ message: { tool_calls: [search] }, finish_reason: 'tool_calls' });
  });

  it.each([null, '', 'eos', 'tool_call'])(
    'answers a call whatever its server says at its end: %j',
    (finish) => {
      const answers = new JoinedChatBodies(OURS, () => true);
      expect(taken(answers, bodyOf([ours], undefined, finish))).toBeUndefined();
    },
  );

  // DeepSeek's, Mistral's, Gemini's and SGLang's words among them.
  it.each(['length', 'insufficient_system_resource', 'model_length', 'MAX_TOKENS', 'abort', 'error'])(
    'answers none of a body that was cut short: %s',
    (finish_reason) => {
      const answers = new JoinedChatBodies(OURS, () => true);
      const [choice] = taken(answers, bodyOf([ours], undefined, finish_reason)).choices;
      expect(choice).toEqual({
        index: 0,
        finish_reason,
        message: { role: 'assistant', content: '' },
      });
    },
  );

  // OpenAI refuses `content: null` without calls.
  it('has a text that can be sent back, where no call of the answer is shown', () => {
    const last = new JoinedChatBodies(OURS, () => false);
    const [choice] = taken(last, bodyOf([ours])).choices;
    expect(choice).toEqual({ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '' } });
  });

  it('passes on the call of a custom tool, whatever its name', () => {
    const answers = new JoinedChatBodies(OURS, () => true);
    const body = bodyOf([patch]);
    expect(answers.take(body)).toBe(body);
  });

  // Snowflake's, as in `tests/models/cassettes/test_snowflake` of
  // https://github.com/pydantic/pydantic-ai.
  it('answers a call with all members that a message can have, and sends none back that is empty', () => {
    const empty = {
      annotations: null,
      audio: { data: '', expires_at: 0, id: '', transcript: '' },
      content: '',
      function_call: { arguments: '', name: '' },
      refusal: '',
    };
    const message = {
      ...empty,
      role: 'assistant',
      tool_calls: [{ custom: { input: '', name: '' }, ...ours }],
    };
    const answers = new JoinedChatBodies(OURS, () => true);
    const turn = answers.take(
      encoder.encode(JSON.stringify({ id: '', choices: [{ index: 0, message, finish_reason: '' }] })),
    );
    expect(turn).toMatchObject({ calls: [{ id: 'x', name: 'retrieve_ref' }] });
    expect(turn).toHaveProperty('messages', [{ role: 'assistant', content: null, tool_calls: [ours] }]);
  });

  // Gemini's (`test_compatible_api_with_tool_calls_without_id.yaml`, ibid.).
  it('gives calls without an id one each, by which their results are known', () => {
    const answers = new JoinedChatBodies(OURS, () => true);
    const turn = answers.take(
      bodyOf([
        { ...ours, id: '' },
        { ...ours, id: undefined },
      ]),
    );
    if (turn instanceof Uint8Array) throw new Error('the calls were not answered');
    const { body } = goOnChat(encoder.encode('{"messages":[{"role":"user","content":"?"}]}'), turn, [
      'One.',
      'Two.',
    ]);
    const [, said, ...results] = JSON.parse(new TextDecoder().decode(body)).messages;
    const ids = said.tool_calls.map(({ id }: { id: unknown }) => id);
    expect(ids).toEqual([expect.stringMatching(/^call_\w{8,}$/), expect.stringMatching(/^call_\w{8,}$/)]);
    expect(new Set(ids).size).toBe(2);
    expect(results.map((result: { tool_call_id: unknown }) => result.tool_call_id)).toEqual(ids);
  });

  it('has the words of all answers, whether they come as a text or as parts', () => {
    const answer = (content: unknown, calls: readonly object[]): Uint8Array => {
      const message = { role: 'assistant', content, tool_calls: calls };
      return encoder.encode(JSON.stringify({ id: 'c1', choices: [{ message, finish_reason: 'stop' }] }));
    };
    const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
    const said = { type: 'text', text: 'I look.' };
    const spoken = (first: unknown, second: unknown): unknown => {
      const answers = new JoinedChatBodies(OURS, () => true);
      expect(taken(answers, answer(first, [ours]))).toBeUndefined();
      return taken(answers, answer(second, [])).choices[0].message.content;
    };
    const seven = { type: 'text', text: ' Seven.' };
    expect(spoken([thought, said], ' Seven.')).toEqual([thought, said, seven]);
    expect(spoken('I look.', [thought, seven])).toEqual([said, thought, seven]);
    expect(spoken([thought], [thought, seven])).toEqual([thought, thought, seven]);
    expect(spoken(null, [thought, seven])).toEqual([thought, seven]);
  });

  it('has the details of all completions, and of the last prompt', () => {
    const answers = new JoinedChatBodies(OURS, () => true);
    const usage = (reasoning: number, cached: number) => ({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      completion_tokens_details: { reasoning_tokens: reasoning },
      prompt_tokens_details: { cached_tokens: cached },
    });
    expect(taken(answers, bodyOf([ours], usage(3, 1)))).toBeUndefined();
    expect(taken(answers, bodyOf([search], usage(4, 9))).usage).toEqual({
      ...usage(7, 9),
      completion_tokens: 10,
      total_tokens: 20,
    });
    expect(answers.usage).toEqual({ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
  });

  it.each([
    [
      'OpenRouter',
      (cost: number) => ({ cost, is_byok: false, cost_details: { upstream_inference_cost: cost } }),
    ],
    ['xAI', (cost: number) => ({ cost_in_usd_ticks: cost, num_sources_used: 0 })],
  ])('has the costs of all completions, as %s reports them', (_, costs) => {
    const answers = new JoinedChatBodies(OURS, () => true);
    const usage = (cost: number) => ({ prompt_tokens: 10, completion_tokens: 5, ...costs(cost) });
    taken(answers, bodyOf([ours], usage(3)));
    expect(taken(answers, bodyOf([search], usage(4))).usage).toMatchObject(costs(7));
  });
});

describe('the names of the caller’s tools', () => {
  it('are of functions and of custom tools', () => {
    const tools = [
      { type: 'function', function: { name: 'search' } },
      { type: 'custom', custom: { name: 'retrieve_ref' } },
      { type: 'odd' },
      null,
    ];
    const read = readChatRequest(encoder.encode(JSON.stringify({ messages: [{ role: 'user' }], tools })));
    expect(read.ok && read.value.toolNames).toEqual(new Set(['search', 'retrieve_ref']));
  });
});
