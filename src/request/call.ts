/** One call of a caller: the request, its strategy and its owner. All further steps take this. */
import type { FoundArray } from '../protocol/known-arrays.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { ChosenStrategy } from './choose-strategy.ts';
import type { Owner } from './owner.ts';
import type { RequestScope } from './scope.ts';

/** A request that may be kept, and what was known of its body. */
interface KeptRequest {
  readonly found: FoundArray | undefined;
}

export interface Call<Request extends ModelRequest = ModelRequest> {
  readonly request: Request;
  readonly chosen: ChosenStrategy;
  readonly owner: Owner;
  /** The key of the agent that it chose, also where another strategy than the agent's applies. */
  readonly agent?: string;
  readonly scope: RequestScope;
  /**
   * Whose archive has a request that is none of its conversation, where the deployer has each
   * conversation archived that a request names: what a caller says of its request turns that off
   * for none.
   */
  readonly archivedFor?: Owner;
  /** Absent if its array is not to be kept for the next request. */
  readonly kept?: KeptRequest | undefined;
}
