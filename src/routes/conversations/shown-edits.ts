/**
 * `POST /v1/conversations/{id}/requests/{n}/view`: what was in the view of a request instead of
 * each edit (docs/design.md#5-routes).
 */
import { readHistory } from '../../memory/conversation/history.ts';
import { measureOf, TOKEN_ESTIMATORS } from '../../memory/models/facts.ts';
import { shownEdits } from '../../memory/run/shown-edits.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { anyBody, readAny } from '../any-protocol.ts';
import type { RouteContext } from '../context.ts';
import { scopeOf } from '../scope-of.ts';
import { target } from './memory.ts';
import { findRun } from './requests.ts';

/**
 * Makes the texts again from the request's array, which the body has as `messages` or `input`.
 * Stores nothing, and asks no model.
 */
export async function showEdits(c: RouteContext): Promise<Response> {
  const body = await anyBody(c);
  const named = await target(c, 'read');
  const event = await findRun(c, named);
  const scope = scopeOf(c);
  const { request } = await readAny(body, scope);
  const estimator = TOKEN_ESTIMATORS.find((name) => name === event.placeholders?.token_estimator);
  const measure = measureOf(event.model ?? undefined, estimator, named.services.config.tokenFactors);
  const counting = await scope.caches.counting(measure);
  const context = { ...counting, refs: named.tenant.refs, digest: sha256Hex };
  const data = shownEdits(readHistory(request.messages), event, context);
  return c.json({ object: 'list', data });
}
