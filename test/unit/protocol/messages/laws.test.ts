import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messagesBody } from '../../../../tools/upstream/blocks.ts';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
  brokenRichConversation,
  inAnyProtocol,
  lateRichConversation,
  PLANNED,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { asBlocksSayIt } from '../../../support/conversations/messages.ts';
import {
  ADDITIONS,
  brokenInMessages,
  otherThanInChat,
  parsed,
  viewInMessages,
} from '../../../support/laws/in-messages.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { viewOf } from '../../../support/laws/view-of.ts';
import type { Json } from './edited.ts';

const RUNS = { numRuns: runs(8, 60), endOnFailure: true };

const SUMMARY = { type: 'compaction', content: 'All before, in the words of the API.' };

function callsIn({ messages }: Json): Json[] {
  return (messages as Json[]).filter(
    ({ content }) => Array.isArray(content) && content.some(({ type }: Json) => type === 'tool_use'),
  );
}

describe.each(PLANNED)('any conversation in Messages, %s', (_, planned) => {
  it('has the view that it has as chat messages', () => {
    forAll(RUNS, planned, fc.boolean(), ([spoken, input, options], merges) => {
      const body = { ...asBlocksSayIt(spoken), max_tokens: 1_000 };
      fc.pre((messagesBody(body).messages as unknown[]).length > 0);
      const given = inAnyProtocol(input, options);
      const chat = viewOf(body, ...given);
      const viewed = viewInMessages(messagesBody(body, { merges }), ...given);
      expect(otherThanInChat(viewed, chat, { merges })).toEqual([]);
    });
  });

  it('keeps the bytes of all that it does not edit, and is accepted by the API if it was before', () => {
    let edited = 0;
    forAll(RUNS, planned, fc.boolean(), ([spoken, input, options], merges) => {
      const body = messagesBody({ ...asBlocksSayIt(spoken) }, { merges });
      fc.pre(violations(body).length === 0);
      const viewed = viewInMessages(body, input, { ...options, marks: true });
      const { request, view, report } = viewed;
      expect(Buffer.compare(request.write(undefined), request.bytes)).toBe(0);
      expect(brokenInMessages(viewed)).toEqual([]);
      if (report.applied_edits.length > 0) edited++;
      expect(violations(parsed(request.write(view, ADDITIONS)))).toEqual([]);
    });
    expect(edited).toBeGreaterThan(RUNS.numRuns / 6);
  });

  it('keeps a summary of the API that begins an answer with calls', () => {
    forAll(RUNS, planned, fc.nat(), ([spoken, input, options], chosen) => {
      const body = messagesBody({ ...asBlocksSayIt(spoken) });
      fc.pre(violations(body).length === 0);
      const calling = callsIn(body);
      fc.pre(calling.length > 0);
      const answer = calling[chosen % calling.length] as Json;
      answer.content = [SUMMARY, ...(answer.content as Json[])];
      const viewed = viewInMessages(body, input, { ...options, marks: true });
      expect(brokenInMessages(viewed)).toEqual([]);
      for (const additions of [{}, ADDITIONS]) {
        const sent = parsed(viewed.request.write(viewed.view, additions));
        expect(violations(sent)).toEqual([]);
        expect(JSON.stringify(sent).split(JSON.stringify(SUMMARY))).toHaveLength(2);
      }
    });
  });
});

describe('a broken conversation in Messages', () => {
  it('has the breaks that it came with and no other', () => {
    forAll(
      RUNS,
      fc.tuple(
        fc.oneof(brokenRichConversation, lateRichConversation),
        fc.oneof(autoStrategy, anyStrategy),
        fc.boolean(),
      ),
      ([spoken, input, merges]) => {
        const body = messagesBody({ ...spoken }, { merges });
        fc.pre((body.messages as unknown[]).length > 0);
        const viewed = viewInMessages(body, input, { marks: true });
        expect(brokenInMessages(viewed)).toEqual([]);
        // It is JSON, whatever the array holds.
        expect(parsed(viewed.request.write(viewed.view, ADDITIONS)).messages).toBeDefined();
      },
    );
  });
});
