/** `rehydrate`: which contents follow a summary again (docs/design.md#the-strategy). */
import * as z from 'zod';
import { withDefault } from '../shapes.ts';

/** Defaults and maxima: outputs, and tokens of all of them together. */
const ITEMS = 5;
const MOST_ITEMS = 20;
const TOKENS = 20_000;
const MOST_TOKENS = 100_000;

const limit = (usual: number, most: number) => withDefault(z.int().min(1).max(most), usual);

const settings = z.strictObject({
  items: limit(ITEMS, MOST_ITEMS),
  max_tokens: limit(TOKENS, MOST_TOKENS),
});

/** The limits of what follows a summary. */
type Rehydration = z.output<typeof settings>;

const DEFAULT_REHYDRATION: Rehydration = settings.parse({});

const REFUSED = 'it must be true, false, or an object of items and max_tokens';

/** The field of a strategy. `true` means the defaults. */
export const rehydrate = z.union([z.boolean(), settings], { error: REFUSED }).default(false);

export interface RehydratingFields {
  readonly rehydrate: z.output<typeof rehydrate>;
}

/** The strategy's limits; undefined if nothing follows a summary. */
export function rehydrationOf({ rehydrate }: RehydratingFields): Rehydration | undefined {
  if (rehydrate === false) return undefined;
  return rehydrate === true ? DEFAULT_REHYDRATION : rehydrate;
}
