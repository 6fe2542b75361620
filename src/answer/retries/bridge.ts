/**
 * Asks again over another API than chat completions, over chat, or with less in the body of another
 * API (docs/bridges.md#when). What an upstream refuses is remembered for a while.
 */
import { asObject, asObjects, asString, type JsonObject, parseObject } from '../../lib/json.ts';
import { says } from '../../protocol/bridges/chat-fields.ts';
import type { Call } from '../../request/call.ts';
import { isRefused, noteLongestAnswer, noteRefused } from '../../request/model-refusals.ts';
import { mayBeTooLong } from '../../upstream/too-long.ts';
import type { BridgedCall } from '../bridge/bridged-call.ts';
import { isOnlyWay } from '../bridge/route.ts';
import { refusesThinking } from './bound-thinking.ts';
import type { BodyPart, NextAttempt, Retry } from './retry.ts';

/** An error in OpenAI's form. Only its own words count: the rest may repeat the request. */
function errorIn(json: string): JsonObject & { readonly message: string } {
  const error = asObject(parseObject(json)?.error);
  return { ...error, message: asString(error.message) };
}

/** OpenAI's sentence, which LiteLLM prefixes (https://github.com/BerriAI/litellm/issues/33221). */
const NEEDS_RESPONSES =
  /^(?:litellm\.\w+: \w+ - )?Function tools with reasoning_effort are not supported for \S+ in \/v1\/chat\/completions\. To use function tools, use \/v1\/responses\b/;

/** Asks over the Responses API, once the upstream takes tools over nothing else. */
export function overResponses({ request, scope }: Call): Retry {
  return {
    mayHelp: ({ without }, status) =>
      status === 400 && without.has('bridge') && !isRefused('responses', request, scope),
    next: async ({ made, without }, { json }) => {
      if (!NEEDS_RESPONSES.test(errorIn(json).message)) return undefined;
      noteRefused('chat', request, scope);
      return { made, without: new Set([...without].filter((part) => part !== 'bridge')) };
    },
    answered: () =>
      scope.services.log('info', 'the upstream takes tools only over the Responses API', {
        code: 'bridge_needed',
      }),
  };
}

/** Codes and types of errors about what a request names. The route is known then. */
const NAMED: ReadonlySet<unknown> = new Set(['model_not_found', 'not_found_error']);

/** Asks over chat, once the upstream does not know the route of the other API. */
export function overChat(call: Call, bridged: () => BridgedCall | undefined): Retry {
  const { request, scope } = call;
  return {
    mayHelp: ({ without }, status) => (status === 404 || status === 405) && !without.has('bridge'),
    next: async ({ made, without }, { json }) => {
      const api = bridged()?.api;
      const { code, type, param } = errorIn(json);
      if (!api || isOnlyWay(api, call) || NAMED.has(code) || NAMED.has(type) || says(param)) return undefined;
      noteRefused(api, request, scope);
      scope.services.log('info', 'the upstream does not know an API', { code: 'bridge_refused', api });
      return { made, without: new Set([...without, 'bridge' as const]) };
    },
  };
}

/** `max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for …` */
const LONGEST = /^max_tokens: \d+ > (\d+), which is the maximum\b/;

/** Asks for a shorter answer, where the caller has set no limit and Precis's is too high. */
export function withinAnswer({ request, scope }: Call, bridged: () => BridgedCall | undefined): Retry {
  const isOurs = ['max_tokens', 'max_completion_tokens'].every((name) => !says(request.field(name)));
  return {
    mayHelp: ({ without }, status) =>
      status === 400 && isOurs && !without.has('bridge') && bridged()?.api === 'messages',
    next: async ({ made, without }, { json }) => {
      const most = Number(LONGEST.exec(errorIn(json).message)?.[1] ?? 0);
      if (most === 0) return undefined;
      noteLongestAnswer(most, request, scope);
      return { made, without };
    },
  };
}

/** Of a schema that the API can't enforce, of too many, or of a model that enforces none. */
const REFUSED_STRICT = /^(?!output_)(?:tools\.\d+\.|.*\b(?:strict|grammar|schemas?)\b)/i;

