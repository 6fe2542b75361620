/**
 * `pruneMessages` of the package `ai` itself, with the values of its documented example
 * (https://ai-sdk.dev/docs/reference/ai-sdk-ui/prune-messages). The array is translated into its
 * messages, in which one message holds all results of a step, and back.
 */
import type { ChatJson } from '../../conversation.ts';
import { type Policy, rewriting } from '../../policy.ts';

/** The part of the package that is used. */
export interface AiSdk {
  pruneMessages(options: {
    messages: readonly ModelMessage[];
    reasoning: 'before-last-message';
    toolCalls: 'before-last-2-messages';
    emptyMessages: 'remove';
  }): readonly ModelMessage[];
}

/** A message of the SDK. */
export interface ModelMessage {
  readonly role: string;
  readonly content: string | readonly Part[];
}

/** A part of such a message; its other members depend on the type. */
export interface Part {
  readonly type: string;
}

/** The fields of a chat message that hold reasoning. */
const REASONING = ['reasoning', 'reasoning_content'];

export function publishedPruneMessages(name: string, { pruneMessages }: AiSdk): Policy {
  return rewriting(name, 'peer', (messages) => {
    const translated = new Translated(messages);
    const pruned = pruneMessages({
      messages: translated.messages,
      reasoning: 'before-last-message',
      toolCalls: 'before-last-2-messages',
      emptyMessages: 'remove',
    });
    return pruned.flatMap((message) => translated.back(message));
  });
}

/** An array in the SDK's messages, with the caller's own for each message and part. */
class Translated {
  readonly messages: readonly ModelMessage[];
  private readonly whole = new Map<ModelMessage, ChatJson>();
  private readonly ofPart = new Map<Part, ChatJson>();
  private readonly calls = new Map<Part, unknown>();

  constructor(messages: readonly ChatJson[]) {
    const names = new Map(messages.flatMap((message) => callsOf(message).map(({ id, name }) => [id, name])));
    const translated: ModelMessage[] = [];
    for (const [index, message] of messages.entries()) {
      if (message.role !== 'tool') {
        translated.push(this.translate(message));
        continue;
      }
      const id = message.tool_call_id;
      const result = this.part(message, {
        type: 'tool-result',
        toolCallId: id,
        toolName: names.get(id) ?? '',
        output: { type: 'text', value: message.content },
      });
      const step = messages[index - 1]?.role === 'tool' ? translated.pop()?.content : undefined;
      translated.push({ role: 'tool', content: [...(Array.isArray(step) ? step : []), result] });
    }
    this.messages = translated;
  }

  /** The caller's messages of one that is left, without what was taken out. */
  back(message: ModelMessage): ChatJson[] {
    const own = this.whole.get(message);
    if (own) return [own];
    const parts = typeof message.content === 'string' ? [] : message.content;
    if (message.role === 'tool')
      return parts.flatMap((part) => {
        const result = this.ofPart.get(part);
        return result ? [result] : [];
      });
    const [first] = parts;
    const origin = first && this.ofPart.get(first);
    return origin ? [this.rest(origin, parts)] : [];
  }

  private translate(message: ChatJson): ModelMessage {
    const { role, content } = message;
    const plain = { role: `${role}`, content: (content ?? '') as ModelMessage['content'] };
    const reasoning = REASONING.filter((field) => field in message);
    const calls = callsOf(message);
    if (role === 'assistant' && (calls.length > 0 || reasoning.length > 0 || Array.isArray(content))) {
      const texts = isEmpty(content) ? [] : [content];
      const parts = [
        ...reasoning.map((field) => this.part(message, { type: 'reasoning', text: message[field] })),
        ...texts.map((text) => this.part(message, { type: 'text', text })),
        ...calls.map(({ id, name, input, call }) => {
          const part = this.part(message, { type: 'tool-call', toolCallId: id, toolName: name, input });
          this.calls.set(part, call);
          return part;
        }),
      ];
      return { role, content: parts };
    }
    this.whole.set(plain, message);
    return plain;
  }

  private part(message: ChatJson, part: Part & Readonly<Record<string, unknown>>): Part {
    this.ofPart.set(part, message);
    return part;
  }

  /** An assistant message with only these parts; itself if that is all of it. */
  private rest(message: ChatJson, parts: readonly Part[]): ChatJson {
    const left = parts.flatMap((part) => this.calls.get(part) ?? []);
    const thinks = parts.some(({ type }) => type === 'reasoning');
    const hasReasoning = REASONING.some((field) => field in message);
    const calls = callsOf(message).length;
    if (left.length === calls && thinks === hasReasoning) return message;
    const gone = [...(thinks ? [] : REASONING), ...(left.length === 0 ? ['tool_calls'] : [])];
    const kept = Object.entries(message).filter(([field]) => !gone.includes(field));
    return { ...Object.fromEntries(kept), ...(left.length > 0 ? { tool_calls: left } : {}) };
  }
}

function isEmpty(content: unknown): boolean {
  if (Array.isArray(content)) return content.length === 0;
  return content === null || content === undefined || content === '';
}

interface Call {
  readonly id: unknown;
  readonly name: unknown;
  /** The arguments as written: nothing depends on what they say. */
  readonly input: unknown;
  readonly call: unknown;
}

function callsOf({ tool_calls }: ChatJson): Call[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.map((call) => ({
    id: call?.id,
    name: call?.function?.name,
    input: call?.function?.arguments,
    call,
  }));
}
