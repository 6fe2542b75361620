/**
 * Marks of ours for the upstream's prompt cache (docs/design.md#marks). An upstream that refuses
 * them is asked again without, and gets none for a while.
 */

import { isObject } from '../lib/json.ts';
import { MOST_MARKS } from '../memory/plan/marks.ts';
import type { View } from '../memory/plan/view.ts';
import { marksIn } from '../protocol/edits.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { RequestScope } from '../request/scope.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { openAnswer } from '../upstream/opening.ts';
import { LONGEST_ERROR } from '../upstream/too-long.ts';

/** How long an error's body is read before it is passed on unread, in milliseconds. */
const ERROR_LIMIT_MS = 5_000;

/** An error about a part, or about its member. Servers word it differently. */
const OF_MARKS = /prompt_cache_breakpoint|content/i;

export interface MarkWish {
  /** How many marks a view gets. */
  most(view: View | undefined): number;
  /** Sends the request, and once more without marks if the upstream refuses them. */
  ask(send: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer>;
}

export function markWish(request: ModelRequest, { services, caller }: RequestScope): MarkWish {
  const { refusedMarks, log } = services;
  const tenant = caller.tenant?.id ?? '';
  let isRefused = refusedMarks.of(tenant, request.model) ?? false;
  let areSent = false;
  return {
    most(view) {
      const wanted = isRefused ? 0 : (view?.marks?.length ?? 0);
      const room = wanted === 0 ? 0 : roomIn(request);
      areSent = Math.min(wanted, room) > 0;
      return room;
    },
    async ask(send) {
      const answer = await send();
      const { status } = answer.response;
      if (!areSent || (status !== 400 && status !== 422)) return answer;
      const opened = await openAnswer(answer, LONGEST_ERROR, ERROR_LIMIT_MS, log);
      if (!opened.whole || !OF_MARKS.test(new TextDecoder().decode(opened.whole))) return opened.answer;
      isRefused = true;
      const again = await send();
      if (!again.response.ok) return again;
      refusedMarks.note(tenant, request.model, true);
      log('info', 'the upstream refuses marks of its prompt cache', { code: 'marks_refused' });
      return again;
    },
  };
}

/** What the caller's own marks leave. One that places all marks itself gets none of ours. */
function roomIn(request: ModelRequest): number {
  const options = request.field('prompt_cache_options');
  if (isObject(options) && options.mode === 'explicit') return 0;
  return MOST_MARKS - marksIn(request.bytes, MOST_MARKS);
}
