import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findEcho, SHADOW_LINE } from '../../../../src/memory/conversation/session-summary.ts';
import { writeCompactedMessages } from '../../../../src/protocol/chat/request.ts';
import {
  brokenConversation,
  type ConversationBody,
  conversation,
  summarizeStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  result,
  step,
  system,
  user,
} from '../../../support/conversations/chat.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  asLongAsAllowed,
  counter,
  messagesOf,
  short,
  tenant,
  type Viewed,
  type ViewOptions,
  viewOf,
} from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const turn = (name: string, size = 30): Message[] => [
  user(`${name}?`),
  ...step('1', 'f', lines(size, name)),
  assistant(`${name}!`),
];
/** Without the first request; `first-request.test.ts` has the views that keep it. */
const FOUR_TURNS = {
  mode: 'summarize',
  context_limit: 4,
  keep_last_n_turns: 1,
  keep_first_user: false,
} as const;
const rolesOf = (viewed: Viewed) => messagesOf(viewed).map(({ role }) => role);
/** The content of a forwarded message, as its parts. */
const partsOf = (message: Message | undefined): Message[] => (message?.content ?? []) as Message[];
const REF = /ref="(ref_[a-z2-7]{26})"/;

describe('summarize', () => {
  it('changes nothing below the limit of turns', () => {
    const messages = [...turn('a'), ...turn('b'), user('c')];
    const viewed = viewOf(body(messages), FOUR_TURNS);
    expect(viewed.bytes).toEqual(viewed.request.bytes);
    expect(viewed.report).toMatchObject({ trigger: 'none', applied_edits: [], frontier: { moved: false } });
  });

  it('replaces all turns before the tail by a question and a summary', () => {
    const messages = [system('s'), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS);
    const [first, asked, summary, ...tail] = messagesOf(viewed);
    expect(first).toEqual(system('s'));
    expect(asked).toEqual(user(SHADOW_LINE));
    expect(summary).toMatchObject({
      role: 'assistant',
      content: expect.stringMatching(
        /^<session_summary ref="ref_[a-z2-7]{26}" covers="1-12">\nSummary of [\s\S]*\n<\/session_summary>$/,
      ),
    });
    expect(tail).toEqual([user('d')]);
    expect(viewed.report).toMatchObject({
      trigger: 'turns',
      frontier: { moved: true },
      applied_edits: [{ type: 'summarize', messages: 12 }],
    });
  });

  it('leaves a system message in its middle where it is', () => {
    const messages = [...turn('a'), system('late'), ...turn('b'), ...turn('c'), user('d')];
    expect(rolesOf(viewOf(body(messages), FOUR_TURNS))).toEqual(['user', 'assistant', 'system', 'user']);
  });

  it('moves once in a while under a limit of turns, and says so', () => {
    const moves: boolean[] = [];
    const messages: Message[] = [];
    for (let index = 0; index < 10; index++) {
      messages.push(user(`q${index}`));
      moves.push(viewOf(body(messages), FOUR_TURNS).report.frontier.moved);
      messages.push(...step('1', 'f', lines(20, `o${index}`)), assistant(`a${index}`));
    }
    expect(moves).toEqual([false, false, false, true, false, false, true, false, false, true]);
  });

  it('stops at the low watermark, at the beginning of a turn', () => {
    const messages = [...'abcdefgh'].flatMap((name) => turn(name));
    const { before = 0 } = viewOf(body(messages), { mode: 'summarize' }).report.tokens ?? {};
    const kept = (low_watermark_pct: number) =>
      viewOf(body(messages), {
        mode: 'summarize',
        token_budget: before - 1,
        keep_last_n_turns: 1,
        summary_max_tokens: 64,
        low_watermark_pct,
      }).plan.replay;
    expect(kept(0).cuts.turn).toBe(21);
    expect(kept(0.5).cuts.turn).toBeLessThan(21);
    expect(kept(0.5).cuts.turn % 3).toBe(0);
    expect(kept(0.5).after).toBeLessThanOrEqual(before / 2);
    expect(kept(0.5).after).toBeGreaterThan(before / 3);
  });

  describe('inside of a turn', () => {
    const steps = Array.from({ length: 8 }, (_, index) =>
      step(`c${index}`, 'f', lines(20, `out${index}`)),
    ).flat();
    const strategy = { mode: 'summarize', token_budget: 1_000, keep_first_user: false } as const;
    const request = (content: unknown, more: Message = {}) => ({ ...user(content), ...more });
    const open = (asked: Message) => viewOf(body([system('s'), asked, ...steps]), strategy, { words: short });

    it('lets the request that is being worked on open with the summary, and keeps the last three steps', () => {
      const viewed = open(request('Mend it.'));
      expect(rolesOf(viewed)).toEqual(['system', 'user', ...Array(3).fill(['assistant', 'tool']).flat()]);
      expect(messagesOf(viewed)[1]?.content).toMatch(
        /^<session_summary ref="ref_[a-z2-7]{26}" covers="1-11">\nSummary of [\s\S]*\n<\/session_summary>\n\nMend it\.$/,
      );
    });

    it('keeps the fields of the request as they are', () => {
      const viewed = open(request('Mend it.', { name: 'ada' }));
      expect(messagesOf(viewed)[1]).toMatchObject({ role: 'user', name: 'ada' });
    });

    it('puts a part before the parts of a request, whose bytes and cache breakpoints stay', () => {
      const parts = [
        { type: 'text', text: 'Mend it.', cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
      ];
      const content = partsOf(messagesOf(open(request(parts)))[1]);
      expect(content.slice(1)).toEqual(parts);
      expect(content[0]).toEqual({
        type: 'text',
        text: expect.stringMatching(/^<session_summary [\s\S]*<\/session_summary>$/),
      });
    });

    it('opens a request that begins with an image', () => {
      const image = { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } };
      const content = partsOf(messagesOf(open(request([image])))[1]);
      expect(content).toEqual([{ type: 'text', text: expect.stringContaining('<session_summary') }, image]);
    });

    it('is alone in a request that says nothing', () => {
      expect(messagesOf(open(request('')))[1]?.content).toMatch(/<\/session_summary>$/);
      expect(messagesOf(open(request(null)))[1]?.content).toMatch(/<\/session_summary>$/);
      expect(messagesOf(open({ role: 'user' }))[1]?.content).toMatch(/<\/session_summary>$/);
    });

    it('leaves the request of an earlier turn to the summary', () => {
      const viewed = viewOf(body([...turn('a'), user('Now this.'), ...steps]), strategy, { words: short });
      const asked = messagesOf(viewed).filter(({ role }) => role === 'user');
      expect(asked).toHaveLength(1);
      expect(asked[0]?.content).toMatch(/\n\nNow this\.$/);
    });

    it('is a user message of its own where nobody has asked for anything', () => {
      const viewed = viewOf(body([system('s'), ...steps]), strategy, { words: short });
      expect(rolesOf(viewed).slice(0, 3)).toEqual(['system', 'user', 'assistant']);
      expect(messagesOf(viewed)[1]?.content).toMatch(/^<session_summary [\s\S]*<\/session_summary>$/);
      expect(brokenLaws(viewed)).toEqual([]);
    });

    it('replaces the summary that the request opens with already', () => {
      const once = messagesOf(open(request('Mend it.')));
      const more = Array.from({ length: 6 }, (_, index) =>
        step(`d${index}`, 'f', lines(20, `more${index}`)),
      ).flat();
      const viewed = viewOf(body([...once, ...more]), strategy, { words: short });
      const content = String(messagesOf(viewed)[1]?.content);
      expect(content.match(/<session_summary/g)).toHaveLength(1);
      expect(content).toMatch(/\n\nMend it\.$/);
      expect(content).not.toBe(once[1]?.content);
      expect(brokenLaws(viewed)).toEqual([]);
    });

    it('replaces the part that holds an earlier summary', () => {
      const image = { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } };
      const once = messagesOf(open(request([{ type: 'text', text: 'Mend it.' }, image])));
      const more = Array.from({ length: 6 }, (_, index) =>
        step(`d${index}`, 'f', lines(20, `more${index}`)),
      ).flat();
      const viewed = viewOf(body([...once, ...more]), strategy, { words: short });
      const content = partsOf(messagesOf(viewed)[1]);
      expect(content).toHaveLength(3);
      expect(content[0]).not.toEqual(partsOf(once[1])[0]);
      expect(content.slice(1)).toEqual([{ type: 'text', text: 'Mend it.' }, image]);
    });

    it('keeps a cache breakpoint on the part that holds an earlier summary', () => {
      const [head, asked, ...tail] = messagesOf(open(request([{ type: 'text', text: 'Mend it.' }])));
      const [part, ...others] = partsOf(asked);
      const marked = { ...part, cache_control: { type: 'ephemeral' } };
      const more = Array.from({ length: 6 }, (_, index) =>
        step(`d${index}`, 'f', lines(20, `more${index}`)),
      ).flat();
      const messages = [head ?? {}, { ...asked, content: [marked, ...others] }, ...tail, ...more];
      const viewed = viewOf(body(messages), strategy, { words: short });
      const content = partsOf(messagesOf(viewed)[1]);
      expect(content[0]).toMatchObject({ cache_control: { type: 'ephemeral' } });
    });

    it('counts the tokens of what is sent', () => {
      const viewed = open(request([{ type: 'text', text: 'Mend it.' }]));
      const again = viewOf(body(messagesOf(viewed)), strategy);
      expect(viewed.report.tokens?.after).toBe(again.report.tokens?.before);
    });
  });

  describe('whose view comes back as the array', () => {
    const messages = [system('s'), ...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const once = messagesOf(viewOf(body(messages), FOUR_TURNS));
    const later = [...once, assistant('d!'), ...turn('e'), ...turn('f'), user('g')];

    it('changes nothing before the limit is met again, the summary being no turn', () => {
      const viewed = viewOf(body(later.slice(0, -1)), FOUR_TURNS);
      expect(messagesOf(viewed)).toEqual(later.slice(0, -1));
    });

    it('builds the next summary on the one that came back', () => {
      const viewed = viewOf(body(later), FOUR_TURNS);
      expect(viewed.plan.history.echo?.ref).toBe(REF.exec(String(once[2]?.content))?.[1]);
      expect(rolesOf(viewed)).toEqual(['system', 'user', 'assistant', 'user']);
      expect(messagesOf(viewed)[2]?.content).toContain('covers="1-12"');
      expect(messagesOf(viewed)[2]).not.toEqual(once[2]);
    });

    it('counts the tokens of an earlier summary in full: it is condensed already', () => {
      const { prefix, history } = viewOf(body(later), FOUR_TURNS).plan;
      const known = counter.text(history.echo?.text ?? '');
      expect(prefix?.limit).toBe(known + Math.floor(((prefix?.covered ?? 0) - known) / 2));
    });
  });

  it('makes no summary that could say nothing, nor one that frees nothing', () => {
    const small = [
      user('a'),
      assistant('b'),
      user('c'),
      assistant('d'),
      user('e'),
      assistant('f'),
      user('g'),
    ];
    const viewed = viewOf(body(small), FOUR_TURNS);
    expect(viewed.bytes).toEqual(viewed.request.bytes);
    expect(viewed.report.frontier).toEqual({ unit: 0, moved: false });
  });

  it('leaves everything in full when there are no words', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS, { words: () => undefined });
    expect(viewed.bytes).toEqual(viewed.request.bytes);
    expect(viewed.report.tokens?.after).toBe(viewed.report.tokens?.before);
    expect(viewed.report.applied_edits).toEqual([]);
  });

  it('leaves everything in full when the words are not shorter', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS, { words: () => lines(500) });
    expect(viewed.bytes).toEqual(viewed.request.bytes);
  });

  it('names no ref of a transcript that is not known to be written', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const viewed = viewOf(body(messages), FOUR_TURNS, { isStored: () => false });
    expect(messagesOf(viewed)[1]?.content).toMatch(/^<session_summary covers="0-11">/);
  });

  it('marks for /v1/compact what it has put in, and what it has opened', () => {
    const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('d')];
    const marksOf = ({ request, view }: Viewed): unknown[] =>
      JSON.parse(new TextDecoder().decode(writeCompactedMessages(request, view))).map(
        ({ compacted }: Message) => compacted,
      );
    expect(marksOf(viewOf(body(messages), FOUR_TURNS))).toEqual([true, true, undefined]);
    const working = [
      user('a'),
      ...Array.from({ length: 6 }, (_, at) => step(`${at}`, 'f', lines(30))).flat(),
    ];
    const opened = viewOf(body(working), { mode: 'summarize', token_budget: 1_000, keep_first_user: false });
    expect(marksOf(opened)).toEqual([true, ...Array(6).fill(undefined)]);
  });

  it('keeps what the room for the answer has moved, or says that the frontier moved', () => {
    const asked = (words: number, ...outputs: string[]): Message[] => [
      user('word '.repeat(words)),
      ...outputs.flatMap((output, at) => step(`${at}`, 'f', output)),
    ];
    const messages = [
      ...asked(0, 'word '.repeat(136), ''),
      ...asked(0, ''),
      ...asked(0, ''),
      ...asked(0, ''),
    ];
    const strategy = {
      mode: 'summarize',
      context_window_tokens: 300,
      token_budget: 300,
      keep_first_user: false,
    } as const;
    const room = { max_tokens: 105 };
    const earlier = viewOf(body(messages.slice(0, -2), room), strategy);
    expect(earlier.report.frontier.moved).toBe(true);
    const later = viewOf(body(messages, room), strategy);
    expect(brokenPrefix(earlier, later)).toEqual([]);
  });

  it('never hides the turn that is being worked on, though no turn is to be kept', () => {
    const messages = [
      ...turn('a'),
      ...turn('b'),
      ...turn('c'),
      user('d'),
      calls(['9', 'f']),
      result('9', 'x'),
    ];
    const viewed = viewOf(body(messages), { ...FOUR_TURNS, keep_last_n_turns: 0 });
    expect(messagesOf(viewed).slice(2)).toEqual(messages.slice(-3));
  });
});

