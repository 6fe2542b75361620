/** Sums by name, at any depth. */

/**
 * Adds up each number of each name, which may be any text. What is null on one side is null of
 * both; what one side lacks is as the other side has it.
 */
export function plus<Sums extends object>(one: Sums, other: Sums): Sums {
  const sums = new Map<string, unknown>(Object.entries(one));
  for (const [name, value] of Object.entries(other)) {
    const mine = sums.get(name);
    sums.set(name, mine === undefined ? value : value === undefined ? mine : joined(mine, value));
  }
  return Object.fromEntries(sums) as Sums;
}

function joined(one: unknown, other: unknown): unknown {
  if (one === null || other === null) return null;
  return typeof one === 'object' ? plus(one, Object(other)) : Number(one) + Number(other);
}
