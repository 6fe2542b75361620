/** A request to a model, in any protocol. Chooses the way on which it is answered. */

import { CallLife } from '../listeners/life.ts';
import { tryBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { growthFault } from '../request/known-key.ts';
import { upstreamCompacts } from '../request/native-compaction.ts';
import { isObserved } from '../request/observation.ts';
import type { RequestScope } from '../request/scope.ts';
import { answerRead } from './answered.ts';
import { answerCompaction } from './compacted.ts';
import type { ModelApi } from './model-api.ts';
import { answerObserved } from './observed.ts';
import { readModelCall } from './read-call.ts';
import { StreamErrors } from './stream-errors.ts';
import { passRead, passUnread } from './unread/pass-unread.ts';

/** @throws ApiError */
export function answerCall(scope: RequestScope, api: ModelApi): Promise<Response> {
  const life = new CallLife(scope, api.answers.name);
  const errors = new StreamErrors(scope, api.answers);
  return errors.through(() => life.through(() => answered(scope, api, life, errors)));
}

async function answered(
  scope: RequestScope,
  api: ModelApi,
  life: CallLife,
  errors: StreamErrors,
): Promise<Response> {
  errors.check();
  const came = await tryBody(scope.incoming, api.field, undefined, () => growthFault(scope));
  if ('fault' in came) return passUnread(api, came, scope, life);
  errors.came(came.bytes);
  const passed = passRead(api, came, scope, life);
  if (passed) return passed;
  errors.reads();
  const call = await readModelCall(came, api, scope);
  // Precis makes it, whatever the mode.
  if (api.compaction && isCompactedHere(call))
    return answerCompaction(api.compaction, api.answers, call, life);
  errors.chose(call);
  life.reads(call, 'answer');
  if (isObserved(call)) return answerObserved(api, call, came, life);
  return answerRead(api, call, came, life);
}

/** Whether Precis makes a compaction: the upstream can't, and does not store the conversation. */
function isCompactedHere({ request, scope }: Call): boolean {
  if (!request.isCompaction || request.upstreamState !== undefined) return false;
  return !upstreamCompacts(request, scope.services.config);
}
