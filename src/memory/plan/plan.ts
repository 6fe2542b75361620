/**
 * The plan: what is edited in a request, as a pure function of the request and the strategy
 * (docs/design.md#1-the-one-idea).
 *
 *     history ─ tokens ─▶ replay ─▶ cuts ─▶ removals, dropped messages ─▶ render ─▶ view
 *
 * Storage comes between plan and view only to say which removals may be made: a placeholder must
 * never name a ref that can't be fetched.
 */
import { InvariantError } from '../../lib/invariant-error.ts';
import { type History, readHistory } from '../conversation/history.ts';
import { type KeptReasoning, reasoningByMessage } from '../conversation/kept-reasoning.ts';
import type { Message } from '../conversation/message.ts';
import type { RefNamer } from '../conversation/refs.ts';
import { findEcho } from '../conversation/session-summary.ts';
import { withTurnHeads } from '../conversation/turn-heads.ts';
import { partsOf } from '../models/facts.ts';
import { bindsThinking, dropsThinking } from '../models/past-reasoning.ts';
import { termsOf } from '../models/terms.ts';
import type { ReplayedMode, Tail } from '../modes/mode.ts';
import type { Budgets, PlanContext, Planned, PlanRequest } from '../modes/planned.ts';
import { answerRoomOf, budgetsOf, frontierOf, summarizes } from '../modes/strategy.ts';
import { type EditingStrategy, modeOf } from '../modes/table.ts';
import { type ThinkingSums, thinkingIn } from '../replay/bound-thinking.ts';
import { type KeptRounds, RoundsInView, tokensOfRounds } from '../replay/kept-rounds.ts';
import type { ReplayRule } from '../replay/rule.ts';
import { sumsWithout, tokenSums } from '../tokens/sums.ts';
import { ANSWER_OVERHEAD, type Tools, toolTokens } from '../tokens/tokens.ts';
import { keptBesideMemory, withoutThinkingBefore } from './left-thinking.ts';

export interface Plan extends Planned {
  readonly strategy: EditingStrategy;
  readonly history: History;
  readonly budgets: Budgets;
  /** Whether the plan acts on a soft budget: only if it loses nothing. */
  readonly actsOnSoft: boolean;
  /** Tokens of the array up to its previous request, with the tools; 0 for the first one. */
  readonly repeated: number;
  /** The kept rounds in the view. */
  readonly rounds: readonly KeptRounds[];
  /** Rounds that would be in it, but for their messages. */
  readonly lost: readonly KeptRounds[];
  /** Whether rounds may be missing in the view. */
  readonly lacksRounds: boolean;
  /** Whether its view gets marks. */
  readonly marks: boolean;
}

/**
 * Whether a strategy may have an effect on a history. False is certain, true is not. It counts no
 * tokens, since a count is at most the number of bytes times the measure's factor.
 *
 * @param toolBytes bytes of the tool definitions
 */
export function mayAct(strategy: EditingStrategy, request: PlanRequest, toolBytes: number): boolean {
  const { replayed, recalled } = modeOf(strategy);
  if (request.rounds !== undefined && request.rounds.length > 0) return true;
  if (lacksReasoning(request)) return true;
  const { hard, soft, window } = budgetsWithin(strategy, request);
  if (recalled) {
    if (request.memory !== undefined || request.limit !== undefined) return true;
    return mayExceed(Math.min(recalled.most(strategy), hard ?? window, window), request, toolBytes);
  }
  if (!replayed) return false;
  if (request.force || request.byteLimit !== undefined) return true;
  if (isCountDue(strategy, replayed, request.history)) return true;
  if (replayed.mayActEarly?.(strategy, request, window)) return true;
  const limit = Math.min(hard ?? window, soft ?? window, window - answerRoom(request.answerTokens, window));
  return mayExceed(limit, request, toolBytes);
}

