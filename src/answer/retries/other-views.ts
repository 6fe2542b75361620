/**
 * Asks again with another view of the messages, once the upstream has refused what is in the first
 * one: a summary that its API has signed, placeholders in items of hosted tools, or too many bytes.
 */
import type { View } from '../../memory/plan/view.ts';
import { kindsNamedIn } from '../../protocol/responses/hosted-output.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall } from '../../request/conversation.ts';
import { noteRefused } from '../../request/model-refusals.ts';
import { limitAfter } from '../../upstream/body-limits.ts';
import { mayBeTooLarge, readTooLarge } from '../../upstream/too-large.ts';
import { isOfRequest } from '../../upstream/too-long.ts';
import { learnBytes } from '../../view/learned.ts';
import type { MadeView, MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { Retry } from './retry.ts';

/**
 * Shows a summary as a text by Precis instead of the block that the API has signed
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, "Errors").
 */
export function withoutSignature(call: Call, options: MakeViewOptions): Retry {
  const { request, scope } = call;
  return {
    mayHelp: ({ made }, status) =>
      (status === 400 || status === 422) && made.view?.summary?.signed !== undefined,
    next: async ({ made, without }, { json }) => {
      // A gateway names the block, the field or the beta, each in its own words.
      if (!json.includes('compact')) return undefined;
      const again = await viewAfter(made, call, options, { unsigned: true });
      return { made: { ...again, unsigned: true }, without };
    },
    answered: () => {
      noteRefused('signed', request, scope);
      scope.services.log('info', 'the upstream refuses summaries that its API has signed', {
        code: 'block_refused',
      });
    },
  };
}

/**
 * Sends outputs of hosted tools whole (docs/responses-api.md#outputs-of-hosted-tools). One refusal
 * holds for all items of its kind in the conversation.
 */
export function withWholeOutputs(call: Call, options: MakeViewOptions): Retry {
  let refused: ReadonlySet<string> = new Set();
  return {
    mayHelp: ({ made }, status) =>
      (status === undefined || isOfRequest(status)) && editedKinds(made.view).size > 0,
    next: async ({ made, without, sent }, { json }) => {
      refused = kindsNamedIn(json, sent, editedKinds(made.view));
      if (refused.size === 0) return undefined;
      const unedited = new Set([...(made.unedited ?? []), ...refused]);
      return { made: await viewAfter(made, call, options, { unedited }), without };
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

/**
 * Has fewer bytes: images and files that the model has seen leave
 * (docs/answers-and-errors.md#when-the-body-is-too-large).
 */
export function withinBytes(call: Call, options: MakeViewOptions): Retry {
  return {
    mayHelp: (_, status) => mayBeTooLarge(status),
    next: async ({ made, sent, without }, { status, json }) => {
      const refusal = status === undefined ? undefined : readTooLarge(status, json, sent.length);
      if (!refusal) return undefined;
      const byteLimit = limitAfter(refusal.limit, sent.length);
      const fields = { bytes: sent.length, limit: byteLimit, stated: refusal.limit !== undefined };
      call.scope.services.log('info', 'the upstream says that the body is too large', fields);
      learnBytes(byteLimit, call);
      // A gateway may refuse a body before anybody has seen its key.
      const smaller = await viewAfter(made, call, options, { byteLimit });
      const { bytes } = smaller.report;
      if (!bytes || bytes.after >= (made.report.bytes?.after ?? bytes.before)) return undefined;
      return { made: { ...smaller, report: { ...smaller.report, trigger: 'upstream_limit' } }, without };
    },
  };
}

/** The view as it was refused, but for what has changed. */
function viewAfter(
  refused: MadeView,
  call: Call,
  options: MakeViewOptions,
  changed: Partial<MakeViewOptions>,
): Promise<MadeView> {
  const { limit = 'none', unedited, unsigned } = refused;
  return makeView(call, { ...options, limit, unedited, unsigned, refused, ...changed });
}

/** The kinds of elements with an edit that an upstream may refuse. */
function editedKinds(view: View | undefined): ReadonlySet<string> {
  const removals = [...(view?.removals.values() ?? [])].flat();
  return new Set(removals.flatMap(({ item }) => item ?? []));
}
