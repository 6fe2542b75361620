/** Chat clients of Claude, over Anthropic's Messages. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { FORMS, inTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;
type Message = { role: string } & Json;

const MODEL = 'claude-sonnet-5-5';
const TOOLS = [
  {
    type: 'function',
    function: { name: 'look', parameters: { type: 'object', properties: { at: { type: 'number' } } } },
  },
];

const SYSTEM = 'You look at things. '.repeat(300);

interface ChatUsage {
  prompt_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

let made = 0;
const deployment = deployMessages({
  refuses: true,
  upstream: {
    thinks: true,
    messages: {
      type: 'model',
      answer: ({ messages }) => {
        const last = JSON.stringify((messages as Json[]).at(-1));
        if (last.includes('How far')) return { content: 'So far.' };
        return {
          content: `I look, ${++made}.`,
          toolCalls: [{ id: `toolu_${made}`, name: 'look', arguments: '{"at": 1}' }],
        };
      },
    },
  },
});

const client = () => new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey: MESSAGES_KEY, maxRetries: 0 });

async function ask(messages: readonly Message[], more: Json = {}) {
  const { stream = false, ...fields } = more;
  const params = {
    ...{ model: MODEL, tools: TOOLS, memory_report: true, reasoning_effort: 'high' },
    memory_strategy: { mode: 'auto', upstream_api: 'messages' },
    conversation_id: 'a-loop',
    ...{ ...fields, messages },
  } as never;
  if (!stream) {
    const completion = (await client().chat.completions.create(params)) as unknown as WithMemory & {
      choices: { message: Message; finish_reason: string }[];
      usage: ChatUsage;
    };
    return { ...completion.choices[0], usage: completion.usage, memory: completion.memory as Report };
  }
  const reports: Report[] = [];
  const streamed = client().chat.completions.stream(params);
  streamed.on('chunk', (chunk) => {
    const { memory } = chunk as unknown as Partial<WithMemory>;
    if (memory) reports.push(memory as Report);
  });
  const { choices, usage } = (await streamed.finalChatCompletion()) as unknown as {
    choices: { message: Message; finish_reason: string }[];
    usage: ChatUsage;
  };
  return { ...choices[0], usage, memory: reports.at(-1) as Report };
}

/** What a client that knows nothing of thinking sends back. */
const back = ({ content, tool_calls }: Message): Message => ({
  role: 'assistant',
  content: content ?? null,
  ...(tool_calls ? { tool_calls } : {}),
});

const thinkingIn = (body: Json): number =>
  ((body.messages as Json[]) ?? [])
    .flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []))
    .filter(({ type }) => type === 'thinking').length;

async function loop(steps: number, more: Json = {}) {
  const messages: Message[] = [system(SYSTEM), user(`Look. ${JSON.stringify(more)}`)];
  const reports: Report[] = [];
  const usages: ChatUsage[] = [];
  for (let step = 0; step < steps; step++) {
    const { message, memory, usage } = await ask(messages, more);
    reports.push(memory);
    usages.push(usage);
    if (!message) throw new Error('no message');
    messages.push(back(message));
    for (const { id } of (message.tool_calls ?? []) as { id: string }[])
      messages.push(result(id, `seen ${step}`));
  }
  return { messages, reports, usages };
}

/** Of a tool loop. */
const STEPS = 30;

