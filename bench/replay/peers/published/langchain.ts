/**
 * `contextEditingMiddleware` of the package `langchain` itself, with its `ClearToolUsesEdit`
 * (https://docs.langchain.com/oss/javascript/langchain/middleware/built-in). It is given the whole
 * array for each request, as all policies are, and counts tokens by our tokenizer.
 */
import type { ChatJson } from '../../conversation.ts';
import { type Policy, rewriting, type Weighed } from '../../policy.ts';

/** The part of the package that is used. */
export interface LangChain {
  readonly HumanMessage: MessageClass;
  readonly SystemMessage: MessageClass;
  readonly AIMessage: MessageClass;
  readonly ToolMessage: MessageClass;
  readonly ClearToolUsesEdit: new (options: {
    readonly trigger: { readonly tokens: number };
    readonly keep: { readonly messages: number };
  }) => object;
  contextEditingMiddleware(options: {
    readonly edits: readonly object[];
    readonly tokenCountMethod: 'model';
  }): {
    readonly wrapModelCall?: WrapModelCall;
  };
}

type MessageClass = new (fields: Readonly<Record<string, unknown>>) => BaseMessage;

/** A message of the package. */
interface BaseMessage {
  readonly content: unknown;
}

interface ModelCall {
  readonly messages: BaseMessage[];
  readonly tools: readonly object[];
  readonly model: {
    getNumTokensFromMessages(messages: readonly BaseMessage[]): Promise<{ totalCount: number }>;
  };
}

type WrapModelCall = (
  call: ModelCall,
  handler: (call: ModelCall) => Promise<readonly BaseMessage[]>,
) => Promise<readonly BaseMessage[]>;

/**
 * @param trigger in tokens of the caller's array with its tools
 * @param keep number of tool results
 */
export function publishedContextEditing(
  name: string,
  code: LangChain,
  trigger: number,
  keep: number,
): Policy {
  const edits = [new code.ClearToolUsesEdit({ trigger: { tokens: trigger }, keep: { messages: keep } })];
  const { wrapModelCall } = code.contextEditingMiddleware({ edits, tokenCountMethod: 'model' });
  if (!wrapModelCall) throw new Error('the middleware of langchain has no wrapModelCall');
  const translated = new WeakMap<ChatJson, BaseMessage>();
  const translate = (message: ChatJson): BaseMessage => {
    const known = translated.get(message) ?? messageOf(message, code);
    translated.set(message, known);
    return known;
  };
  return rewriting(name, 'peer', async (messages, weighed) => {
    const own = messages.map(translate);
    const origin = new Map(own.map((message, index) => [message, messages[index]]));
    const call = { messages: [...own], tools: [], model: counting(origin, messages, weighed) };
    const edited = await wrapModelCall(call, async ({ messages }) => messages);
    if (edited.length !== messages.length) throw new Error(`${name} has removed a message`);
    return edited.map((message, index) => {
      const before = messages[index] ?? {};
      return message === own[index] ? before : { ...before, content: message.content };
    });
  });
}

/** A model that counts tokens, the tools' included. */
function counting(
  origin: ReadonlyMap<BaseMessage, ChatJson | undefined>,
  messages: readonly ChatJson[],
  { tokens, count }: Weighed,
): ModelCall['model'] {
  const overhead = messages.reduce((left, message) => left - count(message), tokens);
  // A message that is not the caller's is a placeholder.
  const cleared = new Map<unknown, number>();
  const placeholder = (content: unknown): number => {
    const known = cleared.get(content) ?? count({ role: 'tool', tool_call_id: '', content });
    cleared.set(content, known);
    return known;
  };
  return {
    async getNumTokensFromMessages(counted) {
      const tokensOf = (message: BaseMessage): number => {
        const own = origin.get(message);
        return own ? count(own) : placeholder(message.content);
      };
      return { totalCount: counted.reduce((sum, message) => sum + tokensOf(message), overhead) };
    },
  };
}

function messageOf(message: ChatJson, code: LangChain): BaseMessage {
  const { role, tool_call_id } = message;
  const content = message.content ?? '';
  if (role === 'user') return new code.HumanMessage({ content });
  if (role === 'tool') return new code.ToolMessage({ content, tool_call_id });
  if (role !== 'assistant') return new code.SystemMessage({ content });
  return new code.AIMessage({ content, tool_calls: callsOf(message) });
}

/** Their arguments are left out: the edit keeps them. */
function callsOf({ tool_calls }: ChatJson): object[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.map((call) => ({ id: call?.id, name: call?.function?.name ?? '', args: {} }));
}
