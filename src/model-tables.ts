/** What a deployer says of models in variables: prices, token factors, windows. */
import * as z from 'zod';
import { ConfigError } from './config-error.ts';
import {
  LARGEST_FACTOR,
  type ModelWindow,
  SMALLEST_FACTOR,
  type TokenFactor,
} from './memory/models/facts.ts';
import { type DeployerPrice, HIT_RULES } from './memory/models/schedule.ts';

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

/** @param others what a row has beside its family. @throws ConfigError */
function readTable<Row extends z.ZodType>(
  variable: string,
  row: Row,
  text: string,
  others: string,
): z.output<Row>[] {
  try {
    return z.array(row).max(MOST_ROWS).parse(JSON.parse(text));
  } catch {
    throw new ConfigError(
      `${variable} is not a JSON array of at most ${MOST_ROWS} objects of family (how models' names begin, without a vendor's prefix)${others}.`,
    );
  }
}

/** @throws ConfigError */
export function readTokenFactors(text: string): readonly TokenFactor[] {
  const others = ` and factor (their tokens relative to o200k, ${SMALLEST_FACTOR} to ${LARGEST_FACTOR})`;
  return readTable('TOKEN_FACTORS', factorSchema, text, others);
}

/** @throws ConfigError */
export function readModelPrices(text: string): readonly DeployerPrice[] {
  const others = `, fresh and cached (dollars per million input tokens, 0 ≤ cached ≤ fresh, 0 < fresh), and optionally written, output, step (above: input tokens; input, output: factors from 1 to 100) and hits (${HIT_RULES.join(', ')})`;
  return readTable('MODEL_PRICES', priceSchema, text, others);
}

const windowSchema = z.strictObject({
  family,
  window: z.int().min(SMALLEST_WINDOW).max(LARGEST_WINDOW),
  output: z.int().positive().max(LARGEST_WINDOW).optional(),
});

/** @throws ConfigError */
export function readModelWindows(text: string): readonly ModelWindow[] {
  const others = `, window (tokens, ${SMALLEST_WINDOW} to ${LARGEST_WINDOW}) and optionally output (the longest answer in tokens)`;
  return readTable('MODEL_WINDOWS', windowSchema, text, others);
}
