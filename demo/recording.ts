/** The recorded conversation that the demo plays: an on-call agent finds out why orders fail at a shop. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatCompletionFunctionTool } from 'openai/resources/chat/completions';

export interface Call {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export type Message =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls?: Call[] }
  | { role: 'tool'; content: string; tool_call_id: string };

export interface Recording {
  model: string;
  tools: ChatCompletionFunctionTool[];
  messages: Message[];
}

const FILE = join(import.meta.dirname, 'conversation.json');

export const recording: Recording = JSON.parse(readFileSync(FILE, 'utf8'));

/** What the tool printed. The ids of the recording are all different. */
export function outputOf(callId: string): string {
  const found = recording.messages.find(
    (message) => message.role === 'tool' && message.tool_call_id === callId,
  );
  if (!found?.content) throw new Error(`The recording has no output for call ${callId}.`);
  return found.content;
}

/** What the last question asks for: a trace id, which one early tool output and no other message holds. */
export function askedLiteral(): { literal: string; callId: string; toolName: string } {
  const literal = /\b[0-9a-f]{32}\b/.exec(recording.messages.at(-1)?.content ?? '')?.[0];
  for (const message of recording.messages) {
    if (literal && message.role === 'tool' && message.content.includes(literal)) {
      return { literal, callId: message.tool_call_id, toolName: toolNameOf(message.tool_call_id) };
    }
  }
  throw new Error('The recording does not end with a trace id that one of its tool outputs holds.');
}

function toolNameOf(callId: string): string {
  for (const message of recording.messages) {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const call = calls.find((each) => each.id === callId);
    if (call) return call.function.name;
  }
  throw new Error(`The recording has no call ${callId}.`);
}
