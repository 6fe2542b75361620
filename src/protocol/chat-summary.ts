/** What is put into the messages of a chat body: a summary in its three forms, and cross-session memory behind the preamble. */
import { SHADOW_LINE } from '../memory/session-summary.ts';
import type { ShownSummary } from '../memory/view.ts';
import type { ChatMessage } from './chat-message.ts';
import type { InjectedMessage } from './model-request.ts';
import { fieldOf, type JsonSpan, levels, type Splice, textOf, within } from './spans.ts';

/** Behind the leading preamble, where it stays while the conversation grows. @param messages at least one */
export function injectionSplice(messages: readonly ChatMessage[], injected: InjectedMessage): Splice {
  const json = JSON.stringify({ role: injected.role, content: injected.content });
  const next = messages.find((message) => message.role !== 'preamble')?.span;
  if (next) return { start: next.start, end: next.start, with: `${json},` };
  const end = messages.at(-1)?.span.end;
  if (end === undefined) throw new Error('a message was to be put into no messages');
  return { start: end, end, with: `,${json}` };
}

/** The messages of a summary that stands by itself, as JSON. @param fields more fields of each */
export function summaryMessages({ block, form }: ShownSummary, fields: object): string {
  const messages =
    form === 'pair'
      ? [
          { role: 'user', content: SHADOW_LINE },
          { role: 'assistant', content: block },
        ]
      : [{ role: 'user', content: block }];
  return messages.map((message) => JSON.stringify({ ...message, ...fields })).join(',');
}

/**
 * Lets a user message open with a summary: text before its text, a part before its parts.
 *
 * @param taken characters of the opening that an earlier summary takes, and that are not repeated
 */
export function openingSplice(bytes: Uint8Array, message: ChatMessage, block: string, taken: number): Splice {
  const content = message.contentSpan();
  if (content?.kind === 'array') return openingPart(bytes, message, content, block, taken);
  // What is neither text nor parts is the upstream's to judge, and stays to be judged.
  const isText = !content || content.kind === 'string' || textOf(bytes, content) === 'null';
  const text = opened(block, isText ? message.opening().slice(taken) : textOf(bytes, content));
  if (content) return { start: content.start, end: content.end, with: JSON.stringify(text) };
  const end = message.span.end - 1;
  return { start: end, end, with: `,"content":${JSON.stringify(text)}` };
}

/** A part before the first one; the part that holds an earlier opening keeps whatever else it has, such as a cache breakpoint. */
function openingPart(
  bytes: Uint8Array,
  message: ChatMessage,
  content: JsonSpan,
  block: string,
  taken: number,
): Splice {
  const first = within(bytes, content, levels(2)).items?.[0];
  const held = taken > 0 && first ? fieldOf(first, 'text')?.value : undefined;
  if (held) {
    const text = JSON.stringify(opened(block, message.opening().slice(taken)));
    return { start: held.start, end: held.end, with: text };
  }
  const part = `{"type":"text","text":${JSON.stringify(block)}}`;
  if (!first) return { start: content.start, end: content.end, with: `[${part}]` };
  return { start: first.start, end: first.start, with: `${part},` };
}

function opened(block: string, rest: string): string {
  return rest === '' ? block : `${block}\n\n${rest}`;
}
