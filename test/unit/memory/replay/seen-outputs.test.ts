import { describe, expect, it } from 'vitest';
import { explain } from '../../../../src/memory/plan/explain.ts';
import {
  autoOptions,
  autoStrategy,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, calls, lines, result, step, user } from '../../../support/conversations/chat.ts';
import { brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  counter,
  messagesOf,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewsOf,
} from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const LARGE = lines(400, 'large');
const RETRIEVAL = { retrieval: true } as const;
/** Answers after which a large output may leave. */
const ANSWERS = 4;

const view = (messages: Message[], more: object = {}, options: ViewOptions = RETRIEVAL): Viewed =>
  viewOf(body(messages), { mode: 'auto', offload_min_tokens: 2_000, ...more }, options);
const oks = (n: number, size = 1): Message[] =>
  Array.from({ length: n }, (_, at) => step(`ok_${at}`, `tool_${at}`, lines(size, `ok ${at}`))).flat();
const shown = (viewed: Viewed, index: number): string => String(messagesOf(viewed)[index]?.content);
const isOut = (viewed: Viewed, index = 2): boolean => shown(viewed, index).includes('reason=offloaded');

describe('a large output that the model has answered', () => {
  const opening = [user('go'), ...step('1', 'read_file', LARGE)];
  const answered = (answers: number): Message[] => [...opening, ...oks(answers)];

  it('leaves after four answers, under any budget, and stays out', () => {
    const out = [0, 1, 2, 3, 4, 5, 9].map((answers) => isOut(view(answered(answers))));
    expect(out).toEqual([false, false, false, false, true, true, true]);
    expect(counter.text(LARGE)).toBeGreaterThan(2_000);
  });

  it('leaves in a move of its own, which the report names as one', () => {
    const [before, at, next] = [ANSWERS - 1, ANSWERS, ANSWERS + 1].map((answers) => view(answered(answers)));
    expect(before?.report).toMatchObject({ trigger: 'none', frontier: { unit: 0, moved: false } });
    expect(at?.report).toMatchObject({
      trigger: 'large_output',
      frontier: { unit: 0, moved: true },
      applied_edits: [{ type: 'offload', cleared_tool_results: 1 }],
      refs: [{ tool_name: 'read_file' }],
      warnings: [],
    });
    expect(at?.report.applied_edits[0]).not.toHaveProperty('fresh');
    expect(next?.report).toMatchObject({ trigger: 'large_output', frontier: { unit: 0, moved: false } });
    expect(at && next && brokenPrefix(at, next)).toEqual([]);
  });

  it('leaves alone: what is around it stays unchanged', () => {
    const viewed = view(answered(ANSWERS));
    const sent = messagesOf(viewed);
    expect(sent.toSpliced(2, 1)).toEqual(answered(ANSWERS).toSpliced(2, 1));
  });

  it('counts the answers of the caller’s array, not its steps or turns', () => {
    const chat = [
      ...opening,
      assistant('read'),
      ...[1, 2, 3].flatMap((at) => [user(`${at}`), assistant('ok')]),
    ];
    expect(isOut(view([...chat.slice(0, -1)]))).toBe(false);
    expect(isOut(view([...chat, user('next')]))).toBe(true);
  });

  it('is over offload_min_tokens', () => {
    const tokens = counter.text(LARGE);
    const out = (offload_min_tokens: number): boolean =>
      isOut(view(answered(ANSWERS), { offload_min_tokens }));
    expect([out(tokens - 1), out(tokens)]).toEqual([true, false]);
  });

  it('stays where the model can’t fetch it', () => {
    expect(isOut(view(answered(ANSWERS), {}, {}))).toBe(false);
    expect(isOut(view(answered(ANSWERS), { compact_offload: false }))).toBe(false);
    expect(isOut(view(answered(ANSWERS), {}, { ...RETRIEVAL, tenant: undefined }))).toBe(false);
  });

  it('stays as long as the caller asks to keep its step or its turn', () => {
    expect(isOut(view(answered(ANSWERS), { compact_keep_steps: 4 }))).toBe(true);
    expect(isOut(view(answered(ANSWERS), { compact_keep_steps: 5 }))).toBe(false);
    expect(isOut(view(answered(ANSWERS), { compact_keep: 1 }))).toBe(false);
    expect(isOut(view([...answered(ANSWERS), assistant('done'), user('more')], { compact_keep: 1 }))).toBe(
      true,
    );
    expect(isOut(view(answered(ANSWERS), { compact_exclude_tools: ['read_file'] }))).toBe(false);
  });

  it('stays where more is read again than that pays for', () => {
    const much = [...opening, ...oks(ANSWERS, 120)];
    expect(isOut(view(much))).toBe(false);
    const cheap = { ...RETRIEVAL, prices: { cached: 0.5, written: 1 } };
    expect(isOut(view(much, {}, cheap))).toBe(true);
  });

  it('stays where it frees less than the caller asks to reclaim', () => {
    expect(isOut(view(answered(ANSWERS), { min_reclaim_tokens: 100_000 }))).toBe(false);
    expect(isOut(view(answered(ANSWERS), { min_reclaim_tokens: 100 }))).toBe(true);
  });

  it('waits for a larger one after it, and leaves together with that', () => {
    const two = [...opening, ...step('2', 'fetch', lines(1_500, 'larger')), ...oks(ANSWERS)];
    const out = (messages: Message[]): boolean[] => [2, 4].map((at) => isOut(view(messages), at));
    expect(out(two.slice(0, -2))).toEqual([false, false]);
    expect(out(two)).toEqual([true, true]);
  });

  it('stays if it has brought back what had been missed', () => {
    const again = step('again', 'read_file', LARGE);
    const missed = view([...answered(ANSWERS + 1), ...again, ...oks(ANSWERS + 2)]);
    const at = answered(ANSWERS + 1).length + 1;
    expect(missed.report.misses).toMatchObject([{ how: 'repeated' }]);
    expect([isOut(missed), isOut(missed, at)]).toEqual([true, false]);
  });

  it('is not removed again when the frontier passes it', () => {
    const long = [
      ...answered(ANSWERS),
      ...Array.from({ length: 12 }, (_, at) => step(`l${at}`, `l${at}`, lines(90, `l${at}`))).flat(),
    ];
    const viewed = view(long, { token_budget: 6_000, min_reclaim_tokens: 0 });
    expect(viewed.plan.replay.moves.map(({ trigger }) => trigger)).toEqual([
      'large_output',
      ...viewed.plan.replay.moves.slice(1).map(() => 'token_budget'),
    ]);
    expect(viewed.plan.replay.moves.length).toBeGreaterThan(1);
    const ofOutput = viewed.plan.segments.flat().filter(({ message }) => message === 2);
    expect(ofOutput).toHaveLength(1);
    expect(isOut(viewed)).toBe(true);
  });

  it('is an observation of an agent without calls, too', () => {
    const observed = [
      user('go'),
      assistant('cat a.txt'),
      user(`Observation: ${LARGE}`),
      ...Array.from({ length: ANSWERS }, (_, at) => [assistant(`ls ${at}`), user('Observation: ok')]).flat(),
    ];
    expect(isOut(view(observed))).toBe(true);
    expect(isOut(view(observed.slice(0, -2)))).toBe(false);
  });

  it('is one of several calls of an answer', () => {
    const parallel = [
      user('go'),
      calls(['1', 'f'], ['2', 'g']),
      result('1', 'ok'),
      result('2', LARGE),
      ...oks(ANSWERS),
    ];
    expect([isOut(view(parallel), 2), isOut(view(parallel), 3)]).toEqual([false, true]);
  });

  it('gets its digest in the request that removes it', () => {
    const of = (answers: number) => view(answered(answers), { offload_digest: 'model' }).plan.newlyOffloaded;
    expect([ANSWERS - 1, ANSWERS, ANSWERS + 1].map((answers) => [...(of(answers) ?? [])])).toEqual([
      [],
      [2],
      [],
    ]);
  });

  it('is announced by the request before, so that it can be stored ahead', () => {
    const next = (answers: number) => {
      const { plan, view: rendered } = view(answered(answers));
      return explain(plan, rendered, counter).next?.edits.map(({ message, reason }) => [message, reason]);
    };
    expect([ANSWERS - 2, ANSWERS - 1, ANSWERS].map(next)).toEqual([undefined, [[2, 'offloaded']], undefined]);
  });

  it('is explained as a move and as offloaded', () => {
    const { plan, view: rendered } = view(answered(ANSWERS + 1));
    const { messages, moves } = explain(plan, rendered, counter);
    expect(moves).toMatchObject([{ messages: answered(ANSWERS).length, trigger: 'large_output' }]);
    expect(messages[2]).toMatchObject({ fate: 'offloaded' });
  });
});

describe('large outputs of generated conversations', () => {
  it('leave early in some of them, and only in moves that are said', () => {
    let early = 0;
    forAll(
      runs(15, 200),
      richConversation,
      autoStrategy,
      autoOptions(true),
      (conversation, strategy, options) => {
        const first = [user('go'), ...step('large', 'read_file', LARGE)];
        const large = { ...conversation, messages: [...first, ...conversation.messages] };
        const views = viewsOf(large, { ...strategy, offload_min_tokens: 1_000 }, options);
        for (const [index, viewed] of views.entries()) {
          const earlier = views[index - 1];
          if (earlier) expect(brokenPrefix(earlier, viewed)).toEqual([]);
          if (viewed.plan.replay.moves.some(({ trigger }) => trigger === 'large_output')) early++;
        }
      },
    );
    expect(early).toBeGreaterThan(0);
  });
});
