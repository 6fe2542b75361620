/** When mode auto moves, and how far. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { brokenPrefixes, wrongReport } from '../../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, type Message, rows } from '../../../support/clients/agent-run.ts';
import { PlannedAgent } from '../../../support/clients/planned-agent.ts';
import { calls, result, user } from '../../../support/conversations/chat.ts';
import { requestsIn, toolTalk } from '../../../support/conversations/tool-talk.ts';

describe('a window that cannot hold a run', () => {
  it('leaves room for the answer, and has each view begin with the one before all the same', () => {
    const messages = agentRun('limes');
    const memory_strategy = { mode: 'auto' as const, context_window_tokens: 24_000, token_budget: 23_000 };
    const caller = new PlannedAgent({ memory_strategy, max_completion_tokens: 6_000 });

    const all = caller.play(messages, lengthsOf(messages));

    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    for (const { memory } of all) expect(memory.tokens?.after).toBeLessThanOrEqual(18_000);
  });
});

describe('a conversation that is only a little over its budget', () => {
  const messages = toolTalk('figs', 24);
  const lengths = requestsIn(messages);
  const strategy = { mode: 'auto' as const, token_budget: 8_000, summary_max_tokens: 300 };

  it('is not touched while a move would not pay, and is touched once it pays', () => {
    const all = new PlannedAgent({ memory_strategy: strategy }).play(messages, lengths);

    const first = all.findIndex(({ memory }) => memory.frontier.moved);
    const over = all.findIndex(({ memory }) => (memory.tokens?.before ?? 0) > 8_000);
    expect(over).toBeGreaterThan(0);
    expect(first).toBeGreaterThan(over);
    for (const { memory, view, messages: sent } of all.slice(over, first)) {
      expect(view).toEqual(sent);
      expect(memory).toMatchObject({ warnings: ['waiting'], applied_edits: [], trigger: 'none' });
    }
    expect(all[first]?.memory).toMatchObject({ trigger: 'token_budget', frontier: { moved: true } });
    expect(all[first]?.memory.tokens?.after).toBeLessThan(all[first - 1]?.memory.tokens?.after ?? 0);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
  });

  it('is touched at once where the caller sets min_reclaim_tokens to 0', () => {
    const memory_strategy = { ...strategy, min_reclaim_tokens: 0 };
    const all = new PlannedAgent({ memory_strategy }).play(messages, lengths);

    const first = all.findIndex(({ memory }) => memory.frontier.moved);
    expect(all[first]?.memory.tokens?.before).toBeGreaterThan(8_000);
    expect(all[first - 1]?.memory.tokens?.before).toBeLessThanOrEqual(8_000);
    for (const { memory } of all) expect(memory.warnings).toEqual([]);
  });

  it('is not touched for less than min_reclaim_tokens', () => {
    const memory_strategy = { ...strategy, min_reclaim_tokens: 5_000 };
    const all = new PlannedAgent({ memory_strategy }).play(messages, lengths);

    const moves = all.flatMap(({ memory }, at) => {
      if (!memory.frontier.moved) return [];
      const grown = (memory.tokens?.before ?? 0) - (all[at - 1]?.memory.tokens?.before ?? 0);
      return [(all[at - 1]?.memory.tokens?.after ?? 0) + grown - (memory.tokens?.after ?? 0)];
    });
    expect(moves.length).toBeGreaterThan(0);
    // A summary may take less than its reserved room.
    for (const freed of moves) expect(freed).toBeGreaterThanOrEqual(5_000);
  });
});

describe('a limit of turns', () => {
  it('compacts over compact_trigger_turns', () => {
    const messages = toolTalk('quinces', 16);
    const agent = new PlannedAgent({
      memory_strategy: {
        mode: 'auto',
        min_reclaim_tokens: 0,
        summary_max_tokens: 300,
        compact_trigger_turns: 4,
      },
    });
    const all = agent.play(messages, requestsIn(messages));

    expect(new Set(all.flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type)))).toEqual(
      new Set(['compact']),
    );
    expect(all.at(-1)?.memory.trigger).toBe('turns');
    expect(brokenPrefixes(all)).toEqual([]);
  });
});

describe('a move of auto that must pay', () => {
  const TABLES = {
    modelPrices: [{ family: 'priced', fresh: 1, cached: 0.1, output: 5 }],
    modelWindows: [],
    promptCache: true,
    ownModels: true,
  };
  const largest = (model: string, fields: object): number => {
    const messages = toolTalk('sloes', 16);
    const memory_strategy = { mode: 'auto' as const, token_budget: 8_000, ...fields };
    const all = new PlannedAgent({ model, memory_strategy }, TABLES).play(messages, requestsIn(messages));
    expect(brokenPrefixes(all)).toEqual([]);
    return Math.max(...all.map(({ memory }) => memory.tokens?.after ?? 0));
  };

  it('is waited for where the caller or the deployer says what is to pay, and else is not', () => {
    expect(largest('priced', {})).toBeGreaterThan(8_000);
    expect(largest('qwen4-coder:30b', { min_reclaim_tokens: 4_000 })).toBeGreaterThan(8_000);
    expect(largest('qwen4-coder:30b', {})).toBeLessThanOrEqual(8_000);
  });
});

const AUTO = { mode: 'auto' as const };

const searched = (id: string, output: string): Message[] => [calls([id, 'search']), result(id, output)];

describe('below its budget, mode auto', () => {
  it('does not act on a repeated or huge output either', () => {
    const output = rows('pears', 600);
    const messages = [1, 2, 3, 4, 5, 6].flatMap((at): Message[] => [
      user(`Question ${at}`),
      ...searched(`call_${at}`, output),
    ]);

    const { view, memory } = new PlannedAgent({ memory_strategy: { ...AUTO, token_budget: 100_000 } }).send(
      messages,
    );

    expect(view).toEqual(messages);
    expect(memory).toMatchObject({ applied_edits: [], refs: [], frontier: { moved: false }, warnings: [] });
  });
});

describe('what cannot be made to fit', () => {
  const huge = user(rows('a question', 1_500));

  it.each<[string, object]>([
    ['its budget', { token_budget: 4_000 }],
    ['its budget, and moves cost nothing', { token_budget: 4_000, min_reclaim_tokens: 0 }],
    ['the window', { context_window_tokens: 8_000 }],
    ['a budget of nothing', { token_budget: 0, min_reclaim_tokens: 0 }],
  ])('is sent all the same, with a warning: one message over %s', (_, fields) => {
    const { view, memory, headers } = new PlannedAgent({ memory_strategy: { ...AUTO, ...fields } }).send([
      huge,
    ]);

    expect(view).toEqual([huge]);
    expect(memory.warnings).toEqual(['over_budget']);
    expect(headers.get('x-memory-applied')).toBe('none');
  });

  it('is sent with all before it made as small as it gets', () => {
    const messages = [...toolTalk('plums', 10).slice(0, -1), huge];
    const memory_strategy = { ...AUTO, token_budget: 4_000, min_reclaim_tokens: 0, summary_max_tokens: 300 };

    const sent = new PlannedAgent({ memory_strategy }).send(messages);

    expect(sent.view.at(-1)).toEqual(huge);
    expect(sent.memory.warnings).toContain('over_budget');
    expect(sent.memory.tokens?.after).toBeLessThan((sent.memory.tokens?.before ?? 0) / 1.2);
    expect(wrongReport(sent)).toEqual([]);
  });

  it('is sent with a huge fresh output in full: the model has not seen it', () => {
    const messages = [user('Go.'), ...searched('call_1', rows('fresh', 2_000))];
    const memory_strategy = { ...AUTO, token_budget: 4_000, min_reclaim_tokens: 0 };

    const { view, memory } = new PlannedAgent({ memory_strategy }).send(messages);

    expect(view).toEqual(messages);
    expect(memory.warnings).toEqual(['over_budget']);
  });
});

describe('a soft budget', () => {
  it('has only what can be fetched again taken away', () => {
    const messages = toolTalk('dates', 24);
    const memory_strategy = {
      ...AUTO,
      token_soft_budget: 6_000,
      token_budget: 1_000_000,
      min_reclaim_tokens: 0,
      summary_max_tokens: 300,
    };

    const all = new PlannedAgent({ memory_strategy }).play(messages, requestsIn(messages));

    const applied = new Set(all.map(({ headers }) => headers.get('x-memory-applied')));
    expect(applied).toEqual(new Set(['none', 'compact']));
    expect(all.at(-1)?.headers.get('x-memory-trigger')).toBe('token_soft_budget');
    expect(brokenPrefixes(all)).toEqual([]);
    for (const sent of all) expect(sent.view).toHaveLength(sent.messages.length);
  });
});

describe('a limit of turns for summaries', () => {
  const messages = toolTalk('quinces', 16);
  const memory_strategy = { ...AUTO, min_reclaim_tokens: 0, summary_max_tokens: 300, context_limit: 5 };
  const all = new PlannedAgent({ memory_strategy }).play(messages, requestsIn(messages));

  it('summarizes from context_limit on', () => {
    const first = all.find(({ memory }) => memory.frontier.moved);
    expect(first?.messages).toHaveLength(4 * 5 - 2);
    expect(first?.memory).toMatchObject({
      trigger: 'turns',
      summary: { status: 'completed', covers: [1, 12] },
    });
    expect(brokenPrefixes(all)).toEqual([]);
  });

  it('summarizes at each move, and trims nothing that fits the budget', () => {
    const applied = all.flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type));
    expect(applied).toContain('summarize');
    expect(applied).not.toContain('trim');
  });
});

describe('a request without a limit for its answer', () => {
  const messages = toolTalk('medlars', 12);
  const ask = (memory_strategy: MemoryStrategyRequest) => {
    const { memory, headers } = new PlannedAgent({ memory_strategy }).send(messages);
    expect(headers.get('x-memory-warning')).toBe(memory.warnings.join(',') || null);
    return memory;
  };
  const { tokens } = ask({ mode: 'compact', token_budget: 0, min_reclaim_tokens: 1_000_000 });
  const window = Math.ceil((tokens?.before ?? 0) / 0.85);

  it('leaves room for the longest one', () => {
    const memory = ask({ mode: 'compact', context_window_tokens: window, token_remaining_pct: 0 });

    expect(memory.applied_edits).toMatchObject([{ type: 'compact' }]);
    expect(memory.tokens).toMatchObject({ window, budget: window - Math.floor(window / 5) });
  });

  it('learns that its soft budget cannot act', () => {
    expect(ask({ mode: 'summarize', token_soft_budget: 10 }).warnings).toEqual(['soft_budget_idle']);
  });
});
