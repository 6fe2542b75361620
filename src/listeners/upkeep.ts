/**
 * What the conversation's next request will need, once the upstream has accepted this one: contents
 * that the next move removes, the array, refs that the body names, and the confirmation of an
 * earlier fact.
 */
import { pause } from '../lib/time-limit.ts';
import { logged } from '../log.ts';
import { passesThrough } from '../memory/modes/strategy.ts';
import { writtenBytes } from '../protocol/written-bodies.ts';
import type { Call } from '../request/call.ts';
import { isOvertaken } from '../request/conversation.ts';
import { noteNamed } from '../request/named-refs.ts';
import { trackWork } from '../request/pending-work.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { bridgedBytes } from '../view/made-before.ts';
import type { AskedModel, CallFeature } from './listener.ts';

export const upkeep: CallFeature = (call) => {
  if (!call.scope.caller.tenant) return undefined;
  return {
    settled: ({ asked }) => {
      if (asked?.answer.ok) prepare(asked, call);
    },
    // A request that has come again stays, however it is answered.
    ended: () => {
      if (call.kept?.found?.same) call.request.forgetContents();
    },
  };
};

function prepare({ made: { prepareNext }, body }: AskedModel, call: Call): void {
  const { services, waitUntil, upkeep: facts } = call.scope;
  if (isOvertaken(call)) return;
  if (prepareNext) {
    const begin = () => {
      if (isOvertaken(call)) return undefined;
      const work = prepareNext();
      keepArray(call, body);
      return work;
    };
    const failed = logged(services.log, 'error', 'the next move could not be prepared', undefined);
    // Computing what the next move needs would delay the answer by milliseconds.
    waitUntil(trackWork(pause(TIME_LIMITS.afterAnswerMs).then(begin).catch(failed), call));
  } else keepArray(call, body);
  waitUntil(noteNamed(body, call).then(() => facts.confirm()));
}

/**
 * Keeps the array, so that the next request is read from where it differs, with all facts about it
 * that are known by now.
 *
 * @param body as it was sent, which is kept with it
 */
function keepArray({ request, kept, chosen, scope }: Call, body: Uint8Array): void {
  if (!kept || passesThrough(chosen.strategy)) return;
  const own = body.buffer === request.bytes.buffer ? 0 : body.length + writtenBytes(request.bytes);
  const made = own + bridgedBytes(body);
  scope.caches.arrays.keep(request, kept.found, made);
}
