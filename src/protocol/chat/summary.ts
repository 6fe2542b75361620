/** Messages that Precis adds to a chat body: a summary, and those after the preamble. */
import { CONTINUE_LINE, SHADOW_LINE } from '../../memory/conversation/session-summary.ts';
import type { ShownSummary } from '../../memory/edits/shown-summary.ts';
import type { Recap, View } from '../../memory/plan/view.ts';
import type { Splice } from '../json/spans.ts';
import { type InjectedMessage, injectedJson } from '../model-request.ts';
import type { ChatMessage } from './message.ts';

/**
 * Inserts after the leading preamble, where the position does not change as the conversation grows.
 *
 * @param messages at least one
 */
export function injectionSplice(
  messages: readonly ChatMessage[],
  injected: readonly InjectedMessage[],
): Splice {
  const json = injectedJson(injected);
  const next = messages.find((message) => message.role !== 'preamble')?.span;
  if (next) return { start: next.start, end: next.start, with: `${json},` };
  const end = messages.at(-1)?.span.end;
  if (end === undefined) throw new Error('a message was to be put into no messages');
  return { start: end, end, with: `,${json}` };
}

/**
 * The messages of a summary in the forms `pair` and `alone`, as JSON.
 *
 * @param fields added to each
 */
export function summaryMessages({ block, form }: ShownSummary, fields: object): string {
  const messages =
    form === 'pair' ? [saidBy('user', SHADOW_LINE), saidBy('assistant', block)] : [saidBy('user', block)];
  return jsonOf(messages, fields);
}

/** The messages of a recap likewise. */
export function recapMessages({ text, goesOn }: Recap, fields: object): string {
  const recap = saidBy('assistant', text);
  return jsonOf(goesOn ? [recap, saidBy('user', CONTINUE_LINE)] : [recap], fields);
}

/** The splice that puts a recap after the first request. @param end of that request */
export function recapSplice(recap: Recap, end: number, fields: object): Splice {
  return { start: end, end, with: `,${recapMessages(recap, fields)}` };
}

/** The message that a summary replaces with messages of its own: the first that is dropped. */
export function replacedBySummary({
  summary,
  dropped,
}: Pick<View, 'summary' | 'dropped'>): number | undefined {
  return summary?.form === 'pair' || summary?.form === 'alone' ? Math.min(...dropped) : undefined;
}

function saidBy(role: 'user' | 'assistant', content: string): object {
  return { role, content };
}

function jsonOf(messages: readonly object[], fields: object): string {
  return messages.map((message) => JSON.stringify({ ...message, ...fields })).join(',');
}
