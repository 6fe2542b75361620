/** One call of a caller: the request, its strategy and its owner. All further steps take this. */
import type { ReadArray, SharedArray } from '../protocol/known-array.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { ChosenStrategy } from './choose-strategy.ts';
import type { Owner } from './owner.ts';
import type { RequestScope } from './scope.ts';

/** A request's array, and the part of it that an earlier request has read. */
export interface KeptArray {
  readonly array: ReadArray;
  readonly shared: SharedArray | undefined;
}

export interface Call<Request extends ModelRequest = ModelRequest> {
  readonly request: Request;
  readonly chosen: ChosenStrategy;
  readonly owner: Owner;
  readonly scope: RequestScope;
  /** The array to keep for the next request; absent if it is not to be kept. */
  readonly kept?: KeptArray | undefined;
}
