/** Clients of the Responses API with their own loops, which call a tool until the model stops. */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIProvider, Runner, type Session, setTracingDisabled, tool } from '@openai/agents';
import { generateText, jsonSchema, stepCountIs, streamText, tool as toolOf } from 'ai';
import OpenAI from 'openai';
import { expect } from 'vitest';
import { KEY } from '../deployment/deployment.ts';
import { type Arguments, chapter, READ_CHAPTER } from './reading-model.ts';

setTracingDisabled(true);

export const MODEL = 'gpt-5-mini';
export const TASK = 'Read the book and tell me the words.';
const INSTRUCTIONS = 'You read books. Never skip a chapter.';
const DESCRIPTION = 'Reads one chapter of the book.';
const PARAMETERS = {
  type: 'object' as const,
  properties: { number: { type: 'number' as const } },
  required: ['number'],
  additionalProperties: false as const,
};

/** A client's target, and the book that its tool reads. */
export interface Setting {
  readonly baseURL: string;
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
  readonly book: string;
  readonly stream: boolean;
}

/** Runs a client's loop until the model calls no more tools. Returns the final text. */
export type Loop = (setting: Setting) => Promise<string>;

export const openaiClient = ({ baseURL, headers, fetch }: Omit<Setting, 'book' | 'stream'>) =>
  new OpenAI({ apiKey: KEY, maxRetries: 0, baseURL, defaultHeaders: headers, fetch });

/** The `openai` client has no loop; this one follows its documentation. */
export const openaiLoop =
  (tools: OpenAI.Responses.Tool[]): Loop =>
  ({ book, stream, ...setting }) =>
    answerRound(openaiClient(setting), [{ role: 'user', content: TASK }], { book, stream, tools });

/** Appends everything from one question to the input, and returns the answer. */
export async function answerRound(
  client: OpenAI,
  input: OpenAI.Responses.ResponseInput,
  { book, stream, tools }: { book: string; stream: boolean; tools: OpenAI.Responses.Tool[] },
): Promise<string> {
  for (;;) {
    const params = {
      model: MODEL,
      instructions: INSTRUCTIONS,
      input,
      tools,
      store: false,
      include: ['reasoning.encrypted_content' as const],
    };
    const { output, output_text } = stream
      ? await client.responses.stream(params).finalResponse()
      : await client.responses.create(params);
    input.push(...output.map(withoutParsed));
    const calls = output.flatMap((item) => callIn(item) ?? []);
    if (calls.length === 0) return output_text;
    for (const { type, call_id, text } of calls) {
      const { number }: Arguments = JSON.parse(text);
      input.push({ type, call_id, output: chapter(book, number) });
    }
  }
}

/** The call in an item: its arguments, and its result's type. */
function callIn(item: OpenAI.Responses.ResponseOutputItem) {
  const { call_id } = item as { call_id: string };
  if (item.type === 'function_call')
    return { type: 'function_call_output' as const, call_id, text: item.arguments };
  if (item.type !== 'custom_tool_call') return undefined;
  return { type: 'custom_tool_call_output' as const, call_id, text: item.input };
}

/** `stream()` adds parsed fields, which OpenAI's API refuses. */
function withoutParsed(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  return JSON.parse(
    JSON.stringify(item, (key, value) => (/^parsed(_arguments)?$/.test(key) ? undefined : value)),
  );
}

const UNSTORED = { store: false, providerData: { include: ['reasoning.encrypted_content'] } };

/** @param store the user's setting; without one, the upstream stores */
export const agentsLoop =
  (store?: boolean): Loop =>
  (setting) =>
    askAgent(readerOf(setting.book, store), TASK, setting);

/** An agent of @openai/agents. */
export const readerOf = (book: string, store?: boolean) =>
  new Agent({
    name: 'Reader',
    instructions: INSTRUCTIONS,
    model: MODEL,
    modelSettings: store === false ? UNSTORED : {},
    tools: [
      tool({
        name: READ_CHAPTER,
        description: DESCRIPTION,
        parameters: PARAMETERS,
        strict: true,
        execute: (given) => chapter(book, (given as Arguments).number),
      }),
    ],
  });

/** Runs an agent until it has answered. @param session its memory of earlier runs */
export async function askAgent(
  agent: ReturnType<typeof readerOf>,
  question: string,
  setting: Setting,
  session?: Session,
): Promise<string> {
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openaiClient(setting) }) });
  const options = { maxTurns: 30, ...(session ? { session } : {}) };
  if (!setting.stream) return String((await runner.run(agent, question, options)).finalOutput);
  const streamed = await runner.run(agent, question, { ...options, stream: true });
  let said = '';
  for await (const text of streamed.toTextStream()) said += text;
  await streamed.completed;
  expect(said).toBe(streamed.finalOutput);
  return said;
}

export const aiSdkLoop =
  (store?: boolean): Loop =>
  async ({ book, stream, baseURL, headers, fetch }) => {
    const openai = createOpenAI({ apiKey: KEY, baseURL, headers, fetch });
    const options = {
      model: openai(MODEL),
      system: INSTRUCTIONS,
      prompt: TASK,
      maxRetries: 0,
      stopWhen: stepCountIs(30),
      providerOptions: { openai: store === undefined ? {} : { store } },
      tools: {
        [READ_CHAPTER]: toolOf({
          description: DESCRIPTION,
          inputSchema: jsonSchema<Arguments>(PARAMETERS),
          execute: ({ number }) => chapter(book, number),
        }),
      },
    };
    if (!stream) return (await generateText(options)).text;
    let said = '';
    for await (const part of streamText(options).fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') said += part.text;
    }
    return said;
  };

export const FUNCTION: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: READ_CHAPTER,
  description: DESCRIPTION,
  strict: true,
  parameters: PARAMETERS,
};
