import { describe, expect, it } from 'vitest';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { asResponses, chatBody, itemsOf, messagesOf } from '../../../tools/upstream/items.ts';
import {
  type ConversationBody,
  inAnyProtocol,
  PLANNED,
} from '../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import { messagesOf as sentIn, viewOf, viewOfRequest } from '../../support/laws/view-of.ts';

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

describe.each(PLANNED)('any conversation as items, %s', (_, planned) => {
  it('has the view that it has as messages', () => {
    forAll(RUNS, planned, ([spoken, input, options]) => {
      const body = spokenApart(spoken);
      const given = inAnyProtocol(input, options);
      const chat = viewOf(body, ...given);
      const read = readResponsesRequest(asResponses(new TextEncoder().encode(JSON.stringify(body))));
      if (!read.ok) throw new Error(read.reason.message);
      const items = viewOfRequest(read.value, ...given);

      const sent = JSON.parse(new TextDecoder().decode(items.bytes)) as Json;
      expect(chatBody(sent).messages).toEqual(asSaid(sentIn(chat)));
      expect(items.report).toEqual(chat.report);
    });
  });
});
