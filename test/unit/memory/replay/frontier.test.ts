import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
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
import { brokenPrefix } from '../../../support/laws/laws.ts';
import { messagesOf, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const OUTPUT = lines(40);

/** `n` turns of one step each. */
const turns = (n: number): Message[] =>
  Array.from({ length: n }, (_, index) => [
    user(`question ${index}`),
    ...step(`call_${index}`, 'search', `${OUTPUT}\nresult ${index}`),
    assistant(`answer ${index}`),
  ]).flat();

/** One turn of `n` steps. */
const steps = (n: number): Message[] => [
  user('do it'),
  ...Array.from({ length: n }, (_, index) =>
    step(`call_${index}`, 'search', `${OUTPUT}\nresult ${index}`),
  ).flat(),
];

const compacted = (messages: Message[], input: MemoryStrategyRequest): number[] =>
  messagesOf(viewOf(body(messages), input)).flatMap((message, index) =>
    String(message.content).startsWith('⟦removed: ') ? [index] : [],
  );

/** The frontier at each request, as turns are added. */
const story = (input: MemoryStrategyRequest, most: number): string[] =>
  Array.from({ length: most }, (_, index) => {
    const { report } = viewOf(body([...turns(index), user('next')]), input);
    return `${index + 1}: ${report.frontier.moved ? 'moved' : 'kept'} ${viewOf(body([...turns(index), user('next')]), input).plan.segments.flat().length}`;
  });

describe('a frontier that slides', () => {
  const input = { mode: 'compact', compact_trigger_turns: 3, compact_keep: 2 } as const;

  it('is what compact does under a turn trigger alone: from the trigger on, all that is older than the tail', () => {
    expect(story(input, 6)).toEqual([
      '1: kept 0',
      '2: kept 0',
      '3: kept 0',
      '4: moved 2',
      '5: moved 3',
      '6: moved 4',
    ]);
  });

  it('names the turns as trigger', () => {
    const { report } = viewOf(body([...turns(3), user('next')]), input);
    expect(report).toMatchObject({
      trigger: 'turns',
      applied_edits: [{ type: 'compact', cleared_tool_results: 2 }],
    });
  });
});

describe('a frontier that jumps', () => {
  it('edits turns in a sawtooth: once in a while, and nothing between', () => {
    const input = { mode: 'compact', compact_trigger_turns: 4, compact_keep: 1, frontier: 'jump' } as const;
    expect(story(input, 10)).toEqual([
      '1: kept 0',
      '2: kept 0',
      '3: kept 0',
      '4: kept 0',
      '5: moved 4',
      '6: kept 4',
      '7: kept 4',
      '8: kept 4',
      '9: moved 8',
      '10: kept 8',
    ]);
  });

  it('drops turns in a sawtooth', () => {
    const input = { mode: 'trim', max_turns: 4, keep_last_n_turns: 2 } as const;
    const shown = Array.from({ length: 8 }, (_, index) => {
      const view = messagesOf(viewOf(body([...turns(index), user('next')]), input));
      return view.filter((message) => message.role === 'user').length;
    });
    expect(shown).toEqual([1, 2, 3, 2, 3, 2, 3, 2]);
  });

  it('stops at the low watermark', () => {
    const messages = steps(30);
    const whole = viewOf(body(messages), { mode: 'compact', token_budget: 8000 }).report;
    const half = viewOf(body(messages), {
      mode: 'compact',
      token_budget: 8000,
      low_watermark_pct: 0.5,
    }).report;
    expect(half.tokens?.after).toBeLessThanOrEqual(8000);
    expect(half.frontier.unit).toBeLessThan(whole.frontier.unit);
  });

  it('is not made when it frees less than min_reclaim_tokens', () => {
    const messages = steps(30);
    const input = { mode: 'compact', token_budget: 8000 } as const;
    expect(viewOf(body(messages), input).report.applied_edits).toHaveLength(1);
    const strict = viewOf(body(messages), { ...input, min_reclaim_tokens: 1_000_000 }).report;
    expect(strict).toMatchObject({ applied_edits: [], warnings: ['waiting'] });
  });

  it('is made all the same when the view would not fit the window', () => {
    const input = {
      mode: 'compact',
      token_budget: 8000,
      min_reclaim_tokens: 1_000_000,
      context_window_tokens: 9000,
    } as const;
    expect(viewOf(body(steps(30)), input).report.applied_edits).toHaveLength(1);
  });

  it('leaves room for the answer at the last request point', () => {
    const messages = steps(8);
    const { tokens } = viewOf(body(messages), { mode: 'compact', token_budget: 8000 }).report;
    const input = {
      mode: 'compact',
      token_budget: 8000,
      context_window_tokens: (tokens?.before ?? 0) + 500,
    } as const;
    expect(viewOf(body(messages, { max_tokens: 100 }), input).report.applied_edits).toEqual([]);
    expect(viewOf(body(messages, { max_tokens: 1000 }), input).report.applied_edits).toHaveLength(1);
  });
});

describe('the room for the answer', () => {
  it('moves the frontier no further than the replay of the next request would', () => {
    const input = {
      mode: 'compact',
      token_budget: 4000,
      context_window_tokens: 6000,
      low_watermark_pct: 0.5,
      compact_keep_steps: 1,
    } as const;
    let earlier: Viewed | undefined;
    for (let n = 1; n < 24; n++) {
      const viewed = viewOf(body(steps(n), { max_tokens: 2500 }), input);
      if (earlier) expect(brokenPrefix(earlier, viewed)).toEqual([]);
      earlier = viewed;
    }
    expect(earlier?.report.applied_edits).toHaveLength(1);
  });
});

describe('a result that comes late', () => {
  it('F25: leaves what was edited before as it was, and the frontier with it', () => {
    const input = { mode: 'compact', token_budget: 500, compact_keep_steps: 1 } as const;
    const early = [user('go'), calls(['late', 'search']), ...steps(4)];
    const before = viewOf(body([...early, assistant('seen')]), input);
    const after = viewOf(body([...early, assistant('seen'), result('late', 'at last')]), input);
    expect(before.report.applied_edits).toHaveLength(1);
    expect(messagesOf(after).slice(0, -1)).toEqual(messagesOf(before));
    expect(after.report.frontier).toEqual({ ...before.report.frontier, moved: false });
  });
});

describe('the tail after the frontier', () => {
  it('is the last compact_keep turns', () => {
    const input = { mode: 'compact', token_budget: 100, compact_keep: 1, compact_keep_steps: 9 } as const;
    expect(compacted([...turns(3), user('next')], input)).toEqual([2, 6, 10]);
  });

  it('shrinks to the last three steps when the turns alone do not reach the budget', () => {
    expect(compacted(steps(6), { mode: 'compact', token_budget: 100 })).toEqual([2, 4, 6]);
  });

  it('does not shrink for a caller who sets the turns and not the steps', () => {
    const { report } = viewOf(body(steps(6)), { mode: 'compact', token_budget: 100, compact_keep: 1 });
    expect(report).toMatchObject({ applied_edits: [], warnings: ['over_budget'] });
  });

  it('keeps user messages and closing answers when trim has to drop steps of a turn that stays', () => {
    const messages = [
      user('first'),
      ...steps(5).slice(1),
      assistant('closing'),
      user('second'),
      ...steps(3).slice(1),
    ];
    const view = messagesOf(viewOf(body(messages), { mode: 'trim', token_budget: 1000 }));
    expect(view.map((message) => message.role).join(' ')).toBe(
      'user assistant user assistant tool assistant tool assistant tool',
    );
  });

  it('begins with a turn in mode trim, even when a user message came between a result and its answer', () => {
    const messages = [...turns(2), user('a'), ...step('x', 'search', OUTPUT), user('b')];
    const view = messagesOf(viewOf(body(messages), { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 }));
    expect(view.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user']);
  });

  it('never holds less than what is fresh', () => {
    const input = { mode: 'compact', token_budget: 0, compact_keep: 0, compact_keep_steps: 0 } as const;
    expect(compacted(steps(3), input)).toEqual([2, 4]);
    expect(compacted([...steps(3), user('and?')], input)).toEqual([2, 4]);
    expect(compacted([...steps(3), assistant('seen')], input)).toEqual([2, 4, 6]);
  });

  it('holds the open unit, results and all', () => {
    const messages = [...steps(2), calls(['a', 'search'], ['b', 'search']), result('a', OUTPUT)];
    const input = { mode: 'compact', token_budget: 0, compact_keep: 0, compact_keep_steps: 0 } as const;
    expect(compacted(messages, input)).toEqual([2, 4]);
  });

  it('is all of it when keep is over the length, and nothing breaks without a user message', () => {
    expect(compacted(turns(3), { mode: 'compact', compact_trigger_turns: 0, compact_keep: 50 })).toEqual([]);
    expect(compacted(steps(6).slice(1), { mode: 'compact', token_budget: 100 })).toEqual([1, 3, 5]);
    expect(compacted([system('only this')], { mode: 'compact', token_budget: 0 })).toEqual([]);
  });
});

describe('the triggers of the frontier', () => {
  const messages = steps(10);

  it('of tokens are the soft budget first, which compact may act on since it loses nothing', () => {
    const input = { mode: 'compact', token_soft_budget: 3000, token_budget: 100_000 } as const;
    expect(viewOf(body(messages), input).report.trigger).toBe('token_soft_budget');
  });

  it('of the soft budget do nothing where what is edited would be lost', () => {
    const budgets = { token_soft_budget: 3000, token_budget: 100_000 } as const;
    const compact = { mode: 'compact', ...budgets } as const;
    expect(viewOf(body(messages), { mode: 'trim', ...budgets }).report.applied_edits).toEqual([]);
    expect(viewOf(body(messages), { ...compact, compact_offload: false }).report.applied_edits).toEqual([]);
    expect(viewOf(body(messages), compact, { tenant: undefined }).report.applied_edits).toEqual([]);
  });

  it('of percentages are shares of the window', () => {
    const input = { mode: 'compact', token_remaining_pct: 0.9, context_window_tokens: 30_000 } as const;
    const { report } = viewOf(body(messages), input);
    expect(report.tokens).toMatchObject({ budget: 3000, window: 30_000 });
    expect(report.trigger).toBe('token_budget');
  });

  it('count as met when forced, at the last request point', () => {
    const input = { mode: 'compact', token_budget: 100_000 } as const;
    expect(viewOf(body([...turns(4), user('next')]), input, { force: true }).report).toMatchObject({
      trigger: 'force',
      frontier: { moved: true },
      applied_edits: [{ cleared_tool_results: 3 }],
    });
    expect(compactedByForce(steps(6))).toBe(3);
  });

  const compactedByForce = (messages: Message[]): number =>
    viewOf(body(messages), { mode: 'compact' }, { force: true }).plan.segments.flat().length;
});

describe('a trigger that counts steps', () => {
  const input = { mode: 'compact', compact_trigger_steps: 6, compact_keep_steps: 2 } as const;

  /** What is removed at each request of an agent. */
  const removedAt = (strategy: MemoryStrategyRequest, most: number): number[] =>
    Array.from({ length: most }, (_, at) => compacted(steps(at), strategy).length);

  it('compacts up to the tail once there are more, and then waits for as many', () => {
    expect(removedAt(input, 16)).toEqual([0, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10, 10]);
  });

  it('names itself, and extends the view between two moves', () => {
    const views = Array.from({ length: 20 }, (_, at) => viewOf(body(steps(at)), input));
    expect(views[7]?.report).toMatchObject({ trigger: 'steps', frontier: { moved: true } });
    expect(views[8]?.report).toMatchObject({ trigger: 'steps', frontier: { moved: false } });
    for (const [at, later] of views.entries()) {
      const earlier = views[at - 1];
      if (earlier) expect(brokenPrefix(earlier, later)).toEqual([]);
    }
  });

  it('keeps the steps of the last turns if these are few enough', () => {
    const messages = [...turns(8), ...steps(1)];
    const { report, plan } = viewOf(body(messages), { mode: 'compact', compact_trigger_steps: 6 });
    expect(report.trigger).toBe('steps');
    // Seven steps are one too many. Two turns stay then.
    expect(plan.segments.flat().length).toBe(5);
  });

  it('acts beside a budget in auto, and loses nothing', () => {
    const auto = { mode: 'auto', compact_trigger_steps: 6, min_reclaim_tokens: 0, compact_min_tokens: 0 };
    const { report } = viewOf(body(steps(12)), auto as MemoryStrategyRequest);
    expect(report.trigger).toBe('steps');
    expect(report.applied_edits.map(({ type }) => type)).toEqual(['dedupe']);
  });
});

describe('a trigger that counts messages', () => {
  const kept = (messages: Message[], input: MemoryStrategyRequest): number =>
    messagesOf(viewOf(body(messages), input)).filter(({ role }) => role !== 'system').length;

  it('drops turns up to the tail, once there are too many', () => {
    const input = { mode: 'trim', max_messages: 16, keep_last_n_turns: 1 } as const;
    const sizes = [1, 2, 3, 4, 5, 6, 7].map((at) => kept([system('s'), ...turns(at), user('next')], input));
    expect(sizes).toEqual([5, 9, 13, 1, 5, 9, 13]);
  });

  it('drops steps of a turn that is too long', () => {
    const input = { mode: 'trim', max_messages: 20 } as const;
    const views = Array.from({ length: 24 }, (_, at) => viewOf(body(steps(at)), input));
    const sizes = views.map((viewed) => messagesOf(viewed).length);
    expect(Math.max(...sizes)).toBeLessThan(20);
    expect(views.filter(({ report }) => report.frontier.moved).length).toBe(2);
    expect(sizes.at(-1)).toBe(19);
    expect(views.at(-1)?.report.trigger).toBe('messages');
  });

  it('waits while the tail leaves less than half of them', () => {
    const input = { mode: 'trim', max_messages: 10, keep_last_n_turns: 3 } as const;
    expect(kept([...turns(3), user('next')], input)).toBe(13);
    expect(kept([...turns(4), user('next')], input)).toBe(9);
  });

  it.each(['summarize', 'auto'] as const)('summarizes in mode %s', (mode) => {
    const input = { mode, max_messages: 16, keep_last_n_turns: 1, summary_max_tokens: 64 };
    const free = mode === 'auto' ? { min_reclaim_tokens: 0 } : {};
    const viewed = viewOf(body([...turns(4), user('next')]), { ...input, ...free } as MemoryStrategyRequest);
    expect(viewed.report.trigger).toBe('messages');
    expect(viewed.report.applied_edits.map(({ type }) => type)).toContain('summarize');
  });
});
