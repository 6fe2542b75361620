/** Messages added to a chat body: a summary, and those of ours after the preamble. */
import { SHADOW_LINE } from '../../memory/conversation/session-summary.ts';
import type { ShownSummary } from '../../memory/plan/shown-summary.ts';
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

/** The messages of a separate summary, as JSON. @param fields added to each */
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
