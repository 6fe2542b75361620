import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import type { ToolCall } from '../../../tools/upstream/completion.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { lines } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { PROTOCOLS, RESPONSES } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: { jsonArguments: true } } });

type Message = { role: string } & Record<string, unknown>;
type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

const FILE = lines(600, 'const line');
const WANTED = FILE.split('\n')[299] ?? '';
const STRATEGY = { mode: 'auto', token_budget: 64_000, offload_fresh_tokens: 1_000 };
const TOOLS = ['read_file', 'edit_file'].map((name) => ({
  type: 'function',
  function: { name, description: `Calls ${name}.`, parameters: { type: 'object', properties: {} } },
}));

let ids = 0;
const call = (name: string, args: object): ToolCall => ({
  id: `call_${++ids}`,
  name,
  arguments: JSON.stringify(args),
});

/** The conversation up to the file that has been read. @param name makes it another one */
function opening(name: string): Message[] {
  const { id } = call('read_file', {});
  const read = { id, type: 'function', function: { name: 'read_file', arguments: `{"path":"${name}.ts"}` } };
  return [
    { role: 'user', content: `Change line 300 of ${name}.ts, five times.` },
    { role: 'assistant', content: null, tool_calls: [read] },
    { role: 'tool', tool_call_id: id, content: FILE },
  ];
}

/** Edits the line when it sees it. Otherwise it says so, and fetches it. */
const editor: Behaviour = (request, response, recorded) => {
  const { messages } = deployment.protocol.seen(recorded).body;
  const [ref] = refsIn(messages);
  const sees = JSON.stringify(messages).includes(JSON.stringify(WANTED).slice(1, -1));
  const made = sees
    ? call('edit_file', { line: 300, n: ids })
    : call('retrieve_ref', { ref, lines: '295-305' });
  const words = sees ? {} : { content: 'Let me look at the line first.' };
  void behave({ type: 'answer', ...words, toolCalls: [made] }, request, response, recorded);
};

const sent = (): Message[][] => deployment.chats().map(({ body }) => body.messages);

/** Each request that does not begin with what the one before has sent. */
function brokenPrefixes(): number[] {
  const all = sent().map((messages) => messages.map((one) => JSON.stringify(one)));
  return all.flatMap((messages, at) => {
    const before = all[at - 1] ?? [];
    return before.every((message, index) => message === messages[index]) ? [] : [at];
  });
}

interface Asked {
  readonly message: Message;
  readonly memory: WithMemory['memory'];
}

async function ask(messages: readonly Message[], stream: boolean, more: object = {}): Promise<Asked> {
  const params = {
    model: 'gpt-4.1',
    tools: TOOLS,
    memory_report: true,
    memory_strategy: STRATEGY,
    ...more,
    messages,
  } as unknown as Params;
  if (!stream) {
    const completion: OpenAI.ChatCompletion & WithMemory = await deployment
      .client()
      .chat.completions.create(params);
    return { message: plain(completion.choices[0]?.message), memory: completion.memory };
  }
  const events = deployment.client().chat.completions.stream({ ...params, stream: true });
  let memory: WithMemory['memory'];
  events.on('chunk', (chunk: OpenAI.ChatCompletionChunk & WithMemory) => {
    memory ??= chunk.memory;
  });
  const completion = await events.finalChatCompletion();
  return { message: plain(completion.choices[0]?.message), memory };
}

/** Without what the client has added, which upstreams refuse. */
function plain(message: unknown): Message {
  const text = JSON.stringify(message, (key, value) => (key.startsWith('parsed') ? undefined : value));
  return JSON.parse(text) as Message;
}

/** Asks and appends the answer with the results of its calls, a number of times. */
async function edits(
  messages: Message[],
  count: number,
  stream: boolean,
  more: object = {},
): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (let n = 0; n < count; n++) {
    const answer = await ask(messages, stream, more);
    const made = (answer.message.tool_calls ?? []) as { id: string }[];
    const results = made.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: 'edited' }));
    messages.push(answer.message, ...results);
    asked.push(answer);
  }
  return asked;
}

