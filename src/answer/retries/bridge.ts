/**
 * Asks again over another API than chat completions, or over chat (docs/bridges.md#when). What an
 * upstream refuses is remembered for a while.
 */
import type { Call } from '../../request/call.ts';
import { isRefused, noteRefused } from '../../request/model-refusals.ts';
import { refusesThinking } from '../../upstream/bound-thinking.ts';
import { isOfRequest } from '../../upstream/too-long.ts';
import type { BridgedCall } from '../bridge/bridged-call.ts';
import type { NextAttempt, Retry } from './retry.ts';

/** "Function tools with reasoning_effort are not supported for … To use function tools, use …" */
const NEEDS_RESPONSES = /\/v1\/responses\b/;

/** Asks over the Responses API, once the upstream takes tools over nothing else. */
export function overResponses({ request, scope }: Call): Retry {
  return {
    mayHelp: ({ without }, status) =>
      status === 400 && without.has('bridge') && !isRefused('responses', request, scope),
    next: async ({ made, without }, { json }) => {
      if (!NEEDS_RESPONSES.test(json) || !/tool/i.test(json)) return undefined;
      noteRefused('chat', request, scope);
      return { made, without: new Set([...without].filter((part) => part !== 'bridge')) };
    },
    answered: () =>
      scope.services.log('info', 'the upstream takes tools over the Responses API alone', {
        code: 'bridge_needed',
      }),
  };
}

/** Asks over chat, once the upstream does not know the route of the other API. */
export function overChat({ request, scope }: Call, bridged: () => BridgedCall | undefined): Retry {
  return {
    mayHelp: ({ without }, status) => (status === 404 || status === 405) && !without.has('bridge'),
    next: async ({ made, without }, { json }) => {
      const api = bridged()?.api;
      // An unknown model is none of the route.
      if (!api || /model_not_found|not_found_error/.test(json)) return undefined;
      noteRefused(api, request, scope);
      scope.services.log('info', 'the upstream does not know an API', { code: 'bridge_refused', api });
      return { made, without: new Set([...without, 'bridge' as const]) };
    },
  };
}

/** Words of refused reasoning, and of items that are refused without what belonged to them. */
const REFUSED_OUTPUTS =
  /invalid_encrypted_content|could not be (?:verified|decrypted)|without its required|Item with id|Item '/i;

/** Asks without the outputs of earlier answers, once the upstream has refused one. */
export function withoutOutputs({ scope }: Call, bridged: () => BridgedCall | undefined): Retry {
  return {
    mayHelp: ({ without }, status) =>
      (status === undefined || isOfRequest(status)) && !without.has('bridge') && !without.has('outputs'),
    next: async ({ made, without }, { json }): Promise<NextAttempt | undefined> => {
      if (!REFUSED_OUTPUTS.test(json) && !refusesThinking(json)) return undefined;
      await bridged()?.forget();
      return { made, without: new Set([...without, 'outputs' as const]) };
    },
    answered: () =>
      scope.services.log('info', 'the upstream refuses outputs of earlier answers', {
        code: 'outputs_dropped',
      }),
  };
}
