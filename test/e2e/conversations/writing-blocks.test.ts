import type OpenAI from 'openai';
import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { ToolCall } from '../../../tools/upstream/completion.ts';
import { rows, tools } from '../../support/clients/agent-run.ts';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: { jsonArguments: true } } });

type Message = Record<string, unknown>;

let made = 0;
/** A label that no other test has. */
const newLabel = (): string => `label-${++made}`;

const put = (label: string, text: string): Promise<Response> =>
  deployment.fetch(`/v1/blocks/${label}`, { method: 'PUT', body: JSON.stringify({ text }) });
const blockOf = async (label: string): Promise<Message> =>
  (await (await deployment.fetch(`/v1/blocks/${label}`)).json()) as Message;

const messages = [system('You help.'), user('My name is Ann.')];

let calls = 0;
const call = (name: string, args: object | string): ToolCall => ({
  id: `call_model_${++calls}`,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});
const append = (label: string, content: string) => call('core_memory_append', { label, content });
const replace = (label: string, old_content: string, new_content: string) =>
  call('core_memory_replace', { label, old_content, new_content });

interface Seen {
  readonly message: OpenAI.ChatCompletionMessage;
  readonly memory: Report | undefined;
}

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

const paramsOf = (label: string, more: object): Params =>
  ({
    model: 'gpt-4.1',
    memory_report: true,
    memory_blocks: { labels: [label], writable: true },
    messages,
    ...more,
  }) as unknown as Params;

async function askWhole(label: string, more: object = {}): Promise<Seen> {
  const completion: OpenAI.ChatCompletion & WithMemory = await deployment
    .client()
    .chat.completions.create(paramsOf(label, more));
  const message = completion.choices[0]?.message;
  if (!message) throw new Error('an answer without a choice');
  return { message, memory: completion.memory };
}

async function askStream(label: string, more: object = {}): Promise<Seen> {
  const stream = deployment.client().chat.completions.stream({ ...paramsOf(label, more), stream: true });
  let memory: Report | undefined;
  stream.on('chunk', (chunk: OpenAI.ChatCompletionChunk & WithMemory) => {
    memory ??= chunk.memory;
  });
  const { choices } = await stream.finalChatCompletion();
  const message = choices[0]?.message;
  if (!message) throw new Error('a stream without a choice');
  return { message, memory };
}

/** The results in the model's last request, in order. */
const results = (): string[] =>
  (deployment.lastChat().body.messages as Message[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content));
const toolNames = (body: Message): unknown[] =>
  ((body.tools ?? []) as { name?: string; function?: { name: string } }[]).map(
    (tool) => tool.function?.name ?? tool.name,
  );

const FORMS = PROTOCOLS.flatMap((protocol) => [
  { form: 'a whole answer', over: protocol.name, ask: askWhole, protocol },
  { form: 'a stream', over: protocol.name, ask: askStream, protocol },
]);

