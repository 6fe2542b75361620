/** The port to a model that makes vectors of texts. */
import type { Result } from '../../lib/result.ts';

/** Why texts have no vectors. */
export interface EmbedderFault {
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly again: boolean;
  /** The pause that the server asks for, in milliseconds. */
  readonly afterMs?: number;
  /** Whether other texts may be accepted. */
  readonly isOfInput?: true;
  /** The name of the caught error. */
  readonly cause?: string;
}

export interface Embedder {
  readonly model: string;
  /** In bytes of UTF-8. */
  readonly longestText: number;
  /**
   * The vectors of texts, in their order: all with as many dimensions, of finite numbers that are
   * not all 0.
   */
  embed(
    texts: readonly string[],
    timeoutMs: number,
  ): Promise<Result<readonly (readonly number[])[], EmbedderFault>>;
}
