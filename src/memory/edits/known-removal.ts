/** What an isolate keeps of a removal, so that it is not computed again for each request. */
import type { RemovalKind, RemovalReason } from './fates.ts';
import type { RefNamer } from './placeholder.ts';

/** The place for a digest of an output (see `output-digest.ts`). */
export interface DigestPlace {
  /** The marker's line, which stands above it. */
  readonly line: string;
  /** Size of the output in characters, and bytes of JSON (`Content.room`). */
  readonly length: number;
  readonly room: number;
}

/** A removal without the removed content. */
export interface RemovalFacts {
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
  /** Where a digest may stand instead of the preview. */
  readonly digest?: DigestPlace;
  /** Of reasoning: whether the message has nothing else, and leaves with it. */
  readonly isAll?: true;
}

/** All that removals depend on, apart from the message and those before it. */
export interface RemovalSettings {
  /** The strategy as JSON, with the kinds of elements that are not edited. */
  readonly strategy: string;
  /** See `TokenCounter`. */
  readonly tokenizer: unknown;
  /** The tenant's refs. */
  readonly refs: RefNamer | undefined;
}

/** The removals of one message under the same settings, by name; null where it must stay. */
export interface KnownRemovals {
  readonly settings: RemovalSettings;
  readonly byName: Map<string, RemovalFacts | null>;
}

/** @returns whether both lead to the same removals */
export function isSame(one: RemovalSettings, other: RemovalSettings): boolean {
  return (
    one === other ||
    (one.strategy === other.strategy && one.tokenizer === other.tokenizer && one.refs === other.refs)
  );
}
