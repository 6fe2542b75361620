import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { termsOf } from '../../../../src/memory/models/terms.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { mayAct } from '../../../../src/memory/plan/plan.ts';
import { frontierUnit } from '../../../../src/memory/replay/rule.ts';
import {
  autoStrategy,
  conversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, calls, lines, result, step, user } from '../../../support/conversations/chat.ts';
import { brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  counter,
  messagesOf,
  short,
  strategyOf,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewsOf,
} from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;
type AutoInput = Omit<Extract<MemoryStrategyRequest, { mode: 'auto' }>, 'mode'>;

/** Each edit is made as soon as its budget requires it, and no further. */
const EXACT = { min_reclaim_tokens: 0, low_watermark_pct: 1, compact_preview_tokens: 0 } as const;

const view = (messages: Message[], input: AutoInput = {}, options: ViewOptions = {}): Viewed =>
  viewOf(body(messages), { mode: 'auto', ...EXACT, ...input }, options);
const tokensOf = (messages: Message[]): number => view(messages).plan.replay.before;
const typesOf = ({ report }: Viewed): string[] => report.applied_edits.map(({ type }) => type);

/** `n` steps, each with its own tool. */
const steps = (n: number, size = 60, name = 'tool'): Message[] =>
  Array.from({ length: n }, (_, at) =>
    step(`${name}_${at}`, `${name}_${at}`, lines(size, `${name} ${at}`)),
  ).flat();
/** The protected steps, in which nothing could be edited anyway. */
const TAIL = ['x', 'y', 'z'].flatMap((name) => step(name, name, `ok ${name}`));
/** A turn of one step and a long answer. */
const turn = (name: string, size = 60, answer = 20): Message[] => [
  user(`What of ${name}?`),
  ...step(name, `tool_${name}`, lines(size, name)),
  assistant(`Of ${name}: ${lines(answer, `answer ${name}`)}`),
];
const turns = (n: number, answer?: number): Message[] =>
  Array.from({ length: n }, (_, at) => turn(`t${at}`, 60, answer)).flat();

const LARGE = lines(900, 'large');
const AGAIN = lines(80, 'again');

