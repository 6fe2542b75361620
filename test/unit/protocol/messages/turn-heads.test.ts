/** Turns in progress with a budget of thinking: the API refuses one that does not begin with it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, lines } from '../../../support/conversations/chat.ts';
import { oddMessages } from '../../../support/conversations/odd-messages.ts';
import {
  ADDITIONS,
  brokenInMessages,
  brokenPrefixInMessages,
  parsed,
  viewInMessages,
} from '../../../support/laws/in-messages.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import type { Json } from './edited.ts';

const user = (content: unknown): Json => ({ role: 'user', content });
const text = (of: string): Json => ({ type: 'text', text: of });
const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: lines(40, id) });

/** How an answer begins, and what comes after its results. */
interface Step {
  readonly thinks: 'thinking' | 'redacted_thinking' | 'late' | 'no';
  readonly words: boolean;
}

const thinkingOf = ({ thinks }: Step, id: string): Json[] => {
  if (thinks === 'no') return [];
  if (thinks === 'redacted_thinking') return [{ type: thinks, data: id }];
  const thought = { type: 'thinking', thinking: `Of ${id}.`, signature: id };
  return thinks === 'late' ? [text('Now I think.'), thought] : [thought];
};

/** A turn whose first answer thinks, as the API makes them. */
function turn(steps: readonly Step[], name: string): Json[] {
  const said = steps.flatMap((step, at) => {
    const id = `${name}_${at}`;
    const call = { type: 'tool_use', id, name: 'read_file', input: { of: id } };
    return [
      assistant([...thinkingOf(step, id), text(`I read ${id}.`), call]),
      user([result(id), ...(step.words ? [text('Step on.')] : [])]),
      ...(step.words ? [user('And on.')] : []),
    ];
  });
  return [user(`Read the files of ${name}.`), ...said];
}

const bodyOf = (messages: readonly Json[], thinking: Json = { type: 'enabled', budget_tokens: 1_024 }) => ({
  model: 'claude-sonnet-4-5',
  max_tokens: 4_000,
  thinking,
  messages,
});

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'trim', token_budget: 1_500 },
  { mode: 'trim', max_messages: 6 },
  { mode: 'trim', token_budget: 1_500, frontier: 'slide' },
  { mode: 'summarize', token_budget: 1_500 },
  { mode: 'summarize', max_messages: 5, keep_first_user: false },
  { mode: 'auto', token_budget: 1_500, min_reclaim_tokens: 0, keep_first_user: false },
  { mode: 'auto', token_budget: 1_500, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 600, min_reclaim_tokens: 0, compact_keep_steps: 1 },
  { mode: 'compact', token_budget: 1_500 },
];

const first = fc.constantFrom('thinking' as const, 'redacted_thinking' as const);
const later = fc.constantFrom<Step['thinks']>('no', 'no', 'no', 'late', 'thinking');
const words = fc.boolean();
const steps = fc
  .tuple(
    fc.record({ thinks: first, words }),
    fc.array(fc.record({ thinks: later, words }), { minLength: 3, maxLength: 12 }),
  )
  .map(([one, others]) => [one, ...others]);

/** What is wrong with the views of each request of a conversation, and how many moved. */
function played(messages: readonly Json[], strategy: MemoryStrategyRequest, thinking?: Json) {
  const wrong: string[] = [];
  let moved = 0;
  let before: ReturnType<typeof viewInMessages> | undefined;
  for (let end = 1; end <= messages.length; end++) {
    if (messages[end - 1]?.role === 'assistant' || messages[end]?.role === 'user') continue;
    const body = bodyOf(messages.slice(0, end), thinking);
    const viewed = viewInMessages(body, strategy, {});
    wrong.push(...violations(body), ...brokenInMessages(viewed));
    if (before) wrong.push(...brokenPrefixInMessages(before, viewed));
    if (viewed.report.frontier.moved) moved++;
    before = viewed;
  }
  return { wrong, moved, last: before };
}

describe('a running turn with a budget of thinking', () => {
  it.each(STRATEGIES)('F30: begins with its thinking at each request (%j)', (strategy) => {
    forAll(runs(2, 15), steps, steps, (one, other) => {
      const messages = [...turn(one, 'a'), assistant([text('Done.')]), ...turn(other, 'b')];
      expect(played(messages, strategy).wrong).toEqual([]);
    });
  });

  it('F30: begins with its thinking, whatever else holds its steps', () => {
    const numRuns = runs(4, 60);
    let edited = 0;
    forAll(
      { numRuns, endOnFailure: true },
      oddMessages.filter(({ thinking }) => (thinking as Json | undefined)?.type === 'enabled'),
      fc.oneof(autoStrategy, anyStrategy),
      (body, strategy) => {
        fc.pre(violations(body).length === 0);
        const viewed = viewInMessages(body, strategy, {});
        const sent = [{}, ADDITIONS].map((added) => parsed(viewed.request.write(viewed.view, added)));
        const ofThinking = sent.flatMap((one) => violations(one)).filter((one) => /thinking/.test(one));
        expect(ofThinking).toEqual([]);
        if (viewed.report.applied_edits.length > 0) edited++;
      },
    );
    expect(edited).toBeGreaterThan(numRuns / 6);
  });

  it('F30: keeps the answer that leads a summary opened by words after its results', () => {
    const steps = long.slice(0, 7).map((step, at) => ({ ...step, words: at > 2 }));
    const strategy = { mode: 'summarize', max_messages: 5, keep_first_user: false } as const;
    const { last, moved, wrong } = played(turn(steps, 'a'), strategy);
    expect(wrong).toEqual([]);
    expect(moved).toBeGreaterThan(0);
    const sent = parsed(last?.bytes ?? new Uint8Array()).messages as Json[];
    expect([sent[0]?.role, sent[1]]).toEqual(['user', turn(steps, 'a')[1]]);
    expect(sent[0]?.content).toContain('<session_summary ');
  });

  const long: Step[] = Array.from({ length: 12 }, (_, at) => ({
    thinks: at === 0 ? 'thinking' : 'no',
    words: false,
  }));

  it('keeps no more of its earlier steps than the first', () => {
    const { last, moved, wrong } = played(turn(long, 'a'), { mode: 'trim', token_budget: 1_500 });
    expect(wrong).toEqual([]);
    expect(moved).toBeGreaterThan(0);
    const sent = parsed(last?.bytes ?? new Uint8Array()).messages as Json[];
    expect(sent.length).toBeLessThan(12);
    expect(sent[1]).toEqual(turn(long, 'a')[1]);
    expect(sent[2]).toEqual(turn(long, 'a')[2]);
  });

  it('keeps nothing more where the model decides how much it thinks', () => {
    const strategy = { mode: 'trim', token_budget: 1_500 } as const;
    const { last } = played(turn(long, 'a'), strategy, { type: 'adaptive' });
    const sent = parsed(last?.bytes ?? new Uint8Array()).messages as Json[];
    expect(sent[1]).not.toEqual(turn(long, 'a')[1]);
  });

  it('lets its first step leave once a later one begins with thinking', () => {
    const thinks = long.map((step, at) => (at === 5 ? { ...step, thinks: 'thinking' as const } : step));
    const { last, wrong } = played(turn(thinks, 'a'), { mode: 'trim', max_messages: 8 });
    expect(wrong).toEqual([]);
    expect(new TextDecoder().decode(last?.bytes)).not.toContain('I read a_0.');
  });
});
