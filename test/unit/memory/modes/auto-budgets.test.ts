/** When mode auto moves, and how far. */
import { describe, expect, it } from 'vitest';
import { brokenPrefixes, wrongReport } from '../../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf } from '../../../support/clients/agent-run.ts';
import { PlannedAgent } from '../../../support/clients/planned-agent.ts';
import { requestsIn, toolTalk } from '../../../support/conversations/tool-talk.ts';

describe('a window that can not hold a run', () => {
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