describe('each phase of auto', () => {
  const huge = step('huge', 'dump', LARGE);
  const repeated = [...step('one', 'status', AGAIN), ...step('two', 'status', AGAIN)];
  const input = JSON.stringify({ text: lines(60, 'code') });
  const written: Message[] = [calls(['w', 'write', input]), result('w', 'ok')];
  const messages = [user('go'), ...huge, ...repeated, ...written, ...steps(3), ...TAIL];
  const most = tokensOf(messages);

  it.each<[over: number, types: string[]]>([
    [0, []],
    [1, ['offload']],
    [counter.text(LARGE) - 700, ['offload']],
    [counter.text(LARGE) + 100, ['offload', 'dedupe']],
    [counter.text(LARGE) + counter.text(AGAIN) + 200, ['offload', 'dedupe', 'compact']],
  ])('runs only where the one before has not freed enough: %i tokens over its budget, %j', (over, types) => {
    const viewed = view(messages, { token_soft_budget: most - over, offload_min_tokens: 5_000 });
    expect(typesOf(viewed)).toEqual(types);
    expect(viewed.report.tokens?.after).toBeLessThanOrEqual(most - over);
  });

  it('is alone where there is nothing for the others', () => {
    const alone = (more: Message[]): unknown[] => {
      const all = [user('go'), ...more, ...TAIL];
      return [
        ...view(all, { token_soft_budget: tokensOf(all) - 300, offload_min_tokens: 5_000 }).report
          .applied_edits,
      ];
    };
    expect(alone(huge)).toMatchObject([{ type: 'offload', cleared_tool_results: 1 }]);
    expect(alone(repeated)).toMatchObject([{ type: 'dedupe', cleared_tool_results: 1 }]);
    expect(alone(written)).toMatchObject([
      { type: 'compact', cleared_tool_inputs: 1, cleared_tool_results: 0 },
    ]);
    expect(alone(steps(3))).toMatchObject([
      { type: 'compact', cleared_tool_inputs: 0, cleared_tool_results: 1 },
    ]);
  });

  it('frees what the report says, together what the view has less', () => {
    const { report } = view(messages, { token_soft_budget: 0, offload_min_tokens: 5_000 });
    const freed = report.applied_edits.reduce((sum, { cleared_tokens }) => sum + cleared_tokens, 0);
    expect(report.applied_edits).toHaveLength(3);
    expect(freed).toBe((report.tokens?.before ?? 0) - (report.tokens?.after ?? 0));
  });

  it('clears arguments over 500 tokens, and no smaller ones, unless the strategy forbids it', () => {
    const cleared = (input: string, more: AutoInput = {}): boolean => {
      const all = [user('go'), calls(['w', 'write', input]), result('w', 'ok'), ...TAIL];
      return typesOf(view(all, { token_soft_budget: 0, ...more })).length > 0;
    };
    const of = (tokens: number): string => {
      let text = '{"a":"';
      while (counter.text(`${text}"}`) < tokens) text += ' a';
      return `${text}"}`;
    };
    expect([counter.text(of(500)), counter.text(of(501))]).toEqual([500, 501]);
    expect([cleared(of(500)), cleared(of(501))]).toEqual([false, true]);
    expect(cleared(of(501), { compact_clear_tool_inputs: false })).toBe(false);
  });

  it('compacts outputs from compact_min_tokens on', () => {
    const output = lines(60);
    const compacted = (compact_min_tokens: number): boolean =>
      typesOf(
        view([user('go'), ...step('1', 'f', output), ...TAIL], { token_soft_budget: 0, compact_min_tokens }),
      ).length > 0;
    expect([counter.text(output), counter.text(output) + 1].map(compacted)).toEqual([true, false]);
  });

  it('edits only tools that are included, and none that is excluded', () => {
    const tools = (more: AutoInput): string[] =>
      view(messages, { token_soft_budget: 0, offload_min_tokens: 5_000, ...more }).report.refs.map(
        ({ tool_name }) => tool_name,
      );
    expect(tools({ compact_include_tools: ['write', 'status'] })).toEqual(['status', 'write']);
    expect(tools({ compact_exclude_tools: ['dump', 'status', 'tool_1'] })).toEqual([
      'write',
      'tool_0',
      'tool_2',
    ]);
  });

  it('but offload is done without a tenant, with placeholders that name no ref', () => {
    const small = [user('go'), ...repeated, ...steps(3), ...TAIL];
    const input = { token_budget: tokensOf(small) - counter.text(AGAIN) - 200 };
    const { report, bytes } = view(small, input, { tenant: undefined });
    expect(report.applied_edits).toMatchObject([
      { type: 'dedupe', cleared_tool_results: 1 },
      { type: 'compact', cleared_tool_results: 1 },
    ]);
    expect(report.refs).toEqual([]);
    expect(new TextDecoder().decode(bytes)).not.toContain('ref_');
  });

  it('loses nothing under the soft budget: without refs, none is run there', () => {
    const soft = { token_soft_budget: 0 };
    expect(typesOf(view(messages, soft, { tenant: undefined }))).toEqual([]);
    expect(typesOf(view(messages, { ...soft, compact_offload: false }))).toEqual([]);
  });
});

describe('without a budget, auto', () => {
  const long = [user('go'), ...steps(60, 300), ...TAIL];
  const of = (model: string, input: AutoInput = {}, options: ViewOptions = { retrieval: true }): Viewed =>
    viewOf({ ...body(long), model }, { mode: 'auto', ...input }, options);

  it('moves over the goal that the price of a model makes, and loses nothing there', () => {
    const viewed = of('gpt-4.1');
    expect(viewed.report.tokens).toMatchObject({ soft_budget: 100_000, window: 1_047_576 });
    expect(viewed.report.tokens?.before).toBeGreaterThan(110_000);
    expect(viewed.report.tokens?.after).toBeLessThan(100_000);
    expect([viewed.report.trigger, typesOf(viewed)]).toEqual(['token_soft_budget', ['compact']]);
    expect(viewed.report.refs.length).toBeGreaterThan(5);
  });

  it.each<[why: string, viewed: () => Viewed]>([
    ['the model can’t fetch what leaves', () => of('gpt-4.1', {}, {})],
    ['nothing can be stored', () => of('gpt-4.1', {}, { retrieval: true, tenant: undefined })],
    ['its caller wants no placeholders', () => of('gpt-4.1', { compact_offload: false })],
    ['its price has a step', () => of('gpt-5.6-sol')],
    ['its price is not known', () => of('a-model-of-nobody')],
    ['its caller has a budget', () => of('gpt-4.1', { token_budget: 500_000 })],
    ['the goal is further away', () => of('claude-fable-5.2')],
  ])('waits for the window where %s', (_, viewed) => {
    expect(typesOf(viewed())).toEqual([]);
    expect(viewed().report.warnings).not.toContain('soft_budget_idle');
  });
});

