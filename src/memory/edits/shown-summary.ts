/** A summary as it is written in a view. */

import { elementAt } from '../../lib/elements.ts';
import type { History } from '../conversation/history.ts';
import { writeOutput, writeRehydrated } from '../conversation/rehydrated-outputs.ts';
import { CONTINUE_LINE, SHADOW_LINE, writeBlock } from '../conversation/session-summary.ts';
import { MESSAGE_OVERHEAD, type TokenCounter } from '../tokens/tokens.ts';
import { headBefore, type RecapPlace, recapPlace } from './first-request.ts';
import { type Rehydrated, type RehydratedOutput, rehydratedText } from './rehydrate.ts';
import type { Removal } from './removal.ts';
import type { SummarizedPrefix } from './summarize.ts';

/** A summary, ready to be written. */
export interface ShownSummary {
  /** The text with its tags, and the outputs after it. */
  readonly block: string;
  /** The first and the last message that it covers. */
  readonly covers: readonly [number, number];
  /**
   * `recap`: an answer to the first request. `pair`: a shadow line and an answer, in place of the
   * first dropped message. `request`: the opening of the current user message. `alone`: a user
   * message of its own, if there is no other. `signed`: a message that the upstream has signed,
   * before all others.
   */
  readonly form: 'recap' | 'pair' | 'request' | 'alone' | 'signed';
  /** In the form `signed`: the upstream's own text of that message. Opaque here. */
  readonly signed?: string;
  /** In the form `recap`. */
  readonly recap?: RecapPlace;
  /**
   * In the form `request`: that message, and how many characters of its opening are an earlier
   * summary.
   */
  readonly request?: { readonly message: number; readonly opening: number };
  /** The outputs after the text, oldest first. Absent if there are none. */
  readonly rehydrated?: readonly ShownOutput[];
  /** Tokens of everything written. */
  readonly tokens: number;
}

/** The text of a summary, and what its tags name. */
export interface SummaryWords {
  /** The block with all of them. */
  readonly text: string;
  /** The ref of the transcript, if it is known to be written. */
  readonly ref: string | undefined;
  /** See `ShownSummary`. The text is then what it says. */
  readonly signed?: string | undefined;
  /** The first message that the text covers, if it is not the first of the array. */
  readonly from?: number;
  /** The message before which the text ends, if the prefix ends elsewhere. */
  readonly to?: number;
}

/** Tokens of a recap beside its text: the overhead of its messages, and the line after it. */
export function recapOverhead({ goesOn }: RecapPlace, counter: TokenCounter): number {
  return MESSAGE_OVERHEAD + (goesOn ? counter.marker(CONTINUE_LINE) + MESSAGE_OVERHEAD : 0);
}

/**
 * A summary in the form that fits its place in the array.
 *
 * @param later the outputs after it
 */
export function showSummary(
  history: History,
  { unit, end, request, first: kept }: SummarizedPrefix,
  { text, ref, signed, from = 0, to = end }: SummaryWords,
  counter: TokenCounter,
  later?: ShownOutputs,
): ShownSummary {
  const first = history.messages.findIndex(({ role }, index) => role !== 'preamble' && index >= from);
  const covers = [Math.max(0, first), to - 1] as const;
  if (signed !== undefined) {
    const tokens = counter.marker(text) + MESSAGE_OVERHEAD;
    return { block: text, covers, form: 'signed', signed, tokens };
  }
  const summary = writeBlock(text, ref, covers);
  const block = later ? `${summary}\n\n${later.text}` : summary;
  const shown = { block, covers, ...(later ? { rehydrated: later.outputs } : {}) };
  const written = later
    ? counter.weight(`${summary}\n${later.key}`, () => ({ texts: [block], flat: 0 }))
    : counter.marker(block);
  const recap = recapPlace(history, unit, request, kept);
  if (recap) return { ...shown, form: 'recap', recap, tokens: written + recapOverhead(recap, counter) };
  if (request !== undefined) {
    const opening = history.echo?.message === request ? history.echo.length : 0;
    return { ...shown, form: 'request', request: { message: request, opening }, tokens: written };
  }
  const tokens = written + MESSAGE_OVERHEAD;
  // An answer that must begin with thinking can't go on from the summary.
  const isAsked = history.units[unit]?.kind === 'user' && headBefore(history, unit) === undefined;
  if (!isAsked) return { ...shown, form: 'alone', tokens };
  const line = counter.marker(SHADOW_LINE) + MESSAGE_OVERHEAD;
  return { ...shown, form: 'pair', tokens: tokens + line };
}

/** An output in the view, and its removal, by which it can be fetched later. */
export interface ShownOutput extends RehydratedOutput {
  /** Absent if the content is not known to be written. */
  readonly removal?: Removal;
}

/**
 * Several outputs, ready to be written: oldest first, the block with all of them, and a key that
 * identifies its text.
 */
type ShownOutputs = ReturnType<typeof showOutputs>;

/**
 * The outputs after a summary.
 *
 * @param removals of the plan, by which contents are written
 * @param isWritten whether a ref's content is known to be written
 */
export function showOutputs(
  { messages }: Pick<History, 'messages'>,
  rehydrated: Rehydrated,
  removals: readonly Removal[],
  isWritten: (ref: string) => boolean,
) {
  const written = new Map<number, Removal>();
  for (const removal of removals)
    if (removal.kind === 'output' && removal.ref !== undefined && isWritten(removal.ref))
      written.set(removal.message, removal);
  const outputs = rehydrated.outputs.map((output): ShownOutput => {
    const removal = written.get(output.message);
    return removal ? { ...output, removal } : output;
  });
  const fenced = outputs.map(({ message, fence, removal }) => ({
    message: elementAt(messages, message),
    fence: { ...fence, ref: removal?.ref },
  }));
  return {
    outputs,
    text: writeRehydrated(fenced.map(({ message, fence }) => writeOutput(fence, rehydratedText(message)))),
    key: JSON.stringify(fenced.map(({ message, fence }) => [message.digest, fence])),
  };
}
