/** What a deployer says of models in variables: prices, token factors, windows. */
import * as z from 'zod';
import { LARGEST_FACTOR, SMALLEST_FACTOR } from './memory/models/facts.ts';
import { HIT_RULES } from './memory/models/schedule.ts';
import { jsonText } from './named-entries.ts';

/** Of each table. */
const MOST_ROWS = 200;

/** In tokens. */
const SMALLEST_WINDOW = 1_000;
const LARGEST_WINDOW = 100_000_000;

/** A family of models, by how their names begin. */
const family = z
  .string()
  .max(100)
  .regex(/^[^/]+$/);

/** In dollars per million tokens. Sums of amounts stay exact far beyond it. */
const HIGHEST_PRICE = 1_000_000;
const price = z.number().max(HIGHEST_PRICE);
const stepFactor = z.number().min(1).max(100);

const priceSchema = z
  .strictObject({
    family,
    fresh: price.positive(),
    cached: price.nonnegative(),
    written: price.positive().optional(),
    output: price.nonnegative().optional(),
    step: z.strictObject({ above: z.int().positive(), input: stepFactor, output: stepFactor }).optional(),
    hits: z.enum(HIT_RULES).optional(),
  })
  .refine(({ fresh, cached }) => cached <= fresh);

const factorSchema = z.strictObject({
  family,
  factor: z.number().min(SMALLEST_FACTOR).max(LARGEST_FACTOR),
});

/** @param others what a row has beside its family */
function table<Row extends z.ZodType>(row: Row, others: string) {
  return jsonText(
    z.array(row).max(MOST_ROWS),
    `a JSON array of at most ${MOST_ROWS} objects of family (how models' names begin, without a vendor's prefix)${others}`,
  );
}

export const tokenFactors = table(
  factorSchema,
  ` and factor (their tokens relative to o200k, ${SMALLEST_FACTOR} to ${LARGEST_FACTOR})`,
);

export const modelPrices = table(
  priceSchema,
  `, fresh and cached (dollars per million input tokens, 0 ≤ cached ≤ fresh, 0 < fresh), and optionally written, output, step (above: input tokens; input, output: factors from 1 to 100) and hits (${HIT_RULES.join(', ')})`,
);

const windowSchema = z.strictObject({
  family,
  window: z.int().min(SMALLEST_WINDOW).max(LARGEST_WINDOW),
  output: z.int().positive().max(LARGEST_WINDOW).optional(),
});

export const modelWindows = table(
  windowSchema,
  `, window (tokens, ${SMALLEST_WINDOW} to ${LARGEST_WINDOW}) and optionally output (the longest answer in tokens)`,
);