describe('a summary in auto', () => {
  /** Views of a conversation of this many turns. */
  const story = (n: number, input: AutoInput): Viewed[] =>
    viewsOf(body(turns(n)), { mode: 'auto', ...EXACT, ...input });

  it('is made only where all that can be fetched again leaves the view over its budget', () => {
    const messages = [...turns(8), user('next?')];
    const reversible = view(messages, { token_soft_budget: 0 }).plan.replay.after;
    const types = (token_budget: number): string[] => typesOf(view(messages, { token_budget }));
    expect(types(reversible + 1_000)).toEqual(['compact']);
    expect(types(reversible - 1_000)).toContain('summarize');
  });

  it('is never made for the watermark alone', () => {
    const messages = [...turns(8), user('next?')];
    const reversible = view(messages, { token_soft_budget: 0 }).plan.replay.after;
    const token_budget = reversible + 1_000;
    expect(typesOf(view(messages, { token_budget, low_watermark_pct: 0.1 }))).toEqual(['compact']);
  });

  it('replaces first what lies before the new frontier, and then what lay before the last one', () => {
    const views = story(24, { token_budget: 4_000, low_watermark_pct: 0.6 });
    const made = views.flatMap((later, index) => {
      const earlier = views[index - 1];
      return earlier && later.plan.prefix?.end !== earlier.plan.prefix?.end ? [{ earlier, later }] : [];
    });
    const [first, ...others] = made;
    expect(first?.later.plan.prefix?.unit).toBe(first?.later.report.frontier.unit);
    for (const { earlier, later } of others) {
      expect(later.plan.prefix?.unit).toBe(earlier.report.frontier.unit);
      expect(earlier.plan.ahead?.().next?.end ?? later.plan.prefix?.end).toBe(later.plan.prefix?.end);
    }
    expect(others.length).toBeGreaterThan(2);
  });

  it('covers placeholders, not what was removed', () => {
    const viewed = view([...turns(12), user('next?')], { token_budget: 4_000 });
    const { prefix, segments, history } = viewed.plan;
    const removed = segments.flat().filter(({ message }) => message < (prefix?.end ?? 0));
    const whole = history.messages
      .slice(0, prefix?.end)
      .reduce((sum, message) => sum + counter.message(message), 0);
    expect(removed.length).toBeGreaterThan(0);
    expect(prefix?.covered).toBe(whole - removed.reduce((sum, { freed }) => sum + freed, 0));
  });

  it('is shown again at every request until the next one is made, whatever else moves', () => {
    for (const viewed of story(24, { token_budget: 4_000, low_watermark_pct: 0.6 })) {
      const blocks = JSON.stringify(messagesOf(viewed)).match(/<session_summary/g) ?? [];
      expect(blocks.length).toBe(viewed.plan.prefix ? 1 : 0);
    }
  });

  it('is never made under the soft budget, nor is anything left out', () => {
    const views = story(24, { token_soft_budget: 2_000 });
    expect(new Set(views.flatMap(typesOf))).toEqual(new Set(['compact']));
    for (const { report, plan } of views) expect([plan.dropped, report.warnings]).toEqual([[], []]);
  });

  it('is made between soft and hard budget only when the hard one is exceeded', () => {
    const views = story(40, { token_soft_budget: 2_000, token_budget: 8_000 });
    const triggers = { summary: new Set<string>(), placeholders: new Set<string>() };
    for (const [index, { plan, report }] of views.entries()) {
      const isNew = plan.prefix?.end !== views[index - 1]?.plan.prefix?.end;
      if (report.frontier.moved) triggers[isNew ? 'summary' : 'placeholders'].add(report.trigger);
    }
    expect(triggers.summary).toEqual(new Set(['token_budget']));
    expect(triggers.placeholders).toContain('token_soft_budget');
  });

  it('builds on one that came back, whose words count in full', () => {
    const messages = [...turns(12), user('next?')];
    const once = messagesOf(view(messages, { token_budget: 4_000 }));
    const later = [...once, assistant('Seen.'), ...turns(8), user('again?')];
    const { plan, view: shown } = view(later, { token_budget: 4_000 });
    expect(plan.history.echo).toBeDefined();
    expect(plan.prefix?.limit).toBeGreaterThan(counter.text(plan.history.echo?.text ?? ''));
    expect(shown.summary).toBeDefined();
  });

  it('leaves placeholders in its place when there are no words', () => {
    const messages = [...turns(12), user('next?')];
    const input = { token_budget: 4_000 };
    const [wordless, planned] = [view(messages, input, { words: () => undefined }), view(messages, input)];
    expect(planned.view.summary).toBeDefined();
    expect(wordless.view.dropped.size).toBe(0);
    expect([...wordless.view.removals.keys()].toSorted((a, b) => a - b)).toEqual(
      planned.plan.segments
        .flat()
        .map(({ message }) => message)
        .toSorted((a, b) => a - b),
    );
    expect(wordless.report.warnings).toEqual(['over_budget']);
  });

  it('goes on being made after something was trimmed', () => {
    const views = Array.from({ length: 70 }, (_, at) =>
      viewOf(body([...turns(at, 15), user('next?')]), { mode: 'auto', token_budget: 4_000 }),
    );
    const ends = new Set(views.flatMap(({ plan }) => (plan.trimmed && plan.prefix ? [plan.prefix.end] : [])));
    expect(ends.size).toBeGreaterThan(2);
  });

  it('goes on being made where the budget is out of reach', () => {
    const talk = (n: number): Message[] =>
      Array.from({ length: n }, (_, at) => [user(`q${at}`), assistant(lines(100, `answer ${at}`))]).flat();
    const weightOf = (n: number): number =>
      view([...talk(n), user('next?')], { token_budget: 3_000, compact_keep: 3 }).plan.replay.after;
    expect(weightOf(40)).toBeLessThan(2 * weightOf(6));
  });
});

