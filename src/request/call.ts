/**
 * One call of a caller's: what it asks, by which strategy, and whose it is. Everything that is done
 * for it is done from this.
 */
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
