/**
 * Which tool outputs occur again later: literally, or by a later call with the same arguments. And
 * which bring a content back that the view may lack by then.
 */
import { elementAt } from '../../lib/elements.ts';
import type { History, Output } from '../conversation/history.ts';
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
      /** The earlier output, and whether that came as a placeholder of ours. */
      readonly of: number;
      readonly isMarked: boolean;
      /** The message with the later call. */
      readonly asked: number;
    }
  /** The model has fetched what a ref names, through a tool that the caller runs. */
  | { readonly how: 'fetched'; readonly ref: string };

/** Outputs by message. A longer array adds entries, and changes none. */
export interface Repeats {
  readonly repeats: ReadonlyMap<number, Repeat>;
  readonly recalls: ReadonlyMap<number, Recall>;
}

/** Linear in the number of outputs. */
export function repeatsIn(history: History, context: CompactContext): Repeats {
  const repeats = new Map<number, Repeat>();
  const recalls = new Map<number, Recall>();
  const contents = new Map<string, number>();
  /** By name and arguments, whose strings an isolate keeps: nothing is joined or hashed again. */
  const calls = new Map<string, Map<string, Later>>();
  for (const unit of history.units.toReversed())
    for (const output of unit.outputs.toReversed()) {
      const { message, call } = output;
      const name = contentName(elementAt(history.messages, message), context);
      const same = contents.get(name);
      const newer = call && calls.get(call.name)?.get(call.input);
      // The nearer repetition decides, so that a longer array never changes the reason.
      if (same !== undefined && same <= (newer?.message ?? same))
        repeats.set(message, { reason: 'duplicate', by: same });
      else if (newer) repeats.set(message, { reason: 'superseded', by: newer.message });
      const recalled = newer && recallOf(message, name, newer, history, context);
      if (recalled) recalls.set(newer.message, recalled);
      const ref = fetchedRef(output, context);
      if (ref !== undefined) recalls.set(message, { how: 'fetched', ref });
      contents.set(name, message);
      if (!call) continue;
      const inputs = calls.get(call.name) ?? new Map<string, Later>();
      calls.set(call.name, inputs.set(call.input, { message, name, asked: unit.first }));
    }
  return { repeats, recalls };
}

/** A later output of the same call. */
interface Later {
  readonly message: number;
  readonly name: string;
  readonly asked: number;
}

/** What the later output brings back; undefined if that is another content. */
function recallOf(
  of: number,
  name: string,
  newer: Later,
  { messages }: History,
  context: CompactContext,
): Recall | undefined {
  const recall = { how: 'repeated', of, isMarked: false, asked: newer.asked } as const;
  if (newer.name === name) return recall;
  const { refs } = context;
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
