import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTINUE_LINE, findEcho, SHADOW_LINE } from '../../../../src/memory/conversation/session-summary.ts';
import { parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { conversationTurns } from '../../../../src/memory/plan/conversation-turns.ts';
import { writeCompactedMessages } from '../../../../src/protocol/chat/request.ts';
import {
  autoOptions,
  autoStrategy,
  brokenRichConversation,
  type ConversationBody,
  conversation,
  lateRichConversation,
  richConversation,
  summarizeStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { brokenLaws, brokenPrefix, stayingFirst } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  counter,
  messagesOf,
  short,
  tenant,
  type Viewed,
  viewOf,
  viewsOf,
} from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const FOUR_TURNS = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 } as const;
const WORKING = { mode: 'summarize', token_budget: 1_000 } as const;
/** A budget that fits little more than two turns, with placeholders for their outputs. */
const TRIMMING = {
  mode: 'auto',
  token_budget: 3_000,
  summary_max_tokens: 64,
  min_reclaim_tokens: 0,
  low_watermark_pct: 0.9,
  compact_preview_tokens: 0,
} as const;

const turn = (name: string): Message[] => [
  user(`${name}?`),
  ...step('1', 'f', lines(30, name)),
  assistant(`${name}!`),
];
const long = (at: number): Message[] => [
  user(`What of ${at}?`),
  ...step(`call_${at}`, `tool_${at}`, lines(100, `row ${at}`)),
  assistant(`This: ${lines(40, `answer ${at}`)}`),
];
const steps = (n: number, of = 'out'): Message[] =>
  Array.from({ length: n }, (_, at) => step(`${of}${at}`, 'f', lines(20, `${of}${at}`))).flat();
const BLOCK = /^<session_summary ref="ref_[a-z2-7]{26}" covers="[\d-]+">\n[\s\S]*\n<\/session_summary>$/;
const LINE = /^⟦removed: messages \d+-\d+; reason=trimmed; ref=ref_[a-z2-7]{26}; tokens=\d+⟧$/;

