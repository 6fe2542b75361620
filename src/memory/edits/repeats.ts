/**
 * Which tool outputs occur again later: literally, or by a later call with the same arguments. And
 * which bring a content back that the view may lack by then.
 */
import { elementAt } from '../../lib/elements.ts';
import type { Output } from '../conversation/history.ts';
import { type CompactContext, contentName, outputRef, ownMarkerRef } from './compact.ts';
import type { MarkerReason } from './placeholder.ts';

/** The names of the tool with which a model fetches removed contents. */
export const FETCH_NAMES = ['retrieve_ref', 'precis_retrieve_ref'] as const;

/** A later repetition of an output. */
export interface Repeat {
  readonly reason: Extract<MarkerReason, 'duplicate' | 'superseded'>;
  /** The nearest message that repeats it. */
  readonly by: number;
}

/** Why an output has a content again. */
export type Recall =
  /** A call was repeated, and has given the same. */
  | {
      readonly how: 'repeated';
      /** The earlier output, and whether that came as one of Precis's placeholders. */
      readonly of: number;
      readonly isMarked: boolean;
      /** The message with the later call. */
      readonly asked: number;
    }
  /** The model has fetched what a ref names, through a tool that the caller runs. */
  | { readonly how: 'fetched'; readonly ref: string };

/** Outputs by message. A longer array adds entries to the same maps, and changes none. */
export interface Repeats {
  readonly repeats: ReadonlyMap<number, Repeat>;
  readonly recalls: ReadonlyMap<number, Recall>;
}

/** Linear in the number of outputs. */
export function repeatsIn(context: CompactContext): Repeats {
  const read = new ReadOutputs();
  for (const { first, outputs } of context.history.units)
    for (const output of outputs) read.next(output, first, context);
  return read;
}

/** The outputs of the first units of an array. */
class ReadOutputs implements Repeats {
  readonly repeats = new Map<number, Repeat>();
  readonly recalls = new Map<number, Recall>();
  /** The newest output of each content. */
  private readonly contents = new Map<string, number>();
  /** The same of each call, by name and arguments. */
  private readonly calls = new Map<string, Map<string, CalledOutput>>();

  /** @param asked the message with the call */
  next(output: Output, asked: number, context: CompactContext): void {
    const { message, call } = output;
    const { messages } = context.history;
    const name = contentName(elementAt(messages, message), context);
    const same = this.contents.get(name);
    const earlier = call && this.calls.get(call.name)?.get(call.input);
    // The nearer repetition decides, so that a longer array never changes the reason.
    if (same !== undefined) this.repeat(same, 'duplicate', message);
    if (earlier) this.repeat(earlier.message, 'superseded', message);
    const recall = earlier && recallOf(earlier, { message, name, asked }, context);
    const ref = fetchedRef(output, context);
    if (recall) this.recalls.set(message, recall);
    else if (ref !== undefined) this.recalls.set(message, { how: 'fetched', ref });
    this.contents.set(name, message);
    if (!call) return;
    const inputs = this.calls.get(call.name) ?? new Map<string, CalledOutput>();
    this.calls.set(call.name, inputs.set(call.input, { message, name, asked }));
  }

  private repeat(message: number, reason: Repeat['reason'], by: number): void {
    if (!this.repeats.has(message)) this.repeats.set(message, { reason, by });
  }
}

/** An output, the name of its content, and the message that asked for it. */
interface CalledOutput {
  readonly message: number;
  readonly name: string;
  readonly asked: number;
}

/** What the later output of a call brings back; undefined if that is another content. */
function recallOf(earlier: CalledOutput, newer: CalledOutput, context: CompactContext): Recall | undefined {
  const of = earlier.message;
  const recall = { how: 'repeated', of, isMarked: false, asked: newer.asked } as const;
  if (newer.name === earlier.name) return recall;
  const { refs, history } = context;
  const { messages } = history;
  const ref = ownMarkerRef(elementAt(messages, of), context);
  if (ref === undefined || !refs) return undefined;
  const isOf = outputRef(elementAt(messages, newer.message), refs) === ref;
  return isOf ? { ...recall, isMarked: true } : undefined;
}

const REF_ARGUMENT = /"ref"\s*:\s*"(ref_[a-z2-7]{26})"/;

/** The ref of the tenant's that a call has fetched. */
function fetchedRef({ call }: Output, { refs }: CompactContext): string | undefined {
  if (!call || !FETCH_NAMES.some((name) => name === call.name)) return undefined;
  const ref = REF_ARGUMENT.exec(call.input)?.[1];
  return ref !== undefined && refs?.owns(ref) ? ref : undefined;
}