/** Whether an array may have more tokens than a limit. False is certain, true is not. */
function mayExceed(limit: number, request: PlanRequest, toolBytes: number): boolean {
  const factor = Math.max(1, request.measure ? partsOf(request.measure).factor : 1);
  // JSON punctuation exceeds the overhead per message, and the quotes of each text what rounding up
  // adds to it. The bytes of tools are doubled to be safe.
  const kept = request.reasoning?.answers.reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  let most = 2 * factor * toolBytes + ANSWER_OVERHEAD + kept;
  for (const message of request.history.messages) {
    if (most > limit) return true;
    most += factor * message.bytes + message.flatTokens;
  }
  return most > limit;
}

/** Whether a view may be without reasoning, whatever its size. */
function lacksReasoning({ reasoning }: Pick<PlanRequest, 'reasoning'>): boolean {
  return reasoning !== undefined && (reasoning.from > 0 || reasoning.isUnknown);
}

/** Whether turns, steps or messages may meet a trigger. */
function isCountDue(
  strategy: EditingStrategy,
  mode: ReplayedMode<EditingStrategy>,
  { turns, units, messages }: History,
): boolean {
  const { turnsDue = NEVER, turnsLossy = NEVER, stepsDue, messagesDue = NEVER } = mode.triggers(strategy);
  if (turns.length >= Math.min(turnsDue, turnsLossy) || messages.length >= messagesDue) return true;
  return stepsDue !== undefined && units.filter(({ step }) => step).length >= stepsDue;
}

/** A number that no conversation reaches. */
const NEVER = Number.POSITIVE_INFINITY;

/**
 * The plan of a request: by replay, or around the memory in use.
 *
 * @param tools all that are sent upstream, including Precis's
 */
export function planView(
  strategy: EditingStrategy,
  outline: PlanRequest,
  tools: Tools | undefined,
  context: PlanContext,
): Plan {
  const { replayed, recalled } = modeOf(strategy);
  const request = { ...outline, toolBytes: tools?.bytes ?? 0 };
  const { history } = request;
  const kept = reasoningByMessage(request.reasoning);
  const all = tokenSums(
    history,
    toolTokens(tools, context.counter),
    context.counter,
    (message) => kept.get(message)?.tokens ?? 0,
  );
  const isBound = bindsThinking(request.terms.reasoning);
  const thinking = isBound ? thinkingIn(history, context.counter, kept) : undefined;
  // What may leave by itself is no part of what else leaves.
  const sums = thinking ? sumsWithout(all, (index) => thinking.tokens.at(index)) : all;
  const bound = <Made extends Planned>(made: Made, inView: RoundsInView, from: number) => {
    const { shown, unshownBefore } = inView;
    const rounds = shown.filter((one) => one.lost === undefined);
    const lost = shown.filter((one) => one.lost !== undefined);
    const lacksRounds = request.rounds === 'absent' || lost.some((one) => one.lost !== 'reported');
    // Lost ones count where it is decided what moves, as they did in earlier requests.
    const lostReasoning = isBound ? 0 : lostTokens(made, kept);
    const after = made.replay.after - tokensOfRounds(lost) - lostReasoning;
    const planned = { ...made, replay: { ...made.replay, after } };
    // Some thinking is bound to rounds or thinking that is not there.
    const isLacking = lacksRounds || request.reasoning?.isUnknown === true;
    const since = Math.max(from, unshownBefore, request.reasoning?.from ?? 0);
    const end = isLacking ? history.messages.length : since;
    return { rounds, lost, lacksRounds, ...withoutThinkingBefore(planned, history, thinking, end, kept) };
  };
  const previous = history.requestPoints.at(-2);
  const repeated = previous ? all.before(previous.messages) : 0;
  if (recalled) {
    const budgets = budgetsFor(strategy, request);
    const inView = roundsInView(request, budgets);
    const planned = recalled.plan(strategy, { ...request, budgets, sums, inView }, context);
    const made = bound(planned, inView, keptBesideMemory(planned, history, thinking));
    return { strategy, history, actsOnSoft: false, repeated, marks: false, ...made };
  }
  if (!replayed) throw new InvariantError(`mode ${strategy.mode} has no plan`);
  // Over the soft budget, only reversible modes run.
  const actsOnSoft = context.refs !== undefined && replayed.isReversible?.(strategy) === true;
  const budgets = budgetsWithin(strategy, request, actsOnSoft);
  const soft = actsOnSoft ? budgets.soft : undefined;
  const rule = ruleOf(strategy, replayed, { ...budgets, soft }, request, thinking);
  const inView = roundsInView(request, budgets);
  const planned = replayed.plan(strategy, { ...request, rule, sums, inView }, context);
  const made = bound(planned, inView, planned.replay.thinkingFrom ?? 0);
  const { marks } = request.terms;
  return { strategy, history, budgets, actsOnSoft, repeated, marks, ...made };
}