/** Asks with tools that are not strict, once the API has refused to enforce their schemas. */
export function withoutStrict(call: Call, bridged: () => BridgedCall | undefined): Retry {
  const isStrict = () =>
    asObjects(call.request.field('tools')).some((tool) => asObject(tool.function).strict === true);
  return withoutPart(call, 'strict', {
    mayHelp: (_, status) => status === 400 && bridged()?.api === 'messages' && isStrict(),
    refusal: REFUSED_STRICT,
    message: 'the upstream refuses strict tools',
  });
}

/** "Item with id 'rs_…' not found": the upstream looks for what it has not stored. */
const MISSING_ITEM = /^Item with id '\w+' not found/;

/** Words of refused reasoning, and of items that are refused without what belonged to them. */
const REFUSED_OUTPUTS =
  /could not be (?:verified|decrypted)|without its required|^Item '|^Duplicate item found with id/i;

function isOfOutputs(json: string): boolean {
  const { code, message } = errorIn(json);
  if (code === 'invalid_encrypted_content' || refusesThinking(json)) return true;
  return REFUSED_OUTPUTS.test(message) || MISSING_ITEM.test(message);
}

/**
 * Whether the outputs of earlier answers may be at fault. A missing item is a 404, and a response
 * that fails without a code a 500.
 */
const mayBeOutputs = (without: ReadonlySet<BodyPart>, status: number | undefined): boolean =>
  !without.has('bridge') && status !== undefined && (status === 404 || mayBeTooLong(status));

/** Asks with the outputs of earlier answers, but without ids, once one was looked for. */
export function withoutIds(call: Call): Retry {
  return withoutPart(call, 'ids', {
    mayHelp: ({ without }, status) => mayBeOutputs(without, status) && !without.has('outputs'),
    refusal: MISSING_ITEM,
    message: 'the upstream looks for reasoning by its id',
  });
}

/** Asks without a part of the body that a refusal speaks of, and remembers it. */
function withoutPart(
  { request, scope }: Call,
  part: 'ids' | 'strict',
  {
    mayHelp,
    refusal,
    message,
  }: Pick<Retry, 'mayHelp'> & { readonly refusal: RegExp; readonly message: string },
): Retry {
  return {
    mayHelp: (sent, status) => !sent.without.has(part) && mayHelp(sent, status),
    next: async ({ made, without }, { json }) =>
      refusal.test(errorIn(json).message) ? { made, without: new Set([...without, part]) } : undefined,
    answered: () => {
      noteRefused(part, request, scope);
      scope.services.log('info', message, { code: `${part}_refused` });
    },
  };
}

/** A place among the messages of a body, which may be in the output of an answer. */
const PLACE = /\binput\[\d+\]|\bmessages\.\d+\.content\b|^messages /;

/**
 * Asks without the outputs of earlier answers, once the upstream has refused one. A refusal of some
 * item may be about what the caller has sent: then they are forgotten once that has helped.
 */
export function withoutOutputs({ scope }: Call, bridged: () => BridgedCall | undefined): Retry {
  let isSure = true;
  return {
    mayHelp: ({ without }, status) => mayBeOutputs(without, status) && !without.has('outputs'),
    next: async ({ made, without }, { json }): Promise<NextAttempt | undefined> => {
      const { message, param, code } = errorIn(json);
      isSure = isOfOutputs(json);
      const isPlace = code !== 'context_length_exceeded' && PLACE.test(`${asString(param)} ${message}`);
      const mayBe = isPlace && bridged()?.reported.kept_answers;
      if (!isSure && !mayBe) return undefined;
      if (isSure) await bridged()?.forget();
      return { made, without: new Set([...without, 'outputs' as const]) };
    },
    answered: () => {
      if (!isSure) scope.waitUntil(bridged()?.forget() ?? Promise.resolve());
      const message = 'the upstream refuses outputs of earlier answers';
      scope.services.log('info', message, { code: 'outputs_dropped' });
    },
  };
}
