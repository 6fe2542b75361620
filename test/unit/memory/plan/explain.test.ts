import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain, explainUnedited } from '../../../../src/memory/plan/explain.ts';
import type { Explanation } from '../../../../src/memory/plan/explanation-schema.ts';
import {
  autoOptions,
  autoStrategy,
  type ConversationBody,
  conversation,
  richConversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, step, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter, messagesOf, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

const explained = ({ plan, view }: Viewed): Explanation => explain(plan, view, counter);

const anyRequest = fc.oneof(
  fc.tuple(conversation, strategy, fc.constant({})),
  fc.tuple(richConversation, autoStrategy, autoOptions(true)),
  fc.tuple(richConversation, autoStrategy, autoOptions(false)),
);

/** The messages that the view has unchanged, as JSON. */
function keptIn({ messages }: ConversationBody, { messages: fates }: Explanation): string[] {
  return fates.filter(({ fate }) => fate === 'kept').map(({ index }) => JSON.stringify(messages[index]));
}

describe('the explanation of any request', () => {
  it('names each message once, in order', () => {
    forAll(anyRequest, ([sent, input, options]) => {
      const { messages } = explained(viewOf(sent, input, options));
      expect(messages.map(({ index }) => index)).toEqual([...sent.messages.keys()]);
    });
  });

  it('says which messages are unchanged in the view', () => {
    forAll(anyRequest, ([sent, input, options]) => {
      const viewed = viewOf(sent, input, options);
      // A summary or a trim line is at the beginning of a message that is kept otherwise.
      const opens = viewed.view.summary?.request?.message ?? viewed.view.trim?.request?.message;
      const { messages } = explained(viewed);
      const kept = keptIn(sent, { messages: messages.filter(({ index }) => index !== opens), moves: [] });
      const shown = new Set(messagesOf(viewed).map((message) => JSON.stringify(message)));
      expect(kept.filter((message) => !shown.has(message))).toEqual([]);
    });
  });

  it('has the tokens of the view, message by message', () => {
    forAll(anyRequest, ([sent, input, options]) => {
      const viewed = viewOf(sent, input, options);
      const { messages, summary } = explained(viewed);
      const sum = (of: 'before' | 'after'): number =>
        messages.reduce((tokens, message) => tokens + message[of], 0);
      const saved = sum('before') - sum('after') - (summary?.tokens ?? 0);
      const { before = 0, after = 0 } = viewed.report.tokens ?? {};
      // An earlier summary in a message, and a trim line, are counted with the view alone.
      fc.pre(!viewed.view.trim && viewed.plan.history.echo === undefined);
      expect(saved).toBe(before - after);
    });
  });

  it('has one move of the frontier for each that a shorter array has made, and the last one', () => {
    forAll(anyRequest, ([sent, input, options]) => {
      const viewed = viewOf(sent, input, options);
      const { moves } = explained(viewed);
      const frontiers = moves.map(({ frontier }) => frontier);
      expect(frontiers).toEqual(frontiers.toSorted((a, b) => a - b));
      expect(
        moves.every(({ messages, before, after }) => messages <= sent.messages.length && after < before),
      ).toBe(true);
    });
  });
});

describe('the explanation of a compaction', () => {
  const sent = body([
    { role: 'system', content: 'Be brief.' },
    user('first'),
    ...step('call_1', 'search', 'old output '.repeat(200)),
    ...step('call_2', 'search', 'ok'),
    assistant('done'),
    user('second'),
    ...step('call_3', 'search', 'new output '.repeat(200)),
    assistant('done'),
    user('third'),
    ...step('call_4', 'search', 'fresh output '.repeat(200)),
  ]);
  const STRATEGY = { mode: 'compact', compact_trigger_turns: 2, compact_keep: 1 } as const;
  const viewed = viewOf(sent, STRATEGY);
  const { messages, moves } = explained(viewed);

  it('says what becomes of each message, and why', () => {
    const reasons = messages.map(({ fate, because, edits }) => because ?? `${fate}: ${edits?.[0]?.reason}`);
    expect(reasons).toEqual([
      'preamble',
      'unedited',
      'unedited',
      'placeholder: context_compaction',
      'unedited',
      'unedited',
      'unedited',
      'unedited',
      'unedited',
      'placeholder: context_compaction',
      'unedited',
      'tail',
      'tail',
      'fresh',
    ]);
  });

  it('names the removed content by tool, call and ref', () => {
    const [edit] = messages[3]?.edits ?? [];
    expect(edit).toMatchObject({ kind: 'output', tool_name: 'search', tool_call_id: 'call_1' });
    expect(viewed.report.refs.map(({ ref }) => ref)).toContain(edit?.ref);
    expect((edit?.tokens ?? 0) > (edit?.freed ?? 0)).toBe(true);
  });

  it('says when the frontier moved, by which trigger, and how far', () => {
    const earlier = viewOf({ ...sent, messages: sent.messages.slice(0, 12) }, STRATEGY);
    const { before, after } = earlier.report.tokens ?? {};
    expect(moves.at(-1)).toEqual({ messages: 12, trigger: 'turns', frontier: 11, before, after });
  });

  it('says what the next move would remove, if it is near', () => {
    const jumping = { mode: 'compact', compact_trigger_turns: 3, compact_keep: 1, frontier: 'jump' } as const;
    const near = explained(viewOf({ ...sent, messages: sent.messages.slice(0, 12) }, jumping));
    expect(near.moves).toEqual([]);
    expect(near.next?.edits.map(({ tool_call_id }) => tool_call_id)).toContain('call_1');
  });
});

describe('the explanation of a summary', () => {
  it('distinguishes the messages that it covers from those that stay', () => {
    const turns = [1, 2, 3, 4].flatMap((n) => [
      user(`question ${n} ${'why '.repeat(50)}`),
      assistant(`answer ${n} ${'because '.repeat(50)}`),
    ]);
    const viewed = viewOf(body(turns), { mode: 'summarize', context_limit: 3, keep_last_n_turns: 1 });
    const { messages, summary } = explained(viewed);
    const [, last = -1] = summary?.covers ?? [];
    expect(last).toBeGreaterThan(0);
    const dropped = messages.filter(({ index }) => viewed.view.dropped.has(index));
    expect(dropped.length).toBeGreaterThan(0);
    expect(dropped.every(({ fate, after }) => fate === 'summarized' && after === 0)).toBe(true);
    expect(messages[0]).toMatchObject({ fate: 'kept', because: 'first_request' });
    expect(messages.slice(last + 1).every(({ because }) => because === 'tail')).toBe(true);
  });
});

describe('the explanation of a request without edits', () => {
  it('keeps every message', () => {
    const { messages } = viewOf(body([{ role: 'system', content: 's' }, user('u')]), { mode: 'trim' }).plan
      .history;
    expect(explainUnedited(messages, counter).messages).toMatchObject([
      { role: 'preamble', fate: 'kept', because: 'preamble' },
      { role: 'user', fate: 'kept', because: 'unedited' },
    ]);
  });
});
