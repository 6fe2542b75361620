/** Long runs of agents in mode auto, request by request. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { violations } from '../../../../tools/upstream/strict-chat.ts';
import { brokenPrefixes, type Sent, wrongReport } from '../../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, type Message, observedRun, tools } from '../../../support/clients/agent-run.ts';
import { PlannedAgent } from '../../../support/clients/planned-agent.ts';
import { lastSteps } from '../../../support/conversations/tool-talk.ts';

type Auto = Omit<Extract<MemoryStrategyRequest, { mode: 'auto' }>, 'mode'>;

const RUNS: [name: string, messages: Message[], strategy: Auto][] = [
  ['a large budget', agentRun('large budgets'), { token_budget: 16_000, min_reclaim_tokens: 2_000 }],
  ['a small budget', agentRun('small budgets'), { token_budget: 8_000, min_reclaim_tokens: 0 }],
  ['a soft budget', agentRun('soft budgets'), { token_soft_budget: 8_000, token_budget: 1_000_000 }],
  [
    'observations in user messages',
    observedRun('observations'),
    { token_budget: 12_000, min_reclaim_tokens: 1_000 },
  ],
  ['a frontier that slides', agentRun('slides'), { token_budget: 12_000, frontier: 'slide' }],
];

const played = new Map<string, Sent[]>();

function play(name: string): Sent[] {
  const [, messages = [], strategy = {}] = RUNS.find((one) => one[0] === name) ?? [];
  const agent = new PlannedAgent({
    memory_strategy: { mode: 'auto', compact_retrieval: 'off', ...strategy },
  });
  const all = played.get(name) ?? agent.play(messages, lengthsOf(messages));
  played.set(name, all);
  return all;
}

const appliedIn = (name: string): ReadonlySet<string> =>
  new Set(play(name).flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type)));

describe.each(RUNS)('a long run of an agent in mode auto, with %s', (name, messages) => {
  it('has views that OpenAI takes', () => {
    const all = play(name);

    expect(all).toHaveLength(lengthsOf(messages).length);
    expect(all.flatMap(({ seen }) => violations({ ...seen.body, tools }, { jsonArguments: true }))).toEqual(
      [],
    );
  });

  it('has each view begin with the one before, except where the frontier moved', () => {
    const all = play(name);

    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.filter(({ memory }) => memory.frontier.moved).length).toBeGreaterThan(1);
  });

  it('keeps its last three steps, and what the model has not seen yet', () => {
    for (const { messages: sent, view } of play(name)) {
      const { tail, seen } = lastSteps(sent, view);
      expect(seen).toEqual(tail);
    }
  });

  it('keeps its preamble', () => {
    for (const { view } of play(name)) expect(view[0]).toEqual(messages[0]);
  });

  it('is reported as it was', () => {
    const all = play(name);

    expect(all.flatMap(wrongReport)).toEqual([]);
    for (const { memory } of all)
      expect(memory.warnings.filter((warning) => !['over_budget', 'waiting'].includes(warning))).toEqual([]);
  });
});

describe('the edits of a long run in mode auto', () => {
  it('are of all kinds', () => {
    expect([...appliedIn('a large budget')]).toEqual(
      expect.arrayContaining(['offload', 'dedupe', 'compact', 'summarize']),
    );
  });

  it('are summaries rather than trims where moves cost nothing', () => {
    expect(appliedIn('a small budget')).toContain('summarize');
  });

  it('lose nothing under a soft budget', () => {
    expect(appliedIn('a soft budget')).toEqual(new Set(['offload', 'dedupe', 'compact']));
    for (const { view, messages } of play('a soft budget')) expect(view).toHaveLength(messages.length);
  });
});
