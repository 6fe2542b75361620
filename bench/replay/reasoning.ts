/**
 * The reasoning that moves lose where the API binds it to what precedes it
 * (docs/design.md#bound-thinking). Recorded conversations have none, so each model call is given
 * one item of `ITEM_TOKENS`. An item is valid as long as it is sent, and all that was sent before
 * it stays the same.
 */
import type { ModelTerms } from '../../src/memory/models/terms.ts';
import { percent, printTable } from '../figures.ts';
import type { Isolate } from '../pipeline.ts';
import type { ReuseTrace } from '../reuse.ts';
import {
  type Bill,
  billOf,
  commonMessages,
  type PricedMessage,
  type PricedRequest,
  sumOfBills,
} from './bill.ts';
import { type ChatJson, Conversation, requestPoints } from './conversation.ts';
import { type NearOutcome, replay } from './measure.ts';
import { native } from './native.ts';
import { clearToolUses } from './peers/clear-tool-uses.ts';
import { opencodePrune } from './peers/opencode.ts';
import { policiesOf } from './policies.ts';
import type { Policy } from './policy.ts';
import { BOUND, reasoningOfSchedule, type ScheduleName, termsOfSchedule } from './schedules.ts';

/** Of an item. */
export const ITEM_TOKENS = 300;

/** Of `auto` and of `native`, in thousands of tokens. */
const BUDGETS = [32, 64, 100];

/** Of its budget, the share over which `auto` no longer waits for the end of a turn. */
const ROOM = 1.25;

/** A policy's moves, and the items that they make invalid. */
export interface Losses {
  /** Requests whose view does not extend the one before. */
  readonly moves: number;
  readonly lost: number;
  /** Those before a vendor's own compaction, which carries them in its words. */
  readonly carried: number;
  /** Moves that lose items of a turn that is not over, and those that had room to wait. */
  readonly open: number;
  readonly early: number;
}

export interface ReasoningFigures extends Losses {
  readonly set: string;
  readonly policy: string;
  readonly conversations: number;
  readonly requests: number;
  /** The bill relative to none, and with all lost items written again. */
  readonly paidToNone: number;
  readonly thoughtAgain: number;
  /** Words of near use in the view, and all of them. */
  readonly near: number;
  readonly nearValues: number;
}

/** The conversation with an item of reasoning in each answer that a model was asked for. */
export function withReasoning(trace: ReuseTrace): ReuseTrace {
  const points = new Set(requestPoints(trace.messages));
  const messages = trace.messages.map((message, index): ChatJson => {
    const says = message.content || message.tool_calls;
    if (!points.has(index) || message.role !== 'assistant' || !says) return message;
    return { ...message, reasoning_content: `${' so'.repeat(ITEM_TOKENS)} #${index}` };
  });
  return { ...trace, messages };
}

const ITEM = /"reasoning_content":"(?: so)+ #(\d+)"/;

/** @param room tokens of a view up to which a move can wait for the end of a turn */
export function lossesOf(
  { trace, points, messages: own }: Conversation,
  requests: readonly PricedRequest[],
  room: number,
): Losses {
  let valid: { readonly at: number; readonly message: number }[] = [];
  const losses = { moves: 0, lost: 0, carried: 0, open: 0, early: 0 };
  for (const [index, now] of requests.entries()) {
    const before = requests[index - 1];
    const [answer = 0, end = 0] = [points[index - 1], points[index]];
    if (!before) continue;
    const sent = before.messages.length;
    if (itemIn(own[answer]) === answer) valid.push({ at: sent, message: answer });
    const same = commonMessages(before, now);
    const stays = ({ at, message }: (typeof valid)[number]): boolean =>
      at <= same && itemIn(now.messages[at]) === message;
    const lost = valid.filter((item) => !stays(item));
    valid = valid.filter(stays);
    if (same < sent) losses.moves++;
    losses[now.carriesReasoning ? 'carried' : 'lost'] += lost.length;
    const turn = trace.messages.slice(0, end).findLastIndex(({ role }) => role === 'user');
    if (now.carriesReasoning || !lost.some(({ message }) => message > turn)) continue;
    losses.open++;
    const { counted = now.overhead + tokensOf(before.messages) } = before;
    if (counted + tokensOf(own.slice(answer, end)) <= room) losses.early++;
  }
  return losses;
}

function itemIn(message: PricedMessage | undefined): number | undefined {
  const [, item] = (message && ITEM.exec(message.bytes)) ?? [];
  return item === undefined ? undefined : Number(item);
}

function tokensOf(messages: readonly PricedMessage[]): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** A policy, and up to which size of a view its moves can wait. */
interface Measured {
  readonly policy: Policy;
  readonly room: number;
}