/** Tokens of the reasoning in a view that is kept no more. */
function lostTokens({ dropped, segments }: Planned, kept: ReadonlyMap<number, KeptReasoning>): number {
  const lost = [...kept.values()].filter(({ isLost }) => isLost);
  if (lost.length === 0) return 0;
  const cleared = segments.flat().flatMap(({ kind, message }) => (kind === 'reasoning' ? [message] : []));
  const left = new Set([...dropped, ...cleared]);
  return lost.reduce((sum, { message, tokens }) => sum + (left.has(message) ? 0 : tokens), 0);
}

/** Precis's rounds in the views of an array, before its first request. */
function roundsInView({ history, rounds = [] }: PlanRequest, { hard, soft, window }: Budgets): RoundsInView {
  const budget = Math.min(hard ?? soft ?? window, window);
  return new RoundsInView(history, rounds === 'absent' ? [] : rounds, budget);
}

/**
 * The strategy's budgets, within the known limit of the upstream. Nobody has asked for the model's
 * goal, so it is a soft budget only where the model can fetch what leaves.
 */
function budgetsWithin(strategy: EditingStrategy, request: PlanRequest, actsOnSoft = true): Budgets {
  const { goal, ...budgets } = budgetsFor(strategy, request);
  const follows = actsOnSoft && request.retrieval === true && modeOf(strategy).replayed?.paysOff;
  return {
    ...budgets,
    ...(follows && goal !== undefined ? { soft: goal } : {}),
    window: Math.min(budgets.window, request.limit ?? budgets.window),
  };
}

/** The strategy's budgets. The hard one leaves room for the longest answer. */
function budgetsFor(strategy: EditingStrategy, request: PlanRequest): Budgets {
  const budgets = budgetsOf(strategy, request.terms);
  const { window, hard } = budgets;
  return hard === undefined ? budgets : { ...budgets, hard: Math.min(hard, promptLimit(request, window)) };
}

/** The most tokens of a prompt, with the room for an answer that the request does not limit. */
function promptLimit(request: PlanRequest, window: number): number {
  return Math.min(window - roomOf(request, window), request.terms.input ?? window);
}

/**
 * The room for the longest answer of the model, if the request does not limit its answer. Unlike a
 * limit in the request, it holds at every request point: it is the same for all requests to a
 * model, so it breaks no cached prefix.
 */
function roomOf({ terms, answerTokens, limit }: PlanRequest, window: number): number {
  // A limit that the upstream has stated is for the prompt alone.
  return answerTokens > 0 || limit !== undefined ? 0 : answerRoomOf(terms.answer ?? 0, window);
}