const FORMS = PROTOCOLS.flatMap((protocol, at) =>
  [false, true].flatMap((stream) =>
    ofTurn(at + Number(stream), [true, false]).map((isNamed) => ({
      form: stream ? 'a stream' : 'a whole answer',
      over: protocol.name,
      whose: isNamed ? 'a named conversation' : 'one without a name',
      protocol,
      stream,
      isNamed,
    })),
  ),
);

describe.each(FORMS)('over $over, in $form, in $whose', ({ protocol, stream, isNamed, over }) => {
  deployment.over(protocol);

  it('five edits of one file need one fetch and six calls of the upstream, each longer than the one before', async () => {
    deployment.upstream.next(...Array.from({ length: 6 }, () => editor));
    const name = `five_${over}_${stream}_${isNamed}`;
    const asked = await edits(opening(name), 5, stream, isNamed ? { conversation_id: name } : {});

    expect(asked.map(({ memory }) => memory?.retrieval?.rounds ?? 0)).toEqual([1, 0, 0, 0, 0]);
    expect(sent()).toHaveLength(6);
    expect(brokenPrefixes()).toEqual([]);
    expect(asked.map(({ memory }) => memory?.kept_rounds?.rounds ?? 0)).toEqual([0, 1, 1, 1, 1]);
    expect(asked.map(({ memory }) => memory?.frontier.moved)).toEqual([false, false, false, false, false]);
    expect(asked.flatMap(({ memory }) => memory?.warnings ?? [])).toEqual([]);
  });
});

