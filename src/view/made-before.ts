/**
 * The pure steps from a request to the bytes that are sent, each with the result that it had
 * before. An isolate keeps requests (`protocol/known-arrays.ts`), and a body that comes again is
 * the same request: a step is done again only if one of its other inputs has changed. What storage
 * says is asked anew.
 */
import { Latest } from '../lib/latest.ts';
import type { Removal } from '../memory/edits/removal.ts';
import { type ModelTables, type ModelTerms, termsOf } from '../memory/models/terms.ts';
import type { PlanContext, PlanRequest } from '../memory/modes/planned.ts';
import { marksChoiceOf } from '../memory/modes/strategy.ts';
import type { ActingStrategy, EditingStrategy, MemoryStrategy } from '../memory/modes/table.ts';
import { mayAct, type Plan, planView } from '../memory/plan/plan.ts';
import { render, type View, type ViewWords } from '../memory/plan/view.ts';
import type { TokenCounter, Tools } from '../memory/tokens/tokens.ts';
import type { BridgedBody, BridgeRefusal } from '../protocol/bridges/bridge.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { toolsWith } from '../protocol/tools.ts';
import { markingOf } from '../request/prompt-cache.ts';
import { type OfferedTools, offerTools } from './offer-tools.ts';

/** By the result of the step before. */
const terms = new Latest<ModelRequest, ModelTerms>();
const offered = new Latest<ModelRequest, ReturnType<typeof offerTools>>();
const tools = new Latest<OfferedTools, Tools>();
const acts = new Latest<PlanRequest, boolean>();
const plans = new Latest<PlanRequest, Plan>();
const views = new Latest<Plan, View>();

/** The outline of a request, and the body of a view. */
export const outlines = new Latest<ModelRequest, PlanRequest>();
export const bodies = new Latest<View, Uint8Array>();

/** A chat body in the form of another API, with outputs of earlier answers. */
interface WrittenOver {
  readonly written: BridgedBody | BridgeRefusal;
  /** How many outputs it has, and how many messages they replace. */
  readonly kept: number;
  readonly replaced: number;
}

/** By the chat body. */
export const bridgedBodies = new Latest<Uint8Array, WrittenOver>();

/** Bytes of memory that are kept with a body of chat: another one, and the outputs in it. */
export function bridgedBytes(body: Uint8Array): number {
  const { written } = bridgedBodies.last(body) ?? {};
  return written && 'body' in written ? 2 * written.body.length : 0;
}

/** See `termsOf`. @param strategy says who marks */
export function termsFor(request: ModelRequest, strategy: MemoryStrategy, tables: ModelTables): ModelTerms {
  const choice = marksChoiceOf(strategy);
  return terms.of(request, [tables, choice], () =>
    termsOf(request.model, tables, markingOf(request, choice)),
  );
}

export function offeredTools(
  ...args: [request: ModelRequest, strategy: ActingStrategy, ...Rest]
): ReturnType<typeof offerTools> {
  const [request, ...others] = args;
  return offered.of(request, others, () => offerTools(...args));
}

type Rest = Parameters<typeof offerTools> extends [unknown, unknown, ...infer Others] ? Others : never;

/** All tools that are sent upstream, including Precis's. */
export function sentTools(request: ModelRequest, ours: OfferedTools | undefined): Tools | undefined {
  return ours ? tools.of(ours, [request], () => toolsWith(request.tools, ours.definitions)) : request.tools;
}

/** What is known of a request beside its outline. */
type Beside = Pick<PlanRequest, 'memory' | 'rounds' | 'reasoning' | 'closed' | 'cold'>;

export function mayActOn(
  strategy: EditingStrategy,
  outline: PlanRequest,
  beside: Beside,
  tools: Tools | undefined,
): boolean {
  const may = () => mayAct(strategy, { ...outline, ...beside }, tools?.bytes ?? 0);
  return beside.memory ? may() : acts.of(outline, [strategy, ...keysOf(beside), tools], may);
}

/** See `planView`. What a context takes from its isolate follows from outline and tenant. */
export function planOf(
  strategy: EditingStrategy,
  outline: PlanRequest,
  beside: Beside,
  tools: Tools | undefined,
  context: PlanContext,
): Plan {
  const { unedited, refs } = context;
  const plan = () => planView(strategy, { ...outline, ...beside }, tools, context);
  // A memory is read anew, and can be deleted.
  if (beside.memory) return plan();
  return plans.of(outline, [strategy, ...keysOf(beside), tools, unedited, refs], plan);
}

/** See `render`. A view is the same if its contents are all written, and it has no new words. */
export function viewOf(plan: Plan, words: ViewWords, counter: TokenCounter): View {
  const isWritten = ({ ref }: Removal): boolean => ref === undefined || words.isWritten(ref);
  const isPlain = !words.summary && !words.line && !words.digestOf && !words.rounds?.size && !plan.shown;
  const removed = [...plan.segments, plan.thinking?.removals ?? []];
  if (!isPlain || !removed.every((segment) => segment.every(isWritten))) return render(plan, words, counter);
  return views.of(plan, [], () => render(plan, words, counter));
}

/** The same for the same kept rounds and reasoning, and the same closed and cold requests. */
function keysOf({ rounds, reasoning, closed, cold }: Beside): readonly unknown[] {
  const shown = Array.isArray(rounds) ? rounds.map((kept) => Object.values(kept).join(' ')).join() : rounds;
  return [shown, reasoning && JSON.stringify(reasoning), closed?.join(), cold?.join()];
}
