/** What an isolate keeps of a removal, so that it is not computed again for each request. */
import type { MessageFacts } from '../conversation/message.ts';
import type { RefNamer } from '../conversation/refs.ts';
import type { Removal } from './removal.ts';

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

/** The removals of one message under the same settings, by name; null where it must stay. */
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
