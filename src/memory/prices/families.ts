/** Families of models: how their names begin. */

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
