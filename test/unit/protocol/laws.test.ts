import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { asResponses, chatBody, itemsOf, messagesOf } from '../../../tools/upstream/items.ts';
import {
  strategy as anyStrategy,
  autoOptions,
  autoStrategy,
  type ConversationBody,
  clearingStrategy,
  conversation,
  richConversation,
} from '../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import {
  type SummaryWriter,
  messagesOf as sentIn,
  viewOf,
  viewOfRequest,
} from '../../support/laws/view-of.ts';

const RUNS = { numRuns: runs(8, 60), endOnFailure: true };

type Json = Record<string, unknown>;

/** Messages as items express them: an answer without text, and its calls, are one message. */
const asSaid = (messages: readonly Json[]): Json[] => messagesOf(itemsOf(messages));

/**
 * A conversation that items can express: no role twice in a row, no empty message, and only fields
 * that all messages have.
 */
function spokenApart(body: ConversationBody): ConversationBody {
  const messages: Json[] = [];
  for (const message of body.messages as readonly Json[]) {
    const { role, content, tool_calls, tool_call_id, reasoning_content } = message;
    const follows = role === 'assistant' && messages.at(-1)?.role === 'assistant';
    const says = (content ?? '') !== '' || tool_calls !== undefined;
    if (follows || !says) continue;
    messages.push({
      role,
      content,
      ...(tool_calls === undefined ? {} : { tool_calls }),
      ...(tool_call_id === undefined ? {} : { tool_call_id }),
      ...(typeof reasoning_content === 'string' && reasoning_content !== '' ? { reasoning_content } : {}),
    });
  }
  return { ...body, messages };
}

/** Without previews, which would name a part by its protocol's type. */
function withoutPreviews(input: MemoryStrategyRequest): MemoryStrategyRequest {
  if (input.mode !== 'compact' && input.mode !== 'auto') return input;
  return { ...input, compact_preview_tokens: 0 };
}

/** A summary that does not depend on its input. */
const words: SummaryWriter = (_, limit) => 'word '.repeat(Math.min(limit, 20)).trimEnd();

describe.each([
  ['every mode but auto', fc.tuple(conversation, anyStrategy, fc.constant({}))],
  ['auto', fc.tuple(richConversation, autoStrategy, autoOptions(false))],
  ['auto that clears reasoning', fc.tuple(richConversation, clearingStrategy, autoOptions(false))],
] as const)('any conversation as items, %s', (_, planned) => {
  it('has the view that it has as messages', () => {
    forAll(RUNS, planned, ([spoken, input, options]) => {
      const body = spokenApart(spoken);
      // Parts and transcripts are stored as their protocol writes them, so their refs differ.
      const given = { ...options, words, tenant: undefined };
      const strategy = withoutPreviews(input);
      const chat = viewOf(body, strategy, given);
      const read = readResponsesRequest(asResponses(new TextEncoder().encode(JSON.stringify(body))));
      if (!read.ok) throw new Error(read.reason.message);
      const items = viewOfRequest(read.value, strategy, given);

      const sent = JSON.parse(new TextDecoder().decode(items.bytes)) as Json;
      expect(chatBody(sent).messages).toEqual(asSaid(sentIn(chat)));
      expect(items.report).toEqual(chat.report);
    });
  });
});
