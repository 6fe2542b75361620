/**
 * Summaries for a replay, without a model: each text is an extractive digest on top of the previous
 * one, and its source is kept as a transcript that links to the previous transcript.
 */

import { termsOf } from '../src/memory/models/terms.ts';
import type { EditingStrategy } from '../src/memory/modes/table.ts';
import { outlineOf, type Plan, planView } from '../src/memory/plan/plan.ts';
import type { ChatRequest } from '../src/protocol/chat/request.ts';
import { transcriptOf } from '../src/summary/kept-transcript.ts';
import { writeDigest } from '../src/summary/text/digest.ts';
import { entriesOf } from '../src/summary/text/entries.ts';
import { collectLedger } from '../src/summary/text/ledger.ts';
import { withProven } from '../src/summary/text/proven.ts';
import { sha256Hex } from '../src/tenant/identity.ts';
import type { Isolate } from './pipeline.ts';

/** The summary in use. */
export interface RollUp {
  /** The messages before this index are covered. */
  readonly end: number;
  /** As the summarizer has written it. */
  readonly written: string;
  /** The same with the facts that the turns after it have used, as a view shows it. */
  readonly text: string;
  /** The ref of its transcript. */
  readonly ref: string;
  readonly transcript: string;
}

/**
 * Plans a request that ends before a message, without a limit of the answer.
 *
 * @param retrieval whether the model can fetch refs
 * @param terms of the model that bills
 */
export function planOf(
  strategy: EditingStrategy,
  { messages, model, tools }: Pick<ChatRequest, 'messages' | 'model' | 'tools'>,
  end: number,
  isolate: Isolate,
  retrieval = true,
  terms = termsOf(undefined),
  cold?: readonly number[],
): Plan {
  const { refs } = isolate.tenant;
  const request = { messages: messages.slice(0, end), model, answerTokens: 0 };
  const outline = outlineOf(strategy, request, refs, { retrieval, terms, cold });
  return planView(strategy, outline, tools, { ...isolate, refs, digest: sha256Hex });
}

/** The digest of a plan's prefix on top of the previous one, and its transcript. */
export function rollUp(
  { prefix, history }: Plan,
  before: RollUp | undefined,
  { counter, tenant }: Isolate,
): RollUp {
  if (!prefix) throw new Error('nothing is to be summarised');
  const { end } = prefix;
  const from = before?.end ?? 0;
  const written = writeDigest({
    ...(before ? { priorText: before.written } : {}),
    entries: entriesOf(history, from, end, 'readable'),
    facts: collectLedger(entriesOf(history, 0, end, 'readable')),
    maxTokens: prefix.limit,
    counter,
    includeTrajectory: true,
  });
  const text = withProven({
    text: written,
    covered: entriesOf(history, 0, end, 'readable'),
    later: entriesOf(history, end, prefix.since ?? end, 'readable'),
    maxTokens: prefix.limit,
    counter,
  });
  const content = transcriptOf({ history, from, end, earlier: before?.ref }, tenant, undefined, counter);
  return { end, written, text, ref: content.ref, transcript: content.text() };
}

/**
 * The text under a ref, and those that it links to.
 *
 * @param kept the texts by ref
 */
export function textsUnder(ref: string, kept: ReadonlyMap<string, string>): string[] {
  const texts: string[] = [];
  for (let at: string | undefined = ref; at !== undefined; ) {
    const text: string | undefined = kept.get(at);
    if (text === undefined) throw new Error(`the view names ${at}, and nothing is kept under it`);
    texts.push(text);
    at = /^What stood before them is kept under (ref_[a-z2-7]{26})\.$/m.exec(text.slice(0, 500))?.[1];
  }
  return texts;
}
