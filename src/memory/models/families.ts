/** Names of models, and families: how they begin. */

/** A model's name without what a router puts before it: `gpt-4o` of `openai/gpt-4o`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}

/**
 * The model that a name is a variant of: `gpt-4o` of the fine-tuned `ft:gpt-4o:acme::id`
 * (https://docs.litellm.ai/docs/tutorials/finetuned_chat_gpt, read 2026-11) and of a router's
 * `openai/gpt-4o:nitro` (https://openrouter.ai/docs/guides/routing/model-variants/overview, read
 * 2026-11). Its tokens and window are the model's; its prices may be others.
 */
export function baseName(model: string): string {
  const [first = '', second = ''] = bareName(model).split(':');
  return first === 'ft' ? second : first;
}

/** The row with the longest family of a name (see `spelling`). */
export function longestFamily<Row extends { readonly family: string }>(
  name: string,
  prices: readonly Row[],
): Row | undefined {
  let longest: Row | undefined;
  for (const price of prices)
    if (price.family.length > (longest?.family.length ?? 0) && isOf(spelling(price.family), name))
      longest = price;
  return longest;
}

/**
 * A family ends at the end of a word or number of the name, so that `gpt-4.1` does not include
 * `gpt-4-1106-preview`.
 */
function isOf(family: string, name: string): boolean {
  const seam = name.slice(family.length - 1, family.length + 1);
  return name.startsWith(family) && !/[a-z\d]{2}/.test(seam);
}

/**
 * Routers spell names differently: `claude-opus-5.5` for Anthropic's `claude-opus-5-5`, `GLM-5.2`
 * for `glm-5.2`.
 */
export function spelling(name: string): string {
  return name.toLowerCase().replaceAll('.', '-');
}