describe('kept rounds in a view', () => {
  const json = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await deployment.fetch(path, init);
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  };

  it('are in the explanation, the event, and a receipt that holds', async () => {
    deployment.upstream.next(editor, editor, editor);
    const conversation_id = 'reported';
    const messages = opening('reported');
    await edits(messages, 1, false, { conversation_id });
    const asked = { model: 'gpt-4.1', tools: TOOLS, conversation_id, memory_strategy: STRATEGY, messages };

    const explained = (await json('/v1/explain', asked)) as {
      messages: { index: number; kept_rounds?: object }[];
      memory: { kept_rounds: { tokens: number } };
    };
    const shown = explained.messages.filter(({ kept_rounds }) => kept_rounds);
    const { tokens } = explained.memory.kept_rounds;
    expect(shown).toEqual([expect.objectContaining({ index: 3, kept_rounds: { rounds: 1, tokens } })]);

    const before = [...messages];
    const [reported] = await edits(messages, 1, false, { conversation_id });
    const receipt = reported?.memory?.receipt;
    expect(receipt).toHaveProperty('hashes.rounds');
    const verdict = await json('/v1/verify', { ...asked, messages: before, receipt });
    expect(verdict).toMatchObject({ valid: true });

    let data: unknown[] = [];
    await until('both requests have their events', async () => {
      data = (await json(`/v1/conversations/${conversation_id}/requests`)).data as unknown[];
      return data.length === 2;
    });
    expect(data[0]).toMatchObject({ kept_rounds: [{ message: 3, rounds: 1, tokens }] });
    expect(data[1]).toMatchObject({ kept_rounds: [] });
  });

  it('count in the tokens that an observed request would have sent', async () => {
    deployment.upstream.next(editor, editor, editor);
    const conversation_id = 'observed';
    const messages = opening('observed');
    await edits(messages, 1, false, { conversation_id });
    const before = [...messages];
    const memory_strategy = { ...STRATEGY, observe: true };
    const [observed] = await edits(messages, 1, false, { conversation_id, memory_strategy });
    const [done] = await edits(before, 1, false, { conversation_id });

    expect(done?.memory?.kept_rounds?.rounds).toBe(1);
    expect(observed?.memory?.potential?.tokens).toEqual(done?.memory?.tokens);
    expect(JSON.stringify(sent().at(-2))).not.toContain('retrieve_ref');
  });

  it('are billed as a part of what was sent, and not of what the array would have cost', async () => {
    deployment.upstream.next(editor, editor, editor);
    const conversation_id = 'billed';
    await edits(opening('billed'), 2, false, { conversation_id });
    let data: RunEvent[] = [];
    await until('both requests have their events', async () => {
      data = (await json(`/v1/conversations/${conversation_id}/requests`)).data as RunEvent[];
      return data.length === 2;
    });
    const { bill, tokens, usage, kept_rounds: [kept] = [] } = data[0] as RunEvent;
    const inputOf = ({ fresh = 0, cached = 0, written = 0 } = {}) => fresh + cached + written;
    // Precis's tools are in both counts of the view, and in no array of the caller's.
    const scale = (usage?.input ?? 0) / (tokens?.after ?? 1);
    expect(kept?.tokens).toBeGreaterThan(100);
    expect(inputOf(bill?.sent ?? {})).toBe(usage?.input);
    expect(inputOf(bill?.would_be ?? {})).toBeLessThan((tokens?.before ?? 0) * scale);
  });

  it('answer a call that is repeated, without storage', async () => {
    const again: Behaviour = (request, response, recorded) => {
      const [ref] = refsIn(deployment.protocol.seen(recorded).body.messages);
      const toolCalls = [call('retrieve_ref', { ref, lines: '295-305' })];
      void behave({ type: 'answer', toolCalls }, request, response, recorded);
    };
    deployment.upstream.next(editor, editor, again, editor);
    const messages = opening('again');
    await edits(messages, 2, false, { conversation_id: 'again' });
    const results = sent().map((all) => all.filter(({ role }) => role === 'tool'));
    const fetched = results[1]?.at(-1)?.content;
    expect(fetched).toContain(WANTED);
    expect(results[3]?.at(-1)?.content).toBe(fetched);
  });

  it('are none where the upstream holds the conversation', async () => {
    const held = { model: 'gpt-4.1', tools: [], input: 'On.', previous_response_id: 'resp_1' };
    await json('/v1/responses', { ...held, conversation_id: 'reported', memory_strategy: STRATEGY });
    expect(JSON.stringify(deployment.upstream.requests.at(-1)?.body)).not.toContain('retrieve_ref');
  });

  it('are none of the view that a caller takes', async () => {
    deployment.upstream.next(editor, editor);
    const messages = opening('taken');
    await edits(messages, 1, false, { conversation_id: 'taken' });
    const body = { model: 'gpt-4.1', tools: TOOLS, messages, conversation_id: 'taken' };
    const compacted = await json('/v1/compact', { ...body, memory_strategy: STRATEGY });
    expect(JSON.stringify(compacted.messages)).not.toContain('retrieve_ref');
  });
});

describe('a count of input tokens', () => {
  deployment.over(RESPONSES);

  it('is of the view with kept rounds', async () => {
    deployment.upstream.next(editor, editor);
    const conversation_id = 'counted';
    const messages = opening('counted');
    await edits(messages, 1, false, { conversation_id });
    const asked = { model: 'gpt-4.1', tools: TOOLS, conversation_id, memory_strategy: STRATEGY, messages };
    const response = await deployment.postTo('/v1/responses/input_tokens', RESPONSES.body(asked));
    expect(response.status).toBe(200);
    const counted = deployment.upstream.requests.at(-1);
    deployment.upstream.next(editor);
    await edits(messages, 1, false, { conversation_id });
    const created = deployment.upstream.requests.at(-1);
    expect(JSON.stringify(counted?.body)).toContain('"name":"retrieve_ref","arguments"');
    expect([counted?.body?.input, counted?.body?.tools]).toEqual([
      created?.body?.input,
      created?.body?.tools,
    ]);
  });
});