describe('the first request', () => {
  it('stays unchanged, and the summary answers it', () => {
    const messages = [system('s'), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS);
    const [first, asked, recap, ...tail] = messagesOf(viewed);
    expect([first, asked, ...tail]).toEqual([system('s'), user('a?'), user('d')]);
    expect(recap).toMatchObject({ role: 'assistant', content: expect.stringMatching(BLOCK) });
    expect(viewed.view.summary).toMatchObject({ form: 'recap', covers: [1, 12] });
    expect(viewed.report.applied_edits).toMatchObject([{ type: 'summarize', messages: 11 }]);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('keeps its own bytes, whatever they are', () => {
    const bytes = new TextEncoder().encode(
      JSON.stringify(body([user('X'), ...turn('a').slice(1), ...turn('b'), ...turn('c'), user('d')])).replace(
        '{"role":"user","content":"X"}',
        '{ "content" : "\\u0041 1.0" , "role":"user", "n":12345678901234567890}',
      ),
    );
    const sent = new TextDecoder().decode(viewOf(bytes, FOUR_TURNS).bytes);
    expect(sent).toContain(
      '[{ "content" : "\\u0041 1.0" , "role":"user", "n":12345678901234567890},{"role":"assistant"',
    );
  });

  it('is followed by a line of Precis where its own turn continues', () => {
    const asked = { ...user([{ type: 'text', text: 'Mend it.' }]), name: 'ada' };
    const viewed = viewOf(body([system('s'), asked, ...steps(8)]), WORKING, { words: short });
    const [, first, recap, line, ...tail] = messagesOf(viewed);
    expect(first).toEqual(asked);
    expect(recap?.content).toMatch(BLOCK);
    expect(line).toEqual(user(CONTINUE_LINE));
    expect(tail).toEqual(steps(8).slice(-6));
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is beside the request that is being worked on, which stays unchanged too', () => {
    const messages = [...turn('a'), user('Now this.'), ...steps(8)];
    const viewed = viewOf(body(messages), WORKING, { words: short });
    const [first, recap, request, ...tail] = messagesOf(viewed);
    expect([first, request, ...tail]).toEqual([user('a?'), user('Now this.'), ...steps(8).slice(-6)]);
    expect(recap?.content).toMatch(BLOCK);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('precedes the recap though an answer without a question preceded it', () => {
    const messages = [assistant(lines(30)), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS);
    expect(messagesOf(viewed).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messagesOf(viewed)[0]).toEqual(user('a?'));
    expect(viewed.view.summary?.covers[0]).toBe(0);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('has no recap before the frontier has passed it', () => {
    const messages = [...steps(8), user('Mend it.'), ...steps(1, 'more')];
    const viewed = viewOf(body(messages), WORKING, { words: short });
    expect(viewed.view.summary?.form).toBe('alone');
    expect(messagesOf(viewed)).toContainEqual(user('Mend it.'));
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('precedes a request that opens with an earlier summary, which the next one replaces', () => {
    const opened = messagesOf(
      viewOf(body([user('Mend it.'), ...steps(8)]), { ...WORKING, keep_first_user: false }, { words: short }),
    );
    const messages = [user('First of all.'), ...opened, ...steps(8, 'more')];
    const viewed = viewOf(body(messages), WORKING, { words: short });
    const [first, request] = messagesOf(viewed);
    expect([first, viewed.view.recap]).toEqual([user('First of all.'), undefined]);
    expect(request?.content).toMatch(/<\/session_summary>\n\nMend it\.$/);
    expect(JSON.stringify(messagesOf(viewed)).match(/<session_summary/g)).toHaveLength(1);
    expect(request).not.toEqual(opened[0]);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is no text observation', () => {
    const messages = [
      assistant('ls'),
      user('Observation: x'),
      ...turn('a'),
      ...turn('b'),
      ...turn('c'),
      user('d'),
    ];
    const viewed = viewOf(body(messages), { ...FOUR_TURNS, text_observation_prefixes: ['Observation:'] });
    expect(messagesOf(viewed)[0]).toEqual(user('a?'));
  });

  it('keeps its images in auto, while later messages’ images go', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBO'.repeat(90)}` } };
    const messages = [user([image]), assistant('A cat.'), user([image]), assistant('A dog.'), user('And?')];
    const strategy = { mode: 'auto', token_soft_budget: 0, compact_keep: 1, min_reclaim_tokens: 0 } as const;
    expect([...viewOf(body(messages), strategy).view.removals.keys()]).toEqual([2]);
  });

  it('stays up to half of the hard budget, and is like any other message over that', () => {
    const asked = lines(20, 'the task');
    const messages = [user(asked), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const tokens = counter.message(viewOf(body(messages), FOUR_TURNS).request.messages[0] ?? never());
    const formUnder = (token_budget: number) =>
      viewOf(body(messages), { ...FOUR_TURNS, token_budget }, { words: short }).view.summary?.form;
    expect(formUnder(2 * tokens)).toBe('recap');
    expect(formUnder(2 * tokens - 1)).toBe('pair');
  });

  it('goes into the summary where the caller says so', () => {
    const messages = [system('s'), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), { ...FOUR_TURNS, keep_first_user: false });
    expect(messagesOf(viewed)[1]).toEqual(user(SHADOW_LINE));
    expect(messagesOf(viewed)).not.toContainEqual(user('a?'));
  });

  it('is not marked for /v1/compact, what is put after it is', () => {
    const messages = [user('Mend it.'), ...steps(8)];
    const { request, view } = viewOf(body(messages), WORKING, { words: short });
    const marks = JSON.parse(new TextDecoder().decode(writeCompactedMessages(request, view))).map(
      ({ compacted }: Message) => compacted,
    );
    expect(marks).toEqual([undefined, true, true, ...Array(6).fill(undefined)]);
  });

  it('begins the cached prefix of the view after the first move', () => {
    const messages = [system('s'), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const before = messagesOf(viewOf(body(messages.slice(0, -2)), FOUR_TURNS));
    const after = messagesOf(viewOf(body(messages), FOUR_TURNS));
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  });

  it.each([null, undefined])('stays by default: %s', (keep_first_user) => {
    for (const mode of ['summarize', 'auto'])
      expect(parseStrategy({ mode, keep_first_user })).toMatchObject({ value: { keep_first_user: true } });
  });

  it.each(['yes', 1, 'false', {}])('neither stays nor goes by %s', (keep_first_user) => {
    for (const mode of ['summarize', 'auto'])
      expect(parseStrategy({ mode, keep_first_user })).toMatchObject({
        ok: false,
        reason: { field: 'keep_first_user' },
      });
  });

  it.each(['trim', 'compact', 'rolling_summary', 'native', 'none'])('has no field in mode %s', (mode) => {
    expect(parseStrategy({ mode, keep_first_user: true })).toMatchObject({
      ok: false,
      reason: { field: 'keep_first_user' },
    });
  });
});

describe('the line for trimmed messages after a first request', () => {
  const MESSAGES = [system('s'), ...[0, 1, 2, 3].flatMap(long), user('next?')];

  it('is under the summary in the recap', () => {
    const viewed = viewOf(body(MESSAGES), TRIMMING);
    expect(viewed.report.applied_edits.map(({ type }) => type)).toContain('trim');
    const [, first, recap, next] = messagesOf(viewed);
    expect(first).toEqual(user('What of 0?'));
    const [block = '', line = ''] = String(recap?.content).split(/\n\n(?=⟦)/);
    expect(block).toMatch(BLOCK);
    expect(line).toMatch(LINE);
    expect(next).toEqual(user('What of 2?'));
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is alone in it without a summary', () => {
    const viewed = viewOf(body([system('s'), ...[0, 1, 2].flatMap(long), user('next?')]), {
      ...TRIMMING,
      token_budget: 2_900,
    });
    expect([viewed.view.summary, viewed.view.trim?.recap?.after]).toEqual([undefined, 1]);
    const [, first, recap] = messagesOf(viewed);
    expect(first).toEqual(user('What of 0?'));
    expect(recap).toEqual({ role: 'assistant', content: expect.stringMatching(LINE) });
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('weighs as much as the report says', () => {
    for (const words of [short, undefined]) {
      const viewed = viewOf(body(MESSAGES), TRIMMING, words ? { words } : {});
      const again = viewOf(body(messagesOf(viewed)), { mode: 'compact', token_budget: 1_000_000 });
      const error = (again.report.tokens?.before ?? 0) - (viewed.report.tokens?.after ?? 0);
      // Tokens of a line and of the text before it need not add up to the tokens of both together.
      expect(Math.abs(error)).toBeLessThanOrEqual(2);
    }
  });

  it('is one line when the view comes back as the array and is trimmed again, and leads to the one before', () => {
    const first = viewOf(body(MESSAGES), TRIMMING);
    const back = [...messagesOf(first), assistant('Seen.'), ...[4, 5, 6, 7].flatMap(long), user('again?')];
    const viewed = viewOf(body(back), TRIMMING);
    expect(viewed.view.trim).toBeDefined();
    expect(brokenLaws(viewed)).toEqual([]);
    const text = JSON.stringify(messagesOf(viewed));
    expect(text.match(/reason=trimmed/g)).toHaveLength(1);
    expect(text.match(/<session_summary/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(messagesOf(viewed)[1]).toEqual(user('What of 0?'));
  });
});

describe('a conversation as turns of text', () => {
  const textsOf = (messages: Message[], strategy: MemoryStrategyRequest, words = short) => {
    const { plan, view } = viewOf(body(messages), strategy, { words });
    const turns = conversationTurns(plan.history, view, Infinity);
    return { ...turns, recent_turns: turns.recent_turns.map(({ user }) => user) };
  };

  it('has the first request beside the summary that covers its turn', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d?')];
    const turns = textsOf(messages, FOUR_TURNS);
    expect(turns).toMatchObject({ first_user: 'a?', recent_turns: ['d?'] });
    expect(turns.summary).toMatch(BLOCK);
  });

  it('has it among the turns while its own turn goes on', () => {
    const turns = textsOf([user('Mend it.'), ...steps(8)], WORKING);
    expect(turns).toMatchObject({ first_user: null, recent_turns: ['Mend it.'] });
  });

  it('has it when the view comes back', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d?')];
    const sent = messagesOf(viewOf(body(messages), FOUR_TURNS));
    const turns = textsOf([...sent, assistant('d!')], FOUR_TURNS);
    expect(turns).toMatchObject({ first_user: 'a?', recent_turns: ['d?'], summary: sent[1]?.content });
  });

  it('shows the line for trimmed messages in its first turn', () => {
    const turns = textsOf([system('s'), ...[0, 1, 2, 3].flatMap(long), user('next?')], TRIMMING);
    expect(turns.first_user).toBe('What of 0?');
    expect(turns.recent_turns[0]).toMatch(/^⟦removed: messages [\s\S]*What of 2\?$/);
  });
});

describe('every conversation whose first request stays', () => {
  const RUNS = { numRuns: runs(6, 100), endOnFailure: true };
  const anyAuto = fc.tuple(
    fc.oneof(richConversation, brokenRichConversation, lateRichConversation),
    autoStrategy.map((strategy) => ({ ...strategy, keep_first_user: true })),
    fc.boolean().chain(autoOptions),
  );

  /** The rows of broken laws at each request. The law of the first request is one of them. */
  function brokenIn(views: readonly Viewed[]): string[] {
    return views.flatMap((viewed, at) => {
      const earlier = views[at - 1];
      return [...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])];
    });
  }

  it('has it in every view, byte for byte, in auto', () => {
    forAll({ ...RUNS, numRuns: runs(4, 40) }, anyAuto, ([conversation, strategy, options]) => {
      expect(brokenIn(viewsOf(conversation, strategy, options))).toEqual([]);
    });
  });

  it('has it in every view, byte for byte, in summarize', () => {
    const strategies = summarizeStrategy.map((strategy) => ({ ...strategy, keep_first_user: true }));
    forAll(RUNS, conversation, strategies, (body, strategy) => {
      expect(brokenIn(viewsOf(body, strategy, { words: short }))).toEqual([]);
    });
  });

  it('is recognized when its view comes back, and replays in step with the array', () => {
    const strategies = summarizeStrategy.map((strategy) => ({ ...strategy, keep_first_user: true }));
    const numRuns = runs(18, 300);
    let recaps = 0;
    const check = (body: ConversationBody, strategy: MemoryStrategyRequest): void => {
      const viewed = viewOf(body, strategy, { words: short });
      const { summary } = viewed.view;
      if (summary?.form !== 'recap') return;
      recaps++;
      const again = viewOf({ ...body, messages: messagesOf(viewed) }, strategy, { words: short });
      const echo = findEcho(again.request.messages, tenant.refs);
      expect(summary.block).toContain(echo?.ref ?? 'no ref');
      expect(again.request.messages[stayingFirst(again) ?? -1]?.digest).toBe(
        viewed.request.messages[stayingFirst(viewed) ?? -1]?.digest,
      );
      expect(messagesOf(again)[stayingFirst(again) ?? -1]).toEqual(
        messagesOf(viewed)[viewed.view.recap?.after ?? -1],
      );
    };
    for (const [body, strategy] of fc.sample(fc.tuple(conversation, strategies), {
      numRuns,
      seed: 11,
    }))
      check(body, strategy);
    expect(recaps).toBeGreaterThan(numRuns / 10);
  });

  it('is often recapped, with a line of Precis and without one', () => {
    const places = fc
      .sample(anyAuto, { numRuns: runs(100, 200), seed: 5 })
      .map(([conversation, strategy, options]) => viewOf(conversation, strategy, options).view.recap?.goesOn);
    expect(new Set(places)).toEqual(new Set([undefined, true, false]));
  });
});

function never(): never {
  throw new Error('there is no message');
}
