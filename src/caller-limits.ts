/**
 * `CALLER_LIMITS`: what callers with access keys may spend
 * (docs/operating.md#budgets-and-limits).
 */
import type * as z from 'zod';
import type { Access } from './access-keys.ts';
import { ConfigError } from './config-error.ts';
import { type CallerLimits, callerLimitsSchema } from './memory/money/caller-limits.ts';
import { hintFor, inWords } from './memory/strategy/hint.ts';
import { namedEntries } from './named-entries.ts';

/** Of a caller without an entry of its own. */
const DEFAULT_ENTRY = '*';

export type ConfiguredLimits = ReadonlyMap<string, CallerLimits>;

/** The limits of a caller; undefined if it has none. */
export function configuredLimits(all: ConfiguredLimits, name: string): CallerLimits | undefined {
  return all.get(name) ?? all.get(DEFAULT_ENTRY);
}

/**
 * @throws ConfigError for what can't be read, and for names that no access key has: a misspelt one
 *   would leave its caller without limits
 */
export function readCallerLimits(text: string, access: Access | undefined): ConfiguredLimits {
  const named = namedEntries(text);
  if (!named) throw new ConfigError('CALLER_LIMITS is not a JSON object of limits by name.');
  const entries = named.map(([name, limits], index) => [name, limitsOf(limits, index)] as const);
  if (entries.length > 0 && !access)
    throw new ConfigError('CALLER_LIMITS is set without ACCESS_KEYS: other callers spend their own money.');
  const stranger = entries.findIndex(
    ([name]) => name !== DEFAULT_ENTRY && !access?.keys.some((key) => key.name === name),
  );
  if (stranger >= 0)
    throw new ConfigError(`CALLER_LIMITS: the name of entry ${stranger + 1} is none of ACCESS_KEYS.`);
  const repeated = entries.findIndex(([name], index) => entries.findIndex(([one]) => one === name) < index);
  if (repeated >= 0)
    throw new ConfigError(`CALLER_LIMITS: an earlier entry has the name of entry ${repeated + 1}.`);
  return new Map(entries);
}

function limitsOf(limits: unknown, index: number): CallerLimits {
  const read = callerLimitsSchema.safeParse(limits, { error: inWords });
  if (read.success) return read.data;
  throw new ConfigError(`CALLER_LIMITS: entry ${index + 1} ${limitsFault(read.error)}.`);
}

/** What is wrong with limits, after their name. */
export function limitsFault({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.join('.') ?? '';
  const fields = Object.keys(callerLimitsSchema.shape);
  if (issue?.code === 'unrecognized_keys')
    return `has an unknown field; ${hintFor(issue.keys[0] ?? '', fields, 'its fields')}`;
  if (path === '') return `must be an object of ${fields.join(', ')}`;
  return `is not valid: ${path} ${issue?.message ?? 'cannot be read'}`;
}
