/** The answer that an array ends with, in each protocol: the model continues it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { messagesBody } from '../../../../tools/upstream/blocks.ts';
import { responsesBody } from '../../../../tools/upstream/items.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
  conversation,
  richConversation,
  tightStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, lines, step, user } from '../../../support/conversations/chat.ts';
import { asBlocksSayIt } from '../../../support/conversations/messages.ts';
import { parsed, viewInMessages } from '../../../support/laws/in-messages.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { type Viewed, type ViewOptions, viewOf, viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;
type Views = (body: Json, input: MemoryStrategyRequest, options?: ViewOptions) => Viewed<ModelRequest>;

const PROTOCOLS: Readonly<Record<string, Views>> = {
  chat: viewOf,
  Messages: (body, input, options = {}) => viewInMessages(messagesBody(body), input, options),
  Responses: (body, input, options) => {
    const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify(responsesBody(body))));
    if (!read.ok) throw new Error(read.reason.message);
    return viewOfRequest(read.value, input, options);
  },
};

/** The last messages or items of a body. */
function lastOf(bytes: Uint8Array, count: number): unknown[] {
  const { messages, input } = parsed(bytes);
  return ((messages ?? input) as unknown[]).slice(-count);
}

const begun = fc.array(fc.constantFrom(assistant('So the shop sells'), assistant(lines(60, 'so'))), {
  minLength: 1,
  maxLength: 2,
});

const READ = [...step('call_1', 'read', lines(60, 'a')), ...step('call_2', 'read', lines(60, 'b'))];
const NOTHING_KEPT = { mode: 'auto', token_budget: 3, compact_keep: 0, compact_keep_steps: 0 } as const;

describe.each(Object.entries(PROTOCOLS))('the answer that an array of %s ends with', (_, view) => {
  it('is whole in every view', () => {
    const numRuns = runs(12, 80);
    let edited = 0;
    forAll(
      { numRuns, endOnFailure: true },
      fc.oneof(conversation, richConversation),
      begun,
      fc.oneof(tightStrategy, autoStrategy, anyStrategy),
      fc.boolean(),
      (spoken, answer, input, force) => {
        const { messages } = asBlocksSayIt(spoken);
        const asked = messages.slice(0, messages.findLastIndex(({ role }) => role !== 'assistant') + 1);
        fc.pre(asked.length > 0);
        const body = { ...spoken, messages: [...asked, ...answer] };
        const { request, bytes, report } = view(body, input, { force });
        expect(lastOf(bytes, answer.length)).toEqual(lastOf(request.bytes, answer.length));
        if (report.applied_edits.length > 0) edited++;
      },
    );
    expect(edited).toBeGreaterThan(numRuns / 8);
  });

  it('leaves with all before it where the whole array is put away', () => {
    const messages = [user('Read.'), ...READ, assistant(lines(60, 'so')), assistant('And the shop sells')];
    const body = { model: 'gpt-4.1', messages };
    const input = { mode: 'summarize', keep_last_n_turns: 0, keep_first_user: false } as const;
    const { view: whole } = view(body, input, { force: true, whole: true });
    expect(whole.summary?.covers).toEqual([0, messages.length - 1]);
    const { bytes, request } = view(body, NOTHING_KEPT, { force: true });
    expect(lastOf(bytes, 2)).toEqual(lastOf(request.bytes, 2));
  });
});