inTurn(
  FORMS,
  ({ form, over }) => `in ${form}, over ${over}, a model`,
  ({ ask, protocol }) => {
    deployment.over(protocol);

    it('appends to a block, and the caller sees nothing of it', async () => {
      const label = newLabel();
      await put(label, 'The team is small.');
      deployment.upstream.next(
        { type: 'answer', content: 'Hello ', toolCalls: [append(label, 'The user is Ann.')] },
        { type: 'answer', content: 'Ann!' },
      );

      const { message, memory } = await ask(label);

      expect(message.content).toBe('Hello Ann!');
      expect(message.tool_calls ?? []).toEqual([]);
      expect(await blockOf(label)).toMatchObject({
        version: 2,
        text: 'The team is small.\nThe user is Ann.',
      });
      expect(results()).toEqual([
        `Written: ${label} has version 2.\n<memory_block label="${label}" version="2">\nThe team is small.\nThe user is Ann.\n</memory_block>`,
      ]);
      expect(memory).toMatchObject({
        mode: 'none',
        memory_blocks: { blocks: [{ label, version: 1 }], written: [{ label, version: 2 }] },
        retrieval: { rounds: 1, refs: [] },
      });
    });

    it('creates a block, and replaces in it, in the order of its calls', async () => {
      const label = newLabel();
      deployment.upstream.next(
        {
          type: 'answer',
          toolCalls: [
            append(label, 'Name: Ann'),
            append(label, 'City: $& Rome'),
            replace(label, 'Rome', 'Oslo'),
            replace(label, 'Name: Ann\n', ''),
          ],
        },
        { type: 'answer', content: 'Noted.' },
      );

      const { message, memory } = await ask(label);

      expect(message.content).toBe('Noted.');
      expect(await blockOf(label)).toMatchObject({ version: 4, text: 'City: $& Oslo' });
      expect(memory?.memory_blocks?.written).toEqual([{ label, version: 4 }]);
    });

    it('learns in words what can’t be written', async () => {
      const label = newLabel();
      const other = newLabel();
      await put(label, 'x'.repeat(4_990));
      await put(other, 'Not yours.');
      deployment.upstream.next(
        {
          type: 'answer',
          toolCalls: [
            append(other, 'Mine.'),
            append(label, 'more than fits'),
            replace(label, 'nowhere', 'here'),
            call('core_memory_append', '{"label":1}'),
          ],
        },
        { type: 'answer', content: 'Sorry.' },
      );

      const { message, memory } = await ask(label);

      expect(message.content).toBe('Sorry.');
      expect(results()).toEqual([
        expect.stringContaining(`There is no memory block "${other}" that you may write.`),
        expect.stringContaining('would have 5005 characters, and may have 5000'),
        expect.stringContaining('is not in'),
        expect.stringContaining('label is not valid'),
      ]);
      expect(await blockOf(other)).toMatchObject({ version: 1, text: 'Not yours.' });
      expect(await blockOf(label)).toMatchObject({ version: 1 });
      expect(memory?.memory_blocks).not.toHaveProperty('written');
    });

    it('changes nothing that its view shows, before the frontier moves', async () => {
      const label = newLabel();
      const conversation = { conversation_id: label };
      await put(label, 'One.');
      deployment.upstream.next(
        { type: 'answer', toolCalls: [append(label, 'Two.')] },
        { type: 'answer', content: 'Noted.' },
      );
      await ask(label, conversation);
      const [first] = deployment.chats();
      const more = [...messages, assistant('Noted.'), user('Go on.')];
      // It no longer sees that call, and notes the same once again.
      deployment.upstream.next(
        { type: 'answer', toolCalls: [append(label, 'Two.')] },
        { type: 'answer', content: 'Noted.' },
      );

      const { memory } = await ask(label, { ...conversation, messages: more });

      const second = deployment.chats()[2];
      const before: Message[] = first?.body.messages;
      const after: Message[] = second?.body.messages;
      expect(after.slice(0, before.length)).toEqual(before);
      expect(JSON.stringify(second?.body.tools)).toBe(JSON.stringify(first?.body.tools));
      expect(await blockOf(label)).toMatchObject({ version: 2, text: 'One.\nTwo.' });
      expect(memory?.memory_blocks).not.toHaveProperty('written');
      const refreshed = await ask(label, {
        ...conversation,
        messages: more,
        memory_blocks: { labels: [label], refresh: true },
      });
      expect(refreshed.memory?.memory_blocks?.blocks).toMatchObject([{ label, version: 2 }]);
    });

    it('may ask three times, and is then left with the caller’s tools', async () => {
      const label = newLabel();
      const turns = [1, 2, 3, 4].map((n) => ({
        type: 'answer' as const,
        content: `${n} `,
        toolCalls: [append(label, `Note ${n}`)],
      }));
      deployment.upstream.next(...turns);

      const { message, memory } = await ask(label);

      expect(message.content).toBe('1 2 3 4 ');
      expect(message.tool_calls ?? []).toEqual([]);
      expect(memory?.retrieval?.rounds).toBe(3);
      expect(await blockOf(label)).toMatchObject({ version: 3 });
    });

    it('has these tools beside those that fetch', async () => {
      const label = newLabel();
      const fetching = {
        tools,
        memory_strategy: {
          mode: 'compact',
          compact_trigger_turns: 0,
          compact_keep: 0,
          compact_retrieval: 'tool',
        },
      };
      const step = { id: 'call_a', type: 'function', function: { name: 'search', arguments: '{}' } };
      const talk = [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [step] },
        result('call_a', rows('apples', 40)),
        assistant('A lot.'),
        user('Note it.'),
      ];
      deployment.upstream.next(
        { type: 'answer', toolCalls: [append(label, 'A lot.')] },
        { type: 'answer', content: 'Noted.' },
      );

      const { message, memory } = await ask(label, { ...fetching, messages: talk });

      expect(message.content).toBe('Noted.');
      expect(toolNames(deployment.lastChat().body).slice(-3)).toEqual([
        'retrieve_ref',
        'core_memory_append',
        'core_memory_replace',
      ]);
      expect(await blockOf(label)).toMatchObject({ text: 'A lot.' });
      expect(memory).toMatchObject({ mode: 'compact', memory_blocks: { written: [{ label, version: 1 }] } });
    });
  },
);

overProtocols('the tools that write memory blocks', deployment, () => {
  it('are not offered where the caller does not say so', async () => {
    const label = newLabel();
    await askWhole(label, { memory_blocks: [label] });

    expect(deployment.lastChat().body).not.toHaveProperty('tools');
  });

  it('avoid the names of the caller’s tools', async () => {
    const label = newLabel();
    const own = {
      type: 'function',
      function: { name: 'core_memory_append', parameters: { type: 'object', properties: {} } },
    };
    deployment.upstream.next(
      { type: 'answer', toolCalls: [call('precis_core_memory_append', { label, content: 'Ours.' })] },
      { type: 'answer', toolCalls: [call('core_memory_append', '{}')] },
    );

    const { message } = await askWhole(label, { tools: [own] });

    expect(message.tool_calls).toMatchObject([{ function: { name: 'core_memory_append' } }]);
    expect(await blockOf(label)).toMatchObject({ text: 'Ours.' });
  });

  it('are off, with a warning, where the request can’t have them', async () => {
    const label = newLabel();
    const many = Array.from({ length: 127 }, (_, n) => ({
      type: 'function',
      function: { name: `t${n}`, parameters: { type: 'object', properties: {} } },
    }));

    const { memory } = await askWhole(label, { tools: many });

    expect(memory?.warnings).toEqual(['retrieval_off']);
    expect(memory?.memory_blocks?.blocks).toMatchObject([{ label }]);
    expect((deployment.lastChat().body.tools as unknown[]).length).toBe(127);
  });

  it('go with a memory that is made in the background', async () => {
    const label = newLabel();
    deployment.upstream.next(
      { type: 'answer', content: 'Well, ', toolCalls: [append(label, 'Rolling.')] },
      { type: 'answer', content: 'noted.' },
    );

    const { message, memory } = await askWhole(label, {
      conversation_id: label,
      memory_strategy: { mode: 'rolling_summary' },
    });

    expect(message.content).toBe('Well, noted.');
    expect(memory).toMatchObject({ mode: 'rolling_summary', warnings: [] });
    expect(await blockOf(label)).toMatchObject({ text: 'Rolling.' });
  });
});