describe('triggers of auto', () => {
  const story = (n: number, input: AutoInput): string[] =>
    Array.from({ length: n }, (_, at) => {
      const viewed = view([...turns(at), user('next?')], input);
      const { frontier, trigger } = viewed.report;
      return `${at + 1}: ${frontier.moved ? trigger : '-'} ${typesOf(viewed).join(' ')}`.trimEnd();
    });

  it('by turns compact in a sawtooth over compact_trigger_turns, and never lose anything', () => {
    expect(story(8, { compact_trigger_turns: 3, compact_keep: 1 })).toEqual([
      '1: -',
      '2: -',
      '3: -',
      '4: turns compact',
      '5: - compact',
      '6: - compact',
      '7: turns compact',
      '8: - compact',
    ]);
  });

  it('by turns summarize at context_limit', () => {
    expect(story(6, { context_limit: 4, keep_last_n_turns: 1 })).toEqual([
      '1: -',
      '2: -',
      '3: -',
      '4: turns summarize',
      '5: - summarize',
      '6: - summarize',
    ]);
  });

  it('by turns never trim a view that fits its budget', () => {
    const views = [...story(16, { context_limit: 4, keep_last_n_turns: 1 })];
    expect(views.filter((line) => line.includes('trim'))).toEqual([]);
  });

  it('by force never trim a view that fits its budget', () => {
    const input = { token_budget: 20_000 };
    expect(
      typesOf(viewOf(body([...turns(40), user('next?')]), { mode: 'auto', ...input }, { force: true })),
    ).not.toContain('trim');
  });

  it('by turns summarize at context_limit even where compact_trigger_turns is met before', () => {
    const views = story(12, { compact_trigger_turns: 2, context_limit: 6 });
    expect(views.some((line) => line.includes('summarize'))).toBe(true);
  });

  it('by force edit all that is older than the tail, at the last request alone', () => {
    const messages = [...turns(4), user('next?')];
    const forced = view(messages, { token_budget: 1_000_000 }, { force: true });
    expect(forced.report).toMatchObject({ trigger: 'force', frontier: { moved: true } });
    expect(forced.plan.prefix?.unit).toBe(forced.report.frontier.unit);
    expect(view(messages, { token_budget: 1_000_000 }).report.applied_edits).toEqual([]);
  });

  it('by force do nothing where there is nothing to edit', () => {
    const { report, bytes, request } = view([user('hello')], {}, { force: true });
    expect([report.applied_edits, bytes]).toEqual([[], request.bytes]);
  });

  it('by what the upstream has said it takes', () => {
    const messages = [...turns(10), user('next?')];
    const limit = tokensOf(messages) - 100;
    const { report } = view(messages, { token_budget: 1_000_000 }, { limit });
    expect(report.trigger).toBe('upstream_limit');
    expect(report.tokens).toMatchObject({ window: limit });
    expect(report.tokens?.after).toBeLessThanOrEqual(limit);
  });

  it('by slide edit all that is older than the tail, at every request', () => {
    const input = { frontier: 'slide', token_soft_budget: 1_000, compact_keep: 1 } as const;
    const compacted = Array.from(
      { length: 5 },
      (_, at) => view([...turns(at), user('next?')], input).view.removals.size,
    );
    expect(compacted).toEqual([0, 0, 2, 3, 4]);
  });
});