function ruleOf(
  strategy: EditingStrategy,
  mode: ReplayedMode<EditingStrategy>,
  budgets: Pick<ReplayRule, 'soft'> & Omit<Budgets, 'soft'>,
  request: PlanRequest,
  thinking: ThinkingSums | undefined,
): ReplayRule {
  const answer = answerRoom(request.answerTokens, budgets.window);
  // A move for the answer's room alone is undone at the next request, and so would change the
  // prefix twice. Where that costs thinking, the room counts at every request point.
  const isBound = bindsThinking(request.terms.reasoning);
  const room = isBound ? answer : 0;
  const price = dropsThinking(request.terms.reasoning) ? request.terms.prices.output : undefined;
  const most = Math.min(promptLimit(request, budgets.window), budgets.window - room);
  const hard = room === 0 ? budgets.hard : budgets.hard && Math.min(budgets.hard, budgets.window - room);
  return {
    frontier: frontierOf(strategy),
    ...mode.triggers(strategy),
    hard: hard ?? (most < budgets.window ? most : undefined),
    soft: budgets.soft,
    step: budgets.step,
    limit: isLimit(strategy) ? hard : undefined,
    watermark: strategy.low_watermark_pct,
    minReclaim: strategy.min_reclaim_tokens ?? 0,
    waits: mode.paysOff && strategy.min_reclaim_tokens === undefined && !request.terms.prices.free,
    window: budgets.window,
    learned: request.limit !== undefined && request.limit <= budgets.window,
    answer: answer - room,
    force: request.force,
    thinking: thinking && {
      ...thinking,
      late: lateOver(strategy, most, budgets),
      price,
      budget: Math.min(hard ?? most, most),
    },
    cold: request.cold && new Set(request.cold),
    still:
      request.rounds === 'absent' ||
      request.rounds?.some(({ lost }) => lost === 'unread') === true ||
      request.reasoning?.isUnknown === true,
    ...(request.whole ? NO_TAIL : mode.tail(strategy)),
  };
}

/** Whether the caller's budget is a limit of each view. */
function isLimit(strategy: EditingStrategy): boolean {
  return 'budget' in strategy && strategy.budget === 'hard';
}

/** The share of its hard budget over which a view loses thinking in the middle of a turn. */
const LATE = 1.25;

/**
 * See `ThinkingRule`. A caller that asks for moves of any size wants its budget at that price.
 *
 * @param most tokens that the upstream accepts
 */
function lateOver(
  strategy: EditingStrategy,
  most: number,
  { hard = most, step = most }: Pick<Budgets, 'hard' | 'step'>,
): number | undefined {
  const { min_reclaim_tokens: least } = strategy;
  if (isLimit(strategy)) return Math.min(hard, step, most);
  return least === 0 ? undefined : Math.min(LATE * hard, step, most);
}

const NO_TAIL: Tail = { stops: 'unit', keepTurns: 0, keepSteps: 0, whole: true };

/** An answer limit that leaves no room for the prompt is ignored. */
function answerRoom(answer: number, window: number): number {
  return answer < window ? answer : 0;
}

/** The part of a request that a plan needs, in either protocol. */
interface ViewRequest {
  readonly messages: readonly Message[];
  readonly model: string | undefined;
  /** The caller's limit for the answer in tokens, or 0 without one. */
  readonly answerTokens: number;
  /** See `ModelRequest`. */
  readonly beginsThinking?: boolean;
}

/** See `PlanRequest`. */
type ViewOptions = Partial<Omit<PlanRequest, 'history' | 'answerTokens' | 'toolBytes'>>;

/**
 * The shape of a request's array, and the options of its caller. It counts no tokens.
 *
 * From a request to its plan there are two pure steps: the outline, and the plan. The Worker, the
 * tests and the benchmarks call the same two functions.
 *
 * @param refs the tenant's, which identify a summary that the caller has sent back; absent without
 *   a tenant
 */
export function outlineOf(
  strategy: EditingStrategy,
  { messages, model, answerTokens, beginsThinking = false }: ViewRequest,
  refs: RefNamer | undefined,
  { force = false, whole = false, retrieval = false, ...rest }: ViewOptions = {},
): PlanRequest {
  const echo = summarizes(strategy) ? findEcho(messages, refs) : undefined;
  const read = readHistory(messages, strategy.text_observation_prefixes, echo);
  const history = beginsThinking && !whole ? withTurnHeads(read) : read;
  const terms = rest.terms ?? termsOf(model);
  return { history, answerTokens, force, whole, retrieval, ...rest, terms };
}
