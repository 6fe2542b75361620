/**
 * Receipts (docs/answers-and-errors.md#receipts): hashes of all that a view is made of, and of the
 * view, so that anyone with the same array can make the plan anew and compare.
 */
import type { Digest } from '../conversation/refs.ts';
import type { TokenMeasure } from '../models/facts.ts';
import type { ModelTerms } from '../models/terms.ts';
import type { PlanRequest } from '../modes/planned.ts';
import type { Receipt, ReceiptHashes } from './receipt-schema.ts';
import type { View } from './view.ts';

/** The part of a report that the plan decides. */
interface ReportedPlan {
  readonly trigger: string;
  readonly frontier: { readonly unit: number; readonly moved: boolean };
  readonly tokens?: { readonly before: number; readonly budget: number | null; readonly window: number };
  readonly summary?: { readonly text: string };
}

/** What a view is made of, and the view. */
export interface ReceiptFacts {
  /** The conversation's field as the caller sent it, and as it was sent. Decoded JSON. */
  readonly array: unknown;
  readonly sent: unknown;
  /** Array and tools as they are written. Both are absent if nothing was read. */
  readonly text: { readonly array?: string | undefined; readonly tools?: string | undefined };
  readonly model: string | undefined;
  /** The caller's tools. Decoded JSON. */
  readonly tools: unknown;
  readonly answerTokens: number;
  readonly strategy: object;
  readonly terms: ModelTerms;
  readonly measure: TokenMeasure;
  readonly limit: Receipt['limit'];
  readonly bytes?: Receipt['bytes'];
  readonly report: ReportedPlan;
  readonly view: View | undefined;
  /** See `PlanRequest`. */
  readonly rounds: PlanRequest['rounds'];
  readonly reasoning: PlanRequest['reasoning'];
}

export function receiptHashes(facts: ReceiptFacts, digest: Digest): ReceiptHashes {
  const of = (value: unknown): string => digest(JSON.stringify(value) ?? '');
  const { terms, measure, limit, bytes, report, rounds = [], reasoning } = facts;
  return {
    array: of(facts.array),
    text: of([facts.text.array ?? null, facts.text.tools ?? null]),
    request: of([facts.model ?? null, facts.tools ?? null, facts.answerTokens]),
    strategy: of(sorted(facts.strategy)),
    prices: of([sorted(terms), measure, limit, ...(bytes === undefined ? [] : [bytes])]),
    plan: of(planFacts(facts)),
    view: of(facts.sent),
    words: report.summary ? of(report.summary.text) : null,
    ...(rounds.length > 0 ? { rounds: of(rounds) } : {}),
    ...(reasoning?.answers.length ? { reasoning: of(sorted(reasoning)) } : {}),
  };
}

/** The text that is signed: a receipt without its signature, whatever the order of its members. */
export function signedText({
  signature: _,
  ...receipt
}: Omit<Receipt, 'signature'> & { signature?: string }) {
  return JSON.stringify(sorted(receipt));
}

function planFacts({ report: { trigger, frontier, tokens }, view }: ReceiptFacts): unknown {
  const { before = null, budget = null, window = null } = tokens ?? {};
  const removals = [...(view?.removals.values() ?? [])].flat();
  return [
    [trigger, frontier.unit, frontier.moved],
    [before, budget, window],
    removals.map(({ message, kind, call, reason }) => [message, kind, call, reason]),
    [...(view?.dropped ?? [])],
    view?.summary?.covers ?? null,
  ];
}

/** The same value with the members of all objects in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
