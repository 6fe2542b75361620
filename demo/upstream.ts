/**
 * The demo's model, which plays the recorded agent. It validates requests as OpenAI's API would,
 * finds its place by the last message, and gives the next recorded answer. Only the last question
 * is answered from the messages that it sees; if the answer is gone from them, it fetches it by a
 * ref. It is the summarizer, too.
 */

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { askedLiteral, type Message, recording } from '../fixtures/recording.ts';
import { sendAnswer } from '../tools/upstream/behaviours.ts';
import { type Answer, usageOf } from '../tools/upstream/completion.ts';
import { startUpstream } from '../tools/upstream/upstream.ts';
import { Bill, type PromptPart } from './bill.ts';
import { asksForSummary, summaryOf } from './summarizer.ts';

export interface DemoUpstream {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  close(): Promise<void>;
}

interface ChatBody {
  model: string;
  messages: Message[];
  tools?: readonly object[];
  stream?: boolean;
}

export async function startDemoUpstream(): Promise<DemoUpstream> {
  /** Of the agent, and of its fetches. */
  const requests = new Bill();
  const summaries = new Bill();
  let answered = 0;
  const upstream = await startUpstream({
    strict: { jsonArguments: true },
    // It speaks chat alone, whatever a model of this name needs.
    responses: { type: 'error', status: 404 },
    chat: (_request, response, { body }) => {
      const asksSummary = asksForSummary(textOf(body.messages[0] ?? { content: null }));
      const answer = asksSummary
        ? { content: summaryOf(textOf(body.messages.at(-1) ?? { content: null })) }
        : answerTo(body);
      const counted = asksSummary ? summaries : requests;
      const cachedBefore = counted.cached;
      const promptTokens = counted.add(promptOf(body));
      sendAnswer(response, body, answer, {
        id: `chatcmpl-demo-${++answered}`,
        model: body.model,
        usage: {
          ...usageOf(promptTokens, tokens(JSON.stringify(answer))),
          prompt_tokens_details: { cached_tokens: counted.cached - cachedBefore },
        },
      });
    },
  });
  return { url: upstream.url, close: upstream.close };
}

function answerTo({ messages, tools = [] }: ChatBody): Answer {
  const last = messages.at(-1);
  if (last?.role === 'tool' && last.tool_call_id.startsWith(FETCH)) return answerFromView(messages, tools);
  const at = placeOf(last);
  const next = recording.messages[at + 1];
  if (at < 0 || next?.role !== 'assistant') return { content: 'This is not in my recording.' };
  if (at + 2 === recording.messages.length) return answerFromView(messages, tools);
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

/** How the ids of its own calls begin. */
const FETCH = 'call_fetch_';
const REF = 'ref_[a-z2-7]{26}';

/** The answer to the last question, or calls that fetch what it takes. */
function answerFromView(messages: Message[], tools: readonly object[]): Answer {
  const { literal, callId, toolName } = askedLiteral();
  const texts = messages.map(textOf);
  if (texts.some((text) => text.includes(literal)))
    return { content: recording.messages.at(-1)?.content ?? literal };
  const refIn = (pattern: string): string | undefined =>
    texts.flatMap((text) => new RegExp(pattern).exec(text)?.[1] ?? []).at(-1);
  const fetched = messages.filter(isFetch).length > 0;
  const kept = refIn(`call_id=${callId}\\)[^⟧]*\\bref=(${REF})`) ?? refIn(`<session_summary ref="(${REF})"`);
  // The first lines of a transcript name the one before it.
  const next = fetched ? refIn(`kept under (${REF})`) : kept;
  const name = JSON.stringify(tools).match(/"((?:precis_)?retrieve_ref)"/)?.[1];
  // A summary is an assistant's message too, and names a ref.
  const calls = messages.flatMap((message) =>
    message.role === 'assistant' ? (message.tool_calls ?? []) : [],
  );
  const known = JSON.stringify(calls);
  if (name !== undefined && next !== undefined && !known.includes(next)) {
    const call = (part: object, at: number) => ({
      id: `${FETCH}${messages.length}_${at}`,
      name,
      arguments: JSON.stringify({ ref: next, ...part }),
    });
    return { toolCalls: [{ grep: askedOrder() }, { lines: '1-2' }].map(call) };
  }
  const where = kept ? `It is kept as ${kept}.` : 'It is kept under no name that I can see.';
  return {
    content: `The output of ${toolName} (${callId}) that held it has been removed from my context. ${where}`,
  };
}

function isFetch(message: Message): boolean {
  return message.role === 'tool' && message.tool_call_id.startsWith(FETCH);
}

/** The order that the last question is about. */
export function askedOrder(): string {
  const question = recording.messages.findLast((message) => message.role === 'user')?.content ?? '';
  return /\bord_\w+/.exec(question)?.[0] ?? askedLiteral().literal;
}

/** As OpenAI counts: three tokens around every message, and three before the answer. */
export function promptOf({ messages, tools = [] }: Pick<ChatBody, 'messages' | 'tools'>): PromptPart[] {
  const offered = tools.map((tool) => JSON.stringify(tool));
  const head = { text: offered.join(), tokens: 3 + offered.reduce((sum, tool) => sum + tokens(tool), 0) };
  return [head, ...messages.map((message) => ({ text: JSON.stringify(message), tokens: tokensOf(message) }))];
}

/** Content does not change, so each message is counted once. */
const counted = new Map<string, number>();

function tokensOf(message: Message): number {
  const key = JSON.stringify(message);
  const known = counted.get(key);
  if (known !== undefined) return known;
  let sum = 3 + tokens(textOf(message));
  for (const call of message.role === 'assistant' ? (message.tool_calls ?? []) : [])
    sum += 3 + tokens(call.function.name) + tokens(call.function.arguments);
  counted.set(key, sum);
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
