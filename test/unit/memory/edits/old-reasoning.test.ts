import { describe, expect, it } from 'vitest';
import { explain } from '../../../../src/memory/plan/explain.ts';
import { buildEvent } from '../../../../src/memory/run/build-event.ts';
import { outlineOfRun, runEventSchema } from '../../../../src/memory/run/event.ts';
import { piecesOf } from '../../../../src/summary/text/entries.ts';
import type { AutoRequest } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, calls, lines, result, user } from '../../../support/conversations/chat.ts';
import { counter, messagesOf, type Viewed, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

/** Moves free what they can, however little. */
const CLEARING = {
  mode: 'auto',
  min_reclaim_tokens: 0,
  low_watermark_pct: 0,
  compact_keep: 0,
  clear_reasoning: true,
} as const satisfies AutoRequest;

const thought = (of: string): string => lines(20, `thought ${of}`);

/** A turn with reasoning before its step and before its answer. */
const turn = (of: string, fields: (text: string) => Message = (text) => ({ reasoning_content: text })) => [
  user(`Do ${of}.`),
  { ...calls([`call_${of}`, 'look']), ...fields(thought(`before ${of}`)) },
  result(`call_${of}`, 'Nothing.'),
  assistant(`Did ${of}.`, fields(thought(`after ${of}`))),
];

const TURNS = [...turn('a'), ...turn('b'), ...turn('c'), user('And now?')];

/** Indices of the messages whose reasoning has left the view. */
const clearedIn = ({ view }: Viewed): number[] =>
  [...view.removals].flatMap(([index, edits]) =>
    edits.some(({ kind }) => kind === 'reasoning') ? [index] : [],
  );

/** The view of an array one token over the hard budget. No summary and no trim is ready. */
const view = (messages: Message[], more: object = {}, model = 'gpt-4.1'): Viewed => {
  const whole = viewOf(body(messages, { model }), { mode: 'auto', token_budget: 1_000_000 });
  const token_budget = (whole.report.tokens?.before ?? 0) - 1;
  const strategy = { ...CLEARING, token_budget, ...more } as AutoRequest;
  return viewOf(body(messages, { model }), strategy, { words: () => undefined, isStored: () => false });
};

describe('old reasoning', () => {
  it('leaves the view, with the calls and texts that it led to untouched', () => {
    const viewed = view(TURNS);

    expect(clearedIn(viewed)).toEqual([1, 3, 5, 7]);
    const sent = messagesOf(viewed);
    for (const [index, message] of TURNS.entries()) {
      const { reasoning_content: _, ...rest } = message as Message;
      expect(sent[index]).toEqual([1, 3, 5, 7].includes(index) ? rest : message);
    }
  });

  it.each([
    [1, [1, 3, 5, 7, 9, 11]],
    [2, [1, 3, 5, 7]],
    [3, [1, 3]],
    [4, []],
  ])('stays in the newest %i turns', (keep_reasoning_turns, cleared) => {
    expect(clearedIn(view(TURNS, { keep_reasoning_turns }))).toEqual(cleared);
  });

  it('stays in the tail', () => {
    expect(clearedIn(view(TURNS, { keep_reasoning_turns: 1, compact_keep: 3 }))).toEqual([1, 3]);
  });

  it.each<[what: string, budgets: object]>([
    ['a soft budget', { token_soft_budget: 100 }],
    ['a soft budget, within the hard one', { token_budget: 100_000, token_soft_budget: 100 }],
    ['a number of turns', { token_budget: 100_000, compact_trigger_turns: 2 }],
    ['a number of steps', { token_budget: 100_000, compact_trigger_steps: 1 }],
  ])('stays over %s, where only lossless edits act', (_, budgets) => {
    const messages = [...turn('long'), ...TURNS];
    messages[2] = result('call_long', lines(200));
    const viewed = viewOf(body(messages), { ...CLEARING, ...budgets, offload_min_tokens: 1_000 });
    expect(viewed.report.applied_edits.map(({ type }) => type)).toContain('offload');
    expect(clearedIn(viewed)).toEqual([]);
  });

  it('leaves a view that came to exceed the hard budget, also before the frontier of a soft one', () => {
    const long = turn('long');
    long[2] = result('call_long', lines(200));
    const budgets = { token_soft_budget: 2_000, token_budget: 3_000 };
    const views = viewsOf(body([...long, ...TURNS, ...turn('d'), ...turn('e'), user('Well?')]), {
      ...CLEARING,
      ...budgets,
      offload_min_tokens: 1_000,
    });
    const bySoft = views.findIndex(({ report }) => report.trigger === 'token_soft_budget');
    const byHard = views.findIndex(({ report }) => report.trigger === 'token_budget');
    expect(bySoft).toBeGreaterThan(-1);
    expect(byHard).toBeGreaterThan(bySoft);
    expect(views.slice(0, byHard).flatMap(clearedIn)).toEqual([]);
    expect(clearedIn(views[byHard] as Viewed)).toContain(1);
  });

  it('leaves with the trigger that clears it, where one meets another that does not', () => {
    const found = (of: string): Message[] => [
      user(`Do ${of}.`),
      { ...calls([`call_${of}`, 'look']), reasoning_content: thought(`before ${of}`) },
      result(`call_${of}`, lines(10, `found ${of}`)),
      assistant(`Did ${of}.`, { reasoning_content: thought(`after ${of}`) }),
    ];
    const messages = [...found('a'), ...found('b'), user('And now?')];
    const tail = { compact_keep: 1, keep_last_n_turns: 1, keep_reasoning_turns: 1, compact_min_tokens: 0 };
    const soft = { ...CLEARING, ...tail, token_soft_budget: 200 };
    const bySoft = viewOf(body(messages), soft);
    expect([bySoft.report.trigger, bySoft.report.frontier.moved]).toEqual(['token_soft_budget', true]);
    expect(clearedIn(bySoft)).toEqual([]);

    const byBoth = viewOf(body(messages), { ...soft, max_messages: 8 });
    expect(clearedIn(byBoth)).not.toEqual([]);
    expect([byBoth.report.trigger, byBoth.report.frontier.moved]).toEqual(['messages', true]);

    // Nothing is there that the soft budget may take.
    const byOne = viewOf(body(messages), { ...soft, compact_min_tokens: 10_000, max_messages: 8 });
    expect(byOne.report.trigger).toBe('messages');
  });

  it('stays until the frontier moves', () => {
    const views = viewsOf(body(TURNS), {
      ...CLEARING,
      token_budget: 1_150,
      low_watermark_pct: 0.9,
    });
    const moved = views.filter(({ report }) => report.frontier.moved);
    const changed = views.filter(
      (viewed, index) => index > 0 && clearedIn(viewed).length > clearedIn(views[index - 1] as Viewed).length,
    );
    expect(changed.length).toBeGreaterThan(0);
    expect(moved).toEqual(expect.arrayContaining(changed));
  });

  it.each<[what: string, fields: (text: string) => Message]>([
    ['reasoning', (text) => ({ reasoning: text })],
    ['reasoning_content', (text) => ({ reasoning_content: text })],
    ['both', (text) => ({ reasoning: text, reasoning_content: text })],
    ['reasoning_details', (text) => ({ reasoning_details: [{ type: 'reasoning.text', text }] })],
    [
      'reasoning_details beside its text',
      (text) => ({ reasoning: text, reasoning_details: [{ type: 'reasoning.summary', summary: text }] }),
    ],
    [
      'encrypted reasoning_details',
      (text) => ({ reasoning_details: [{ type: 'reasoning.encrypted', data: text }] }),
    ],
  ])('is counted and cleared as %s', (_, fields) => {
    const messages = [...turn('a', fields), ...turn('b'), ...turn('c'), user('And now?')];
    const viewed = view(messages, { keep_reasoning_turns: 3 });

    expect(clearedIn(viewed)).toEqual([1, 3]);
    const { tokens, applied_edits } = viewed.report;
    const again = view(messagesOf(viewed), { clear_reasoning: false });
    expect(again.report.tokens?.before).toBe(tokens?.after);
    const freed = (tokens?.before ?? 0) - (tokens?.after ?? 0);
    expect(applied_edits).toEqual([{ type: 'clear_reasoning', messages: 2, cleared_tokens: freed }]);
    expect(freed).toBeGreaterThan(100);
  });

  it('has the tokens of its text once, where a list repeats the text', () => {
    const text = thought('a');
    const [viewed] = [view([user('go'), assistant('ok', { reasoning: text })])];
    const repeated = { reasoning: text, reasoning_details: [{ type: 'reasoning.text', text }] };
    const other = view([user('go'), assistant('ok', repeated)]);
    expect(other.report.tokens?.before).toBe(viewed?.report.tokens?.before);
    expect(other.report.tokens?.before).toBeGreaterThan(counter.text(text));
  });

  it.each<[what: string, message: Message]>([
    ['an answer without a text', assistant('', { reasoning_content: thought('x') })],
    ['an answer whose content is null', assistant(null, { reasoning_content: thought('x') })],
    ['an empty text', assistant('ok', { reasoning_content: '' })],
    ['no text', assistant('ok', { reasoning_content: null, reasoning_details: [] })],
    ['a user message', { role: 'user', content: 'ok', reasoning_content: thought('x') }],
  ])('stays where it is all of %s', (_, message) => {
    const viewed = view([user('go'), message, user('on'), ...turn('b'), user('And now?')]);
    expect(clearedIn(viewed)).not.toContain(1);
    expect(messagesOf(viewed)[1]).toEqual(message);
  });

  it('stays where the answer goes on in a message without any', () => {
    const goesOn = [...turn('a'), assistant('And more.'), ...turn('b'), ...turn('c'), user('And now?')];
    expect(clearedIn(view(goesOn))).toEqual([1, 6, 8]);
  });

  it.each([
    ['deepseek-v4-pro', true],
    ['kimi-k3', true],
    ['claude-opus-4-5', true],
    ['gpt-4.1', undefined],
    ['gpt-4.1', false],
    // Only its items are known to be billed.
    ['gpt-5.6', undefined],
  ])('stays with %s where clear_reasoning is %s', (model, clear_reasoning) => {
    const viewed = view(TURNS, { clear_reasoning }, model);
    expect(clearedIn(viewed)).toEqual([]);
    expect(messagesOf(viewed)).toEqual(TURNS);
  });

  it('is in the explanation, the event and its outline, and no ref is named', () => {
    const { plan, view: rendered, report } = view(TURNS, { keep_reasoning_turns: 3 });
    const { messages } = explain(plan, rendered, counter);
    const [, edited, , , ,] = messages;

    expect(report.refs).toEqual([]);
    expect(edited).toMatchObject({ index: 1, fate: 'cleared' });
    expect(edited?.edits).toEqual([
      {
        kind: 'reasoning',
        reason: 'old_reasoning',
        tool_name: 'reasoning',
        tool_call_id: 'none',
        tokens: counter.text(thought('before a')),
        freed: counter.text(thought('before a')),
      },
    ]);
    expect((edited?.before ?? 0) - (edited?.after ?? 0)).toBe(counter.text(thought('before a')));

    const { edits, left_out } = buildEvent({ report, view: rendered, refused: [] }, {
      messages: TURNS.length,
    } as never);
    expect(runEventSchema.shape.edits.parse(edits)).toHaveLength(2);
    const outline = outlineOfRun({ messages: TURNS.length, edits, left_out });
    expect(outline.map(({ fate }) => fate).slice(0, 5)).toEqual([
      'kept',
      'cleared',
      'kept',
      'cleared',
      'kept',
    ]);
  });

  it('is still read by who summarizes the messages that it has left', () => {
    const { plan, view: rendered } = view(TURNS);
    const removals = [...rendered.removals.values()].flat();
    const [piece] = piecesOf(plan.history, 0, [{ end: 4, prefixHash: '', sequence: -1 }], removals);

    expect(removals.map(({ message }) => message)).toContain(1);
    expect(piece?.entries[1]?.text).toContain(thought('before a'));
    expect(piece?.entries[1]?.calls).toMatchObject([{ id: 'call_a', name: 'look', input: '{}' }]);
  });
});
