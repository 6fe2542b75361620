import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  brokenConversation,
  type ConversationBody,
  conversation,
  strategy,
} from '../support/arbitrary-conversation.ts';
import { brokenLaws, brokenPrefix } from '../support/laws.ts';
import { messagesOf, stranger, tenant, type Viewed, viewOf } from '../support/view-of.ts';

const RUNS = { numRuns: 200, endOnFailure: true };

/** The array at each request point: before an assistant message that follows a user or tool message, and whole. */
function requestsOf(body: ConversationBody): ConversationBody[] {
  const spoken = body.messages.map((message) => message.role);
  const points = body.messages.flatMap((message, index) => {
    const before = spoken.slice(0, index).findLast((role) => role !== 'system' && role !== 'developer');
    return message.role === 'assistant' && (before === 'user' || before === 'tool') ? [index] : [];
  });
  return [...points, body.messages.length].map((end) => ({ ...body, messages: body.messages.slice(0, end) }));
}

describe('every view of every conversation', () => {
  it('keeps pairs, preamble, open unit and fresh results, loses nothing and never grows', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        for (const request of requestsOf(body)) expect(brokenLaws(viewOf(request, input))).toEqual([]);
      }),
      RUNS,
    );
  });

  it('is the same for the same array', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        expect(viewOf(body, input).bytes).toEqual(viewOf(body, input).bytes);
      }),
      RUNS,
    );
  });

  it('extends the view of the request before, unless it says that the frontier moved', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        let earlier: Viewed | undefined;
        for (const request of requestsOf(body)) {
          const viewed = viewOf(request, input);
          if (earlier) expect(brokenPrefix(earlier, viewed)).toEqual([]);
          earlier = viewed;
        }
      }),
      RUNS,
    );
  });

  it('has a frontier that never goes back as the array grows', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        const units = requestsOf(body).map((request) => viewOf(request, input).report.frontier.unit);
        expect(units).toEqual(units.toSorted((a, b) => a - b));
      }),
      RUNS,
    );
  });

  it('is left as it is when it comes back as the array', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        // What once freed too little may free enough together with what is already gone, or the other way round.
        const settled = { ...input, min_reclaim_tokens: 0 };
        const viewed = viewOf(body, settled);
        const again = viewOf({ ...body, messages: messagesOf(viewed) }, settled);
        expect(messagesOf(again)).toEqual(messagesOf(viewed));
      }),
      RUNS,
    );
  });

  it('counts its tokens as they are counted when it comes back as the array', () => {
    fc.assert(
      fc.property(conversation, strategy, (body, input) => {
        const viewed = viewOf(body, input);
        const again = viewOf({ ...body, messages: messagesOf(viewed) }, input);
        const error = (viewed.report.tokens?.after ?? 0) - (again.report.tokens?.before ?? 0);
        // Where a summary opens a message, tokens of the two need not add up to those of the whole.
        if (viewed.view.summary?.form === 'request') expect(Math.abs(error)).toBeLessThanOrEqual(2);
        else expect(error).toBe(0);
      }),
      RUNS,
    );
  });

  it('names no ref that is not known to be stored', () => {
    fc.assert(
      fc.property(conversation, strategy, fc.integer({ min: 1, max: 4 }), (body, input, every) => {
        const isStored = (ref: string): boolean => ref.charCodeAt(8) % every === 0;
        const viewed = viewOf(body, input, { isStored });
        const text = new TextDecoder().decode(viewed.bytes);
        for (const [ref] of text.matchAll(/ref_[a-z2-7]{26}/g)) expect(isStored(ref)).toBe(true);
        expect(brokenLaws(viewed)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('trusts no placeholder of another tenant', () => {
    fc.assert(
      fc.property(conversation, (body) => {
        const input = { mode: 'compact', token_budget: 0, compact_keep: 0, compact_keep_steps: 0 } as const;
        const theirs = messagesOf(viewOf(body, input, { tenant: stranger }));
        for (const removal of viewOf({ ...body, messages: theirs }, input).plan.segments.flat())
          expect(tenant.refs.owns(removal.ref ?? '')).toBe(true);
      }),
      RUNS,
    );
  });
});

describe('every view of a broken conversation', () => {
  it('has the same breaks and no other', () => {
    fc.assert(
      fc.property(brokenConversation, strategy, (body, input) => {
        expect(brokenLaws(viewOf(body, input))).toEqual([]);
      }),
      RUNS,
    );
  });
});