describe('the window in auto', () => {
  const messages = [user('go'), ...steps(11)];

  it('overrides the floor, and what the caller asks to reclaim', () => {
    const whole = tokensOf(messages);
    for (const more of [{}, { min_reclaim_tokens: 1_000_000 }]) {
      // Not so small that the move would be overdue.
      const input = { mode: 'auto', token_soft_budget: Math.ceil(whole / 2), ...more } as const;
      expect(viewOf(body(messages), input).report.applied_edits).toEqual([]);
      const tight = viewOf(body(messages), { ...input, context_window_tokens: whole - 500 });
      expect(tight.report.tokens?.after).toBeLessThanOrEqual(whole - 500);
    }
  });

  it('lets what loses something run where the soft budget alone would not', () => {
    const talk = Array.from({ length: 10 }, (_, at) => [
      user(`q${at}`),
      assistant(lines(60, `a${at}`)),
    ]).flat();
    const input = { token_soft_budget: 1_000, context_window_tokens: tokensOf(talk) - 500 };
    expect(typesOf(view(talk, input))).toContain('summarize');
  });
});

describe('the tail of auto', () => {
  const edited = (messages: Message[], more: AutoInput): number[] => [
    ...view(messages, { token_soft_budget: 0, ...more }).view.removals.keys(),
  ];
  /** Three turns of one step each; their outputs are messages 2, 6 and 10. */
  const three = [...turns(3), user('next?')];

  it.each<[input: AutoInput, messages: number[]]>([
    [{ compact_keep: 1 }, [2, 6, 10]],
    [{ compact_keep: 2 }, [2, 6]],
    [{ compact_keep: 9 }, []],
    [{ keep_last_n_turns: 2 }, [2, 6]],
    [{ keep_last_n_turns: 1, compact_keep: 2 }, [2, 6]],
    [{ keep_last_n_turns: 3, compact_keep: 1 }, [2]],
    [{ compact_keep: 9, compact_keep_steps: 1 }, [2, 6]],
    [{ compact_keep: 9, compact_keep_steps: 0 }, [2, 6, 10]],
    [{}, [2, 6]],
    [{ compact_keep_steps: 2 }, [2, 6]],
  ])('of %j leaves messages %j to be edited', (input, messages) => {
    expect(edited(three, input)).toEqual(messages);
  });

  it('shrinks to the last three steps of one long turn', () => {
    expect(edited([user('go'), ...steps(6)], {})).toEqual([2, 4, 6]);
  });

  describe('after three steps with little to read', () => {
    const messages = [user('go'), ...steps(5), ...TAIL];
    const whole = tokensOf(messages);
    const [least, most] = [0, 1].map(
      (kept) =>
        view(messages, { token_soft_budget: 0, compact_keep_steps: 3 + kept }).report.tokens?.after ?? 0,
    ) as [number, number];
    const within = (token_soft_budget: number, more: AutoInput): number[] => [
      ...view(messages, { token_soft_budget, low_watermark_pct: 0, ...more }).view.removals.keys(),
    ];

    it.each<[what: string, budget: number, more: AutoInput, edited: number[]]>([
      ['holds one more, within the budget', most, {}, [2, 4, 6, 8]],
      ['holds no more where the view would exceed its budget', most - 1, {}, [2, 4, 6, 8, 10]],
      ['holds no more than a caller asks for', whole - 1, { compact_keep_steps: 3 }, [2, 4, 6, 8, 10]],
    ])('%s', (_sentence, budget, more, edited) => {
      expect(least).toBeLessThan(most - 1);
      expect(within(budget, more)).toEqual(edited);
    });
  });

  it('holds what is fresh or open, whatever is to be kept', () => {
    const none = { compact_keep: 0, compact_keep_steps: 0 };
    expect(edited([user('go'), ...steps(3)], none)).toEqual([2, 4]);
    const open = [user('go'), ...steps(2), calls(['a', 'f'], ['b', 'f']), result('a', lines(60))];
    expect(edited(open, none)).toEqual([2, 4]);
  });
});

