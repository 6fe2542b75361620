/** Clients of chat completions with their own loops, which call a tool until the model stops. */

import { createOpenAI } from '@ai-sdk/openai';
import { type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { generateText, jsonSchema, stepCountIs, streamText, tool as toolOf } from 'ai';
import OpenAI from 'openai';

setTracingDisabled(true);

const INSTRUCTIONS = 'You look around.';
const LOOK = 'look';
const PARAMETERS = {
  type: 'object' as const,
  properties: { at: { type: 'number' as const } },
  required: ['at'],
  additionalProperties: false as const,
};

/** A client's target, and what its tool says. */
export interface ChatSetting {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly headers: Record<string, string>;
  readonly model: string;
  readonly task: string;
  readonly stream: boolean;
  look(at: number): string;
}

/** Runs a client's loop until the model calls no more tools. Returns the final text. */
export type ChatLoop = (setting: ChatSetting) => Promise<string>;

const MOST_STEPS = 40;

const openAi: ChatLoop = async ({ baseURL, apiKey, headers, model, task, stream, look }) => {
  const { completions } = new OpenAI({ apiKey, maxRetries: 0, baseURL, defaultHeaders: headers }).chat;
  const called = {
    ...{ name: LOOK, description: 'Looks.', parameters: PARAMETERS, parse: JSON.parse },
    function: ({ at }: { at: number }) => look(at),
  };
  const asked = {
    model,
    messages: [
      { role: 'system' as const, content: INSTRUCTIONS },
      { role: 'user' as const, content: task },
    ],
    tools: [{ type: 'function' as const, function: called }],
  };
  const options = { maxChatCompletions: MOST_STEPS };
  const runner = stream
    ? completions.runTools({ ...asked, stream }, options)
    : completions.runTools(asked, options);
  return (await runner.finalContent()) ?? '';
};

const aiSdk: ChatLoop = async ({ baseURL, apiKey, headers, model, task, stream, look }) => {
  const options = {
    model: createOpenAI({ apiKey, baseURL, headers }).chat(model),
    system: INSTRUCTIONS,
    prompt: task,
    maxRetries: 0,
    stopWhen: stepCountIs(MOST_STEPS),
    tools: {
      [LOOK]: toolOf({
        description: 'Looks.',
        inputSchema: jsonSchema<{ at: number }>(PARAMETERS),
        execute: ({ at }) => look(at),
      }),
    },
  };
  if (!stream) return (await generateText(options)).text;
  let said = '';
  for await (const part of streamText(options).fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'start-step') said = '';
    if (part.type === 'text-delta') said += part.text;
  }
  return said;
};

const agents: ChatLoop = async ({ baseURL, apiKey, headers, model, task, stream, look }) => {
  const openAIClient = new OpenAI({ apiKey, maxRetries: 0, baseURL, defaultHeaders: headers });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: false });
  const execute = (given: unknown) => look((given as { at: number }).at);
  const tools = [tool({ name: LOOK, description: 'Looks.', parameters: PARAMETERS, strict: true, execute })];
  const agent = new Agent({ name: 'Looker', instructions: INSTRUCTIONS, model, tools });
  const runner = new Runner({ modelProvider });
  const options = { maxTurns: MOST_STEPS };
  if (!stream) return String((await runner.run(agent, task, options)).finalOutput);
  const streamed = await runner.run(agent, task, { ...options, stream: true });
  await streamed.completed;
  return String(streamed.finalOutput);
};

const langChain: ChatLoop = async ({ baseURL, apiKey, headers, model, task, stream, look }) => {
  const configuration = { baseURL, defaultHeaders: headers };
  const chat = new ChatOpenAI({ model, apiKey, maxRetries: 0, useResponsesApi: false, configuration });
  const looker = chat.bindTools([{ type: 'function', function: { name: LOOK, parameters: PARAMETERS } }]);
  const messages: BaseMessage[] = [new SystemMessage(INSTRUCTIONS), new HumanMessage(task)];
  for (;;) {
    const answer = stream ? await joined(await looker.stream(messages)) : await looker.invoke(messages);
    messages.push(answer);
    if (!answer.tool_calls?.length) return answer.text;
    for (const { id = '', args } of answer.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: id, content: look(Number(args.at)) }));
  }
};

async function joined<Chunk extends { concat(other: Chunk): Chunk }>(
  chunks: AsyncIterable<Chunk>,
): Promise<Chunk> {
  let whole: Chunk | undefined;
  for await (const chunk of chunks) whole = whole ? whole.concat(chunk) : chunk;
  if (!whole) throw new Error('the stream was empty');
  return whole;
}

export const CHAT_LOOPS: readonly (readonly [name: string, loop: ChatLoop])[] = [
  ['openai', openAi],
  ['@ai-sdk/openai', aiSdk],
  ['@openai/agents', agents],
  ['@langchain/openai', langChain],
];