inTurn(
  FORMS,
  ({ form }) => `chat over Messages, ${form}`,
  ({ fields: more }) => {
    it('keeps the thinking of each answer of a tool loop', async () => {
      const { messages, reports } = await loop(STEPS, more);
      const { message, finish_reason, usage, memory } = await ask([...messages, user('How far?')], more);

      expect(message).toMatchObject(assistant('So far.'));
      expect(finish_reason).toBe('stop');
      expect(usage?.prompt_tokens).toBeGreaterThan(0);
      expect(memory.upstream_api).toMatchObject({ api: 'messages', because: 'setting', kept_answers: STEPS });
      expect(reports.map(({ upstream_api }) => upstream_api?.kept_answers ?? 0)).toEqual(
        Array.from({ length: STEPS }, (__, step) => step),
      );
      const last = deployment.upstream.messages().at(-1);
      expect(thinkingIn(last?.body as Json)).toBe(STEPS);
      expect(last?.headers).toMatchObject({ 'x-api-key': MESSAGES_KEY, 'anthropic-version': '2023-06-01' });
      expect(last?.headers).not.toHaveProperty('authorization');
      // The upstream refuses thinking on another prefix.
      expect(deployment.upstream.refusals).toEqual([]);
      expect(deployment.openai.requests.filter(({ path }) => path.includes('completions'))).toEqual([]);
    });

    it('sends an answer that was edited in the plain form, and no later one with its thinking', async () => {
      const { messages } = await loop(4, { ...more, user: 'edits' });
      const edited = messages.map((message, index) =>
        index === 2 ? assistant('I have looked myself.') : message,
      );
      const rest = edited.filter((__, index) => index !== 3);
      const { message } = await ask([...rest, user('How far?')], {
        ...more,
        user: 'edits',
      });

      expect(message?.content).toBe('So far.');
      expect(thinkingIn(deployment.upstream.messages().at(-1)?.body as Json)).toBe(0);
    });
  },
);

/** The share of all input but the first that was read from the cache. */
function shareOf(usages: readonly { readonly read: number; readonly all: number }[]): number {
  const sum = (of: 'read' | 'all') => usages.slice(1).reduce((total, usage) => total + usage[of], 0);
  return sum('read') / sum('all');
}

describe('chat over Messages', () => {
  it('reads as much of its cache as a native client in the same loop', async () => {
    const { usages } = await loop(12, { user: 'billed' });
    const bridged = usages.map(({ prompt_tokens: all, prompt_tokens_details: { cached_tokens: read } }) => ({
      read,
      all,
    }));
    const messages: Json[] = [user('Look. {"user":"billed"}')];
    const tools = TOOLS.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters }));
    const native: typeof bridged = [];
    for (let step = 0; step < 12; step++) {
      const { message } = await deployment.ask({
        ...{ model: MODEL, max_tokens: 4_000, tools, system: SYSTEM, messages, memory_strategy: 'auto' },
        ...{ thinking: { type: 'adaptive' }, conversation_id: 'a-native-loop' },
      });
      const {
        input_tokens,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
      } = message.usage;
      native.push({ read, all: input_tokens + read + written });
      const called = (message.content as Json[]).filter(({ type }) => type === 'tool_use');
      const results = called.map(({ id }) => ({
        ...{ type: 'tool_result', tool_use_id: id, content: `seen ${step}` },
      }));
      messages.push(assistant(message.content), user(results));
    }
    expect(shareOf(bridged)).toBeGreaterThan(0.5);
    expect(shareOf(bridged)).toBeGreaterThan(shareOf(native) - 0.01);
  });

  it.each([
    [{ mode: 'auto' }, true],
    [{ mode: 'none' }, true],
    [{ mode: 'auto', cache_marks: 'callers' }, false],
    [{ mode: 'auto', cache_marks: 'off' }, false],
  ])(
    'marks what the prompt cache keeps, unless the strategy leaves that to the caller: %j',
    async (chosen, marks) => {
      const memory_strategy = { ...chosen, upstream_api: 'messages' };
      await ask([system(SYSTEM), user(`How far? ${JSON.stringify(chosen)}`)], { memory_strategy });
      const body = JSON.stringify(deployment.upstream.messages().at(-1)?.body);
      expect(body.includes('cache_control')).toBe(marks);
    },
  );

  it("gives an error of the upstream in OpenAI's form, with its words", async () => {
    const message = 'This request would exceed your account’s rate limit.';
    deployment.upstream.next({
      type: 'error',
      status: 429,
      body: { type: 'error', error: { type: 'rate_limit_error', message } },
    });
    await expect(ask([user('Look.')])).rejects.toMatchObject({
      status: 429,
      error: { message },
    });
  });

  it('refuses what Messages does not have, and leaves on chat what cannot be sent over it', async () => {
    const asked = [user('Look.')];
    await expect(ask(asked, { logprobs: true })).rejects.toMatchObject({ status: 400, param: 'logprobs' });
    await ask(asked, { n: 2 }).catch(() => undefined);
    expect(deployment.openai.requests.some(({ path }) => path.endsWith('/chat/completions'))).toBe(true);
  });
});
