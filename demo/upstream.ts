/**
 * The demo's model, which plays the recorded agent. It validates requests as OpenAI's API would,
 * finds its place by the last message, and gives the next recorded answer. Only the last question
 * is answered from the messages that it sees.
 */

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { askedLiteral, type Message, recording } from '../fixtures/recording.ts';
import { sendAnswer } from '../tools/upstream/behaviours.ts';
import { type Answer, usageOf } from '../tools/upstream/completion.ts';
import { startUpstream } from '../tools/upstream/upstream.ts';

export interface SeenRequest {
  messages: number;
  promptTokens: number;
  stream: boolean;
}

export interface DemoUpstream {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  /** Every valid chat completion request, in order. */
  seen: SeenRequest[];
  close(): Promise<void>;
}

interface ChatBody {
  model: string;
  messages: Message[];
  tools?: object[];
  stream?: boolean;
}

export async function startDemoUpstream(): Promise<DemoUpstream> {
  const seen: SeenRequest[] = [];
  const upstream = await startUpstream({
    strict: { jsonArguments: true },
    chat: (_request, response, { body }) => {
      const answer = answerTo(body);
      const promptTokens = promptTokensOf(body);
      seen.push({ messages: body.messages.length, promptTokens, stream: body.stream === true });
      sendAnswer(response, body, answer, {
        id: `chatcmpl-demo-${seen.length}`,
        model: body.model,
        usage: usageOf(promptTokens, tokens(JSON.stringify(answer))),
      });
    },
  });
  return { url: upstream.url, seen, close: upstream.close };
}

function answerTo({ messages }: ChatBody): Answer {
  const at = placeOf(messages.at(-1));
  const next = recording.messages[at + 1];
  if (at < 0 || next?.role !== 'assistant') return { content: 'This is not in my recording.' };
  if (at + 2 === recording.messages.length) return answerFromView(messages);
  return {
    ...(next.content !== null && { content: next.content }),
    ...(next.tool_calls && { toolCalls: next.tool_calls.map((call) => ({ id: call.id, ...call.function })) }),
  };
}

/** The index of the last message in the recording; -1 if it is not in it. */
function placeOf(last: Message | undefined): number {
  return recording.messages.findIndex((message) => {
    if (message.role === 'tool') return last?.role === 'tool' && last.tool_call_id === message.tool_call_id;
    return message.role === 'user' && last?.role === 'user' && textOf(last).endsWith(message.content);
  });
}

function answerFromView(messages: Message[]): Answer {
  const { literal, callId, toolName } = askedLiteral();
  if (messages.some((message) => textOf(message).includes(literal))) {
    return { content: recording.messages.at(-1)?.content ?? literal };
  }
  const removed = messages.find((message) => message.role === 'tool' && message.tool_call_id === callId);
  const ref = removed && /\bref=(ref_[a-z2-7]{26})/.exec(textOf(removed))?.[1];
  const where = ref ? `It is kept as ${ref}.` : 'It is kept under no name that I can see.';
  return {
    content: `The output of ${toolName} (${callId}) that held it has been removed from my context. ${where}`,
  };
}

/** As OpenAI counts: three tokens around every message, and three before the answer. */
function promptTokensOf({ messages, tools = [] }: ChatBody): number {
  let sum = 3;
  for (const message of messages) {
    sum += 3 + tokens(textOf(message));
    for (const call of message.role === 'assistant' ? (message.tool_calls ?? []) : []) {
      sum += 3 + tokens(call.function.name) + tokens(call.function.arguments);
    }
  }
  for (const tool of tools) sum += tokens(JSON.stringify(tool));
  return sum;
}

function tokens(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

/** Content may be an array of parts; only text counts here. */
function textOf({ content }: { content: Message['content'] | { text?: string }[] }): string {
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('\n');
  return content ?? '';
}
