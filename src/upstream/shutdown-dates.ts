/**
 * When a vendor switches a model off, as `GET /models/{model}` of its API says it in
 * `shutdown_date` (https://developers.openai.com/api/docs/deprecations, read 2026-11).
 */
import { asObject } from '../lib/json.ts';
import { dateOfDay, dayOf } from '../lib/utc-time.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { askModel, type ModelServer } from './model-client.ts';

/** In bytes; an answer has a few hundred. */
const LONGEST_ANSWER = 64 * 1024;
const SECOND_MS = 1_000;
/** No date of a vendor. Milliseconds instead of seconds are later, and may be no date at all. */
const NEVER = Date.UTC(10_000, 0);

/** @returns YYYY-MM-DD; undefined if the server does not say it, or does not answer */
export async function shutdownDate(server: ModelServer, model: string): Promise<string | undefined> {
  const limits = { timeoutMs: TIME_LIMITS.shutdownDateMs, longestAnswer: LONGEST_ANSWER };
  const asked = await askModel(server, limits, 'free', (client, signal) =>
    client.models.retrieve(model, { signal }),
  );
  return asked.ok ? dateIn(asked.value) : undefined;
}

/** A date in ISO 8601, or seconds since the epoch, as other times of the API are. */
function dateIn(answer: unknown): string | undefined {
  const { shutdown_date: date } = asObject(answer);
  const time =
    typeof date === 'string' ? Date.parse(date) : typeof date === 'number' ? date * SECOND_MS : NaN;
  return time > 0 && time < NEVER ? dateOfDay(dayOf(time)) : undefined;
}
