/**
 * F29: notes of the system that are shown until the next user message
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
  tightStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, lines, system } from '../../../support/conversations/chat.ts';
import { oddMessages } from '../../../support/conversations/odd-messages.ts';
import { ADDITIONS, brokenInMessages, parsed, viewInMessages } from '../../../support/laws/in-messages.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import type { Json } from './edited.ts';

const note = (content: unknown, more: Json = {}): Json => ({
  role: 'system',
  content,
  clear_at: 'next_user_message',
  ...more,
});
const user = (content: unknown): Json => ({ role: 'user', content });
const step = (id: string): Json[] => [
  assistant([{ type: 'tool_use', id, name: 'read', input: {} }]),
  user([{ type: 'tool_result', tool_use_id: id, content: lines(60, id) }]),
];

/** An answer in which a tool of the API runs. */
const paused = assistant([
  { type: 'text', text: 'I search.' },
  { type: 'server_tool_use', id: 'srvtoolu_last', name: 'web_search', input: { query: 'shops' } },
]);

function isPaused({ role, content }: Json): boolean {
  return role === 'assistant' && Array.isArray(content) && content.at(-1)?.type === 'server_tool_use';
}

/** The same conversation, in an answer that has paused. */
function withPause(odd: Json): Json {
  const end = messagesIn(odd).findLastIndex(({ role }) => role === 'user');
  return { ...odd, messages: [...messagesIn(odd).slice(0, end + 1), paused] };
}

/** The texts of the system that the model is shown. */
function heard(messages: readonly Json[]): string[] {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap(({ role, clear_at, content }, at) => {
    if (role !== 'system' || (clear_at === 'next_user_message' && at < last)) return [];
    if (typeof content === 'string') return content === '' ? [] : [content];
    return (content as Json[]).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  });
}

const messagesIn = (body: Json): Json[] => body.messages as Json[];
const bodyOf = (messages: readonly Json[]): Json => ({
  model: 'claude-opus-5-5',
  max_tokens: 1_000,
  messages,
});

describe('a note with an end', () => {
  it('F29: is shown as long as in the array of the caller, in every view', () => {
    const numRuns = runs(8, 80);
    let edited = 0;
    forAll(
      { numRuns, endOnFailure: true },
      fc.oneof(oddMessages, oddMessages.map(withPause)),
      fc.oneof(autoStrategy, anyStrategy, tightStrategy),
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      (odd, input, places) => {
        const messages = [...messagesIn(odd)];
        for (const [of, place] of places.entries()) {
          const free = messages.flatMap((message, at) => {
            const next = messages[at + 1];
            const isPlace = message.role === 'user' || (!next && isPaused(message));
            return isPlace && (!next || next.role === 'assistant') ? [at + 1] : [];
          });
          const at = free[place % Math.max(1, free.length)];
          if (at !== undefined) messages.splice(at, 0, note([{ type: 'text', text: `Note ${of}.` }]));
        }
        const body = { ...odd, messages };
        fc.pre(violations(body).length === 0);
        const viewed = viewInMessages(body, input, {});
        expect(brokenInMessages(viewed)).toEqual([]);
        for (const additions of [{}, ADDITIONS]) {
          const sent = parsed(viewed.request.write(viewed.view, additions));
          expect(violations(sent)).toEqual([]);
          expect(heard(messagesIn(sent)).toSorted()).toEqual(heard(messages).toSorted());
        }
        if (viewed.report.applied_edits.length > 0) edited++;
      },
    );
    expect(edited).toBeGreaterThan(numRuns / 8);
  });

  it.each(['trim', 'summarize', 'auto'] as const)('F29: does not speak again after a move (%s)', (mode) => {
    const body = bodyOf([
      user('Read.'),
      note('Answer at once.'),
      ...step('a'),
      note([{ type: 'text', text: 'The file is locked.' }], { output_config: { effort: 'high' } }),
      ...step('b'),
      system('Be terse.'),
      ...step('c'),
      assistant('I have read.'),
      user('And now?'),
      note('Only now.'),
    ]);
    expect(violations(body)).toEqual([]);
    const viewed = viewInMessages(body, { mode, token_budget: 300, keep_last_n_turns: 1 }, { force: true });
    const sent = messagesIn(parsed(viewed.bytes));
    expect(violations(parsed(viewed.bytes))).toEqual([]);
    expect(viewed.report.applied_edits).not.toEqual([]);
    expect(heard(sent).join(' ')).not.toMatch(/at once|locked/);
    expect(heard(sent).join(' ')).toMatch(/Be terse\. ?.*Only now\./);
    expect(sent.flatMap(({ output_config: set }) => set ?? []).at(-1)).toEqual({ effort: 'high' });
  });

  it.each([
    ['a note', note('Only now.')],
    ['words of the system', system('Be terse.')],
  ])('F29: does not speak again before an answer that has paused, beside %s', (_, last) => {
    const steps = [...step('a'), note('The file is locked.'), ...step('b'), last];
    const body = bodyOf([user('Read.'), note('Answer at once.'), ...steps, paused]);
    expect(violations(body)).toEqual([]);
    const strategy = { mode: 'auto', token_budget: 3, compact_keep_steps: 0, min_reclaim_tokens: 0 } as const;
    const viewed = viewInMessages(body, strategy, { force: true });
    expect(viewed.report.applied_edits).not.toEqual([]);
    expect(brokenInMessages(viewed)).toEqual([]);
    expect(heard(messagesIn(parsed(viewed.bytes)))).toEqual([last.content]);
  });

  it('F29: keeps its bytes where it is, until a move', () => {
    const messages = [user('Read.'), note('Answer at once.'), ...step('a'), ...step('b')];
    const viewed = viewInMessages(
      bodyOf(messages),
      { mode: 'compact', compact_trigger_steps: 1, compact_keep_steps: 1 },
      {},
    );
    expect(messagesIn(parsed(viewed.bytes))[1]).toEqual(messages[1]);
    expect(viewed.report.applied_edits).not.toEqual([]);
  });
});
