/**
 * The models that a request names beside `model`, for a gateway to ask in its place: OpenRouter's
 * `models`, the `fallbacks` of LiteLLM and of Anthropic's API, and LiteLLM's lists for prompts that
 * a model has no room for, or refuses (https://docs.litellm.ai/docs/proxy/reliability), or all of
 * them in one (https://docs.litellm.ai/docs/proxy/clientside_auth).
 */

/** The fields with such lists. Those that are no lists can't be read. */
export const OTHER_MODELS = [
  'models',
  'fallbacks',
  'context_window_fallbacks',
  'content_policy_fallbacks',
  'user_config',
  'router_settings_override',
] as const;

/**
 * The models in such a list: names, objects with a `model`, and objects under the names that they
 * replace. Undefined if it can't be read.
 */
export function modelsIn(list: unknown): readonly string[] | undefined {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return undefined;
  const each = list.map(modelsOf);
  return each.every((models) => models !== undefined) ? each.flat() : undefined;
}

function modelsOf(entry: unknown): readonly string[] | undefined {
  if (typeof entry === 'string') return [entry];
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return undefined;
  const { model } = entry as { readonly model?: unknown };
  if (model !== undefined) return typeof model === 'string' ? [model] : undefined;
  const lists = Object.values(entry).map((names: unknown) => (typeof names === 'string' ? [names] : names));
  const isRead = lists.every(
    (names): names is string[] => Array.isArray(names) && names.every((name) => typeof name === 'string'),
  );
  return isRead && lists.length > 0 ? lists.flat() : undefined;
}
