/** One call of a caller: the request, its strategy and its owner. All further steps take this. */
import type { ModelRequest } from '../protocol/model-request.ts';
import type { ChosenStrategy } from './choose-strategy.ts';
import type { Owner } from './owner.ts';
import type { RequestScope } from './scope.ts';

export interface Call<Request extends ModelRequest = ModelRequest> {
  readonly request: Request;
  readonly chosen: ChosenStrategy;
  readonly owner: Owner;
  readonly scope: RequestScope;
}