describe('every view of auto', () => {
  const RUNS = { numRuns: runs(30, 100), endOnFailure: true };

  it('extends the one before, whatever the words and the room for the answer, unless the report says otherwise', () => {
    const window = fc.integer({ min: 500, max: 16_000 });
    const room = fc.integer({ min: 1, max: 6_000 });
    forAll(
      RUNS,
      richConversation,
      autoStrategy,
      window,
      room,
      fc.boolean(),
      (body, input, window, room, retrieval) => {
        const conversation = { ...body, max_tokens: room };
        const strategy = { ...input, context_window_tokens: window };
        const views = viewsOf(conversation, strategy, { retrieval, words: short });
        for (const [index, later] of views.entries()) {
          const earlier = views[index - 1];
          if (earlier) expect(brokenPrefix(earlier, later)).toEqual([]);
        }
      },
    );
  });

  it('is made of the summary that was prepared for it, unless one goes on to the new frontier', () => {
    let prepared = 0;
    forAll(RUNS, richConversation, autoStrategy, fc.boolean(), (conversation, given, retrieval) => {
      const { context_window_tokens: _, ...input } = given;
      const views = viewsOf(conversation, input, { retrieval, words: short });
      for (const [index, { plan }] of views.entries()) {
        const earlier = views[index - 1]?.plan;
        const next = earlier?.ahead?.().next;
        if (!plan.prefix || !next || plan.prefix.end === earlier.prefix?.end) continue;
        const { end, unit } = plan.prefix;
        if (end === next.end) prepared++;
        else expect([unit, end > next.end]).toEqual([frontierUnit(plan.replay.cuts), true]);
      }
    });
    expect(prepared).toBeGreaterThan(0);
  });

  it('is left whole by a budget that is not reached', () => {
    forAll(RUNS, richConversation, (conversation) => {
      const { bytes, request, report } = viewOf(conversation, { mode: 'auto' });
      expect([bytes, report.applied_edits]).toEqual([request.bytes, []]);
    });
  });

  it('is left whole wherever it is known beforehand that nothing can act', () => {
    let idle = 0;
    forAll(RUNS, conversation, autoStrategy, fc.boolean(), (conversation, input, retrieval) => {
      const { plan, request, bytes } = viewOf(conversation, input, { retrieval });
      const { history } = plan;
      const asked = {
        history,
        terms: termsOf(undefined),
        answerTokens: 0,
        force: false,
        retrieval,
      };
      if (mayAct(strategyOf(input), asked, 0)) return;
      idle++;
      expect(bytes).toEqual(request.bytes);
    });
    expect(idle).toBeGreaterThan(RUNS.numRuns / 20);
  });
});
