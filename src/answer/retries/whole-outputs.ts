/**
 * Sends outputs of hosted tools whole, once the upstream has refused such an item with a
 * placeholder in it (docs/responses-api.md#outputs-of-hosted-tools). One refusal holds for all
 * items of its kind in the conversation.
 */
import type { View } from '../../memory/plan/view.ts';
import { kindsNamedIn } from '../../protocol/responses/hosted-output.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall } from '../../request/conversation.ts';
import { isOfRequest } from '../../upstream/too-long.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { Retry } from './retry.ts';

/** @param options of the views of the request */
export function withWholeOutputs(call: Call, options: MakeViewOptions): Retry {
  let refused: ReadonlySet<string> = new Set();
  return {
    mayHelp: ({ made }, status) =>
      (status === undefined || isOfRequest(status)) && editedKinds(made.view).size > 0,
    next: async ({ made, without, sent }, { json }) => {
      refused = kindsNamedIn(json, sent, editedKinds(made.view));
      if (refused.size === 0) return undefined;
      const unedited = new Set([...(made.unedited ?? []), ...refused]);
      const { limit = 'none' } = made;
      return { made: await makeView(call, { ...options, limit, unedited, refused: made }), without };
    },
    answered: () => {
      const { services } = call.scope;
      services.log('info', 'the upstream refuses outputs with placeholders', {
        code: 'outputs_whole',
        kinds: [...refused].join(' '),
      });
      const conversation = conversationOfCall(call);
      if (!conversation) return;
      for (const kind of refused)
        services.memory.of('refusals').set(conversation.name, kind, call.request.messages.length);
    },
  };
}

/** The kinds of elements with an edit that an upstream may refuse. */
function editedKinds(view: View | undefined): ReadonlySet<string> {
  const removals = [...(view?.removals.values() ?? [])].flat();
  return new Set(removals.flatMap(({ item }) => item ?? []));
}
