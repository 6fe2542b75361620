/**
 * Something that a view replaces by a placeholder.
 *
 * A removal depends only on its message and the messages before it, so it never changes. The
 * placeholder must be shorter than the original in characters, bytes and tokens. Markers that come
 * back are recognized, without I/O, by the check characters of their ref and by their call.
 */

import type { MessageFacts } from '../conversation/message.ts';
import type { RefNamer } from '../conversation/refs.ts';
import type { RemovalKind, RemovalReason } from './fates.ts';

/** The place for a digest of an output (see `output-digest.ts`). */
interface DigestPlace {
  /** The marker's line, which is above it. */
  readonly line: string;
  /** Size of the output in characters, and bytes of JSON (`Content.room`). */
  readonly length: number;
  readonly room: number;
  /** The most tokens that the view may have less there than `freed` counts. */
  readonly unused: number;
}

/** It does not hold the removed content (see `contentOf`), so it keeps no array alive. */
export interface Removal {
  readonly kind: RemovalKind;
  readonly reason: RemovalReason;
  /** Index of the edited message. */
  readonly message: number;
  /** Index of the call, the part or the hosted output; otherwise -1. */
  readonly call: number;
  /** The tool's name and the call's id, as the caller wrote them. */
  readonly tool: string;
  readonly callId: string;
  /** The ref under which the content is stored; absent if it is not. */
  readonly ref?: string;
  /** See `Content`. */
  readonly item?: string;
  /** Size of the removed content. */
  readonly tokens: number;
  readonly bytes: number;
  /** The text of a tool output or a part, or the arguments of a call. Empty for reasoning. */
  readonly replacement: string;
  /**
   * Tokens that the replacement saves; more than 0. With a place for a digest, what the longest of
   * both saves, until the view decides.
   */
  readonly freed: number;
  /** Where a digest may be instead of the preview. */
  readonly digest?: DigestPlace;
  /** Of reasoning: whether the message has nothing else, and leaves with it. */
  readonly isAll?: true;
  /** Whether a model's words are in the placeholder. */
  readonly isDigested?: true;
}

/** Of removals, the tokens counted for digests that may not come. */
export function unusedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, { digest }) => sum + (digest?.unused ?? 0), 0);
}

/** Tokens that removals free together. */
export function freedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, removal) => sum + removal.freed, 0);
}

/** All that removals depend on, apart from the message and those before it. */
export interface RemovalSettings {
  /** As JSON: the strategy, the kinds of elements that are not edited, and `History.idle`. */
  readonly strategy: string;
  /** See `TokenCounter`. */
  readonly tokenizer: unknown;
  /** The tenant's refs. */
  readonly refs: RefNamer | undefined;
}

/** @param given the strategy, and what else the removals of its edits depend on */
export function settingsOf(
  given: unknown,
  context: { readonly counter: { readonly tokenizer: unknown }; readonly refs: RefNamer | undefined },
): RemovalSettings {
  const { counter, refs } = context;
  return { strategy: JSON.stringify(given), tokenizer: counter.tokenizer, refs };
}

/**
 * The removals of one message under the same settings, by name; null where it must stay. An isolate
 * keeps them, so that they are not computed again for each request.
 */
interface KnownRemovals {
  readonly settings: RemovalSettings;
  readonly byName: Map<string, Removal | null>;
  /** All removals of the unit that the message ends, if they were asked for (`compact`). */
  ofUnit?: readonly Removal[];
}

/** Facts about a message, with its removals under the latest settings. */
export interface RemovalFacts extends MessageFacts {
  removals?: KnownRemovals;
}

/**
 * The removals of a message under the settings. Those under others are dropped.
 *
 * @param facts about the message
 */
export function removalsUnder(settings: RemovalSettings, facts: RemovalFacts): KnownRemovals {
  if (!facts.removals || !isSame(facts.removals.settings, settings))
    facts.removals = { settings, byName: new Map() };
  return facts.removals;
}

/** @returns whether both lead to the same removals */
export function isSame(one: RemovalSettings, other: RemovalSettings): boolean {
  return (
    one === other ||
    (one.strategy === other.strategy && one.tokenizer === other.tokenizer && one.refs === other.refs)
  );
}
