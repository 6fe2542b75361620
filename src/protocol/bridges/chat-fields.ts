/** What both bridges read of a chat body. */
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { BridgeRefusal, ChatBody } from './bridge.ts';

/** Whether a member says anything. */
export function says(value: unknown): boolean {
  return (value ?? null) !== null;
}

/** Whether a member says nothing: an empty text, list or object. */
export function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** What neither of the other APIs can answer. See `Bridge`. */
export function obstacleIn(chat: ChatBody): string | undefined {
  const { n, audio, modalities, prediction, functions, function_call, messages } = chat;
  if (says(n) && n !== 1) return 'n';
  const isHeard = Array.isArray(modalities) && modalities.includes('audio');
  if (says(audio) || isHeard || messages.some(hasAudio)) return 'audio';
  if (says(prediction)) return 'prediction';
  return says(functions) || says(function_call) || messages.some(isLegacy) ? 'functions' : undefined;
}

function hasAudio({ content, audio }: JsonObject): boolean {
  if (says(audio)) return true;
  return Array.isArray(content) && content.some((part) => asObject(part).type === 'input_audio');
}

const isLegacy = ({ role, function_call }: JsonObject): boolean => role === 'function' || says(function_call);

/** Parameters that the other API does not have, each with whether a value of it says nothing. */
export type Missing = ReadonlyMap<string, (value: unknown) => boolean>;

/** The first parameter that the other API does not have, and that says something. */
export function missingIn(chat: ChatBody, missing: Missing): string | undefined {
  const isSaid = ([param, saysNothing]: [string, (value: unknown) => boolean]): boolean =>
    says(chat[param]) && !saysNothing(chat[param]);
  return [...missing].find(isSaid)?.[0];
}

/** The refusal of a parameter that the other API does not have. */
export function unsupported(param: string): BridgeRefusal {
  const message = `Unsupported parameter: '${param}' is not supported with this model.`;
  return { param, message, code: 'unsupported_parameter' };
}

/** The calls of an assistant message. */
export function callsIn({ tool_calls }: JsonObject): JsonObject[] {
  return Array.isArray(tool_calls) ? tool_calls.map(asObject) : [];
}