/** `native` is OpenAI's alone. */
function policiesFor(schedule: ScheduleName, terms: ModelTerms, isolate: Isolate): Measured[] {
  const { prices } = terms;
  const limit = prices.step?.above ?? Number.POSITIVE_INFINITY;
  const auto = BUDGETS.flatMap((thousands): Measured[] => {
    const token_budget = thousands * 1_000;
    const strategy = JSON.stringify({ mode: 'auto', token_budget, compact_retrieval: 'tool' });
    const [policy] = policiesOf(isolate, terms, [strategy]).others;
    const name = `auto, ${thousands}k`;
    return policy ? [{ policy: { ...policy, name }, room: Math.min(ROOM * token_budget, limit) }] : [];
  });
  const compacting = [
    ...BUDGETS.map((thousands) => native(`native, ${thousands}k`, thousands * 1_000, prices)),
    ...[0.02, 0.2].map((share) => native(`native, 32k, item of ${share}`, 32_000, prices, share)),
  ];
  const peers = [clearToolUses(100_000, 3), clearToolUses(32_000, 3), opencodePrune()];
  const others = [...(schedule === 'gpt-6' ? compacting : []), ...peers];
  return [...auto, ...others.map((policy) => ({ policy, room: Number.POSITIVE_INFINITY }))];
}

/** What is summed over conversations. */
interface Sums {
  readonly none: Bill[];
  readonly bills: Bill[];
  readonly losses: Losses[];
  readonly near: NearOutcome[];
}

/** @param traces by the name of their set */
export async function reasoningFigures(
  traces: ReadonlyMap<string, readonly ReuseTrace[]>,
  none: Policy,
  schedule: ScheduleName,
  isolate: Isolate,
): Promise<ReasoningFigures[]> {
  const terms = boundTermsOf(schedule);
  const measured = policiesFor(schedule, terms, isolate);
  const rows: { readonly set: string; readonly policy: string; readonly sums: Sums }[] = [];
  for (const [set, those] of traces) {
    const sums = measured.map((): Sums => ({ none: [], bills: [], losses: [], near: [] }));
    for (const trace of those) {
      const conversation = new Conversation(withReasoning(trace), isolate.counter);
      const unedited = billOf((await replay(none, conversation)).requests, terms.prices);
      for (const [at, { policy, room }] of measured.entries()) {
        const { requests, near } = await replay(policy, conversation);
        sums[at]?.none.push(unedited);
        sums[at]?.bills.push(billOf(requests, terms.prices));
        sums[at]?.losses.push(lossesOf(conversation, requests, room));
        sums[at]?.near.push(...near);
      }
    }
    rows.push(
      ...measured.flatMap(({ policy }, at) => {
        const of = sums[at];
        return of ? [{ set, policy: policy.name, sums: of }] : [];
      }),
    );
  }
  const all = measured.map(({ policy }) => {
    const of = rows.filter((row) => row.policy === policy.name).map(({ sums }) => sums);
    const sums = {
      none: of.flatMap(({ none }) => none),
      bills: of.flatMap(({ bills }) => bills),
      losses: of.flatMap(({ losses }) => losses),
      near: of.flatMap(({ near }) => near),
    };
    return { set: 'all', policy: policy.name, sums };
  });
  return [...rows, ...all].map(({ set, policy, sums }) => figuresOf(set, policy, sums, terms));
}

function figuresOf(set: string, policy: string, sums: Sums, { prices }: ModelTerms): ReasoningFigures {
  const [bill, none] = [sumOfBills(sums.bills), sumOfBills(sums.none)];
  const total = (name: keyof Losses): number => sums.losses.reduce((sum, losses) => sum + losses[name], 0);
  const lost = total('lost');
  return {
    ...{ set, policy, conversations: sums.bills.length, requests: bill.requests },
    ...{ moves: total('moves'), lost, carried: total('carried') },
    ...{ open: total('open'), early: total('early') },
    paidToNone: bill.paid / none.paid,
    thoughtAgain: (bill.paid + lost * ITEM_TOKENS * prices.output) / none.paid,
    near: sums.near.filter(({ visible }) => visible).length,
    nearValues: sums.near.length,
  };
}

/** @throws if the schedule's model does not bind its reasoning */
export function boundTermsOf(schedule: ScheduleName): ModelTerms {
  if (!BOUND.includes(schedule)) throw new Error(`--reasoning needs --schedule ${BOUND.join(' or ')}`);
  return { ...termsOfSchedule(schedule), reasoning: reasoningOfSchedule(schedule) };
}

export function printReasoning(figures: readonly ReasoningFigures[]): void {
  console.log(`one item of ${ITEM_TOKENS} tokens per model call\n`);
  printTable(
    ['set', 'policy', 'moves', 'lost', 'carried', 'in a turn', 'with room', 'bill', 'again', 'near use'],
    figures.map((row) => [
      ...[row.set, row.policy, `${row.moves}`, `${row.lost}`, `${row.carried}`],
      ...[`${row.open}`, `${row.early}`, row.paidToNone.toFixed(3), row.thoughtAgain.toFixed(3)],
      percent(row.near, row.nearValues),
    ]),
  );
}