describe('every summarized conversation', () => {
  const RUNS = { numRuns: runs(8, 60), endOnFailure: true };
  const words = fc.constantFrom<ViewOptions>({ words: asLongAsAllowed }, { words: short });

  /** The array at each request point. */
  function requestsOf(body: ConversationBody, from = 0): ConversationBody[] {
    const { history } = viewOf(body, { mode: 'summarize' }).plan;
    return history.requestPoints
      .filter(({ messages }) => messages >= from)
      .map(({ messages }) => ({ ...body, messages: body.messages.slice(0, messages) }));
  }

  it('keeps the laws at every request, whatever the words', () => {
    forAll(RUNS, conversation, summarizeStrategy, words, (body, strategy, options) => {
      let earlier: Viewed | undefined;
      for (const request of requestsOf(body)) {
        const viewed = viewOf(request, strategy, options);
        expect([...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])]).toEqual([]);
        earlier = viewed;
      }
    });
  });

  it('has no more breaks than it had', () => {
    forAll(RUNS, brokenConversation, summarizeStrategy, words, (body, strategy, options) => {
      expect(brokenLaws(viewOf(body, strategy, options))).toEqual([]);
    });
  });

  it('covers whole units from the beginning on, and at least one', () => {
    forAll(RUNS, conversation, summarizeStrategy, (body, strategy) => {
      const { plan, view } = viewOf(body, strategy);
      if (!view.summary || !plan.prefix) return;
      const { units } = plan.history;
      expect(plan.prefix.unit).toBeGreaterThan(0);
      const { request, first, running } = plan.prefix;
      const stays = [request, first, running];
      for (const [index, unit] of units.entries()) {
        const messages = plan.history.messages.flatMap(({ role }, at) =>
          role !== 'preamble' && at >= unit.first && at <= unit.last && !stays.includes(at) ? [at] : [],
        );
        expect(messages.every((at) => view.dropped.has(at) === index < (plan.prefix?.unit ?? 0))).toBe(true);
      }
    });
  });

  it('goes on when its view comes back as the array: the laws hold, and no summary of a summary is shown beside it', () => {
    forAll(RUNS, conversation, conversation, summarizeStrategy, words, (body, next, strategy, options) => {
      const sent = messagesOf(viewOf(body, strategy, options)) as ConversationBody['messages'];
      const later = next.messages.filter(({ role }) => role !== 'system' && role !== 'developer');
      const messages = [...sent, ...(sent.at(-1)?.role === 'assistant' ? [] : [assistant('ok')]), ...later];
      // No result would answer a call that waits for one.
      fc.pre(!sent.at(-1)?.tool_calls);
      let earlier: Viewed | undefined;
      for (const request of requestsOf({ ...body, messages }, sent.length)) {
        const viewed = viewOf(request, strategy, options);
        expect([...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])]).toEqual([]);
        const text = JSON.stringify(messagesOf(viewed));
        expect(text.match(/<session_summary/g)?.length ?? 0).toBeLessThanOrEqual(1);
        earlier = viewed;
      }
    });
  });

  it('begins its tail with a turn where the caller has set the turns and not the steps', () => {
    forAll(RUNS, conversation, summarizeStrategy, fc.integer({ min: 0, max: 3 }), (body, strategy, keep) => {
      const { view, plan } = viewOf(body, { ...strategy, mode: 'summarize', keep_last_n_turns: keep });
      if (!view.summary) return;
      expect(['recap', 'pair']).toContain(view.summary.form);
      expect(plan.history.units[plan.prefix?.unit ?? -1]?.kind).toBe('user');
    });
  });

  it('is recognized by its summary when it comes back', () => {
    forAll(RUNS, conversation, summarizeStrategy, (body, strategy) => {
      const viewed = viewOf(body, strategy);
      const { summary } = viewed.view;
      const again = viewOf({ ...body, messages: messagesOf(viewed) }, { mode: 'summarize' });
      const echo = findEcho(again.request.messages, tenant.refs);
      expect(echo?.ref).toBe(summary && REF.exec(summary.block)?.[1]);
    });
  });

  it('changes nothing where no limit is reached', () => {
    forAll(RUNS, conversation, (body) => {
      const viewed = viewOf(body, { mode: 'summarize', context_limit: 1_000, token_budget: 1_000_000 });
      expect(viewed.bytes).toEqual(viewed.request.bytes);
      expect(viewed.report.applied_edits).toEqual([]);
    });
  });

  it('is often summarized, in each of its forms', () => {
    const forms = new Set<string | undefined>();
    for (const [body, strategy] of fc.sample(fc.tuple(conversation, summarizeStrategy), {
      numRuns: runs(25, 200),
      seed: 7,
    }))
      forms.add(viewOf(body, strategy).view.summary?.form);
    expect(forms).toEqual(new Set([undefined, 'recap', 'pair', 'request']));
  });
});
