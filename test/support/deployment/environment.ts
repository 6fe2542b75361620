/** What a Worker is given for one file of tests. */
import type { TimeLimits } from '../time-limits.ts';

export interface Environment {
  /** The Worker's variables, beside the ones in wrangler.toml. */
  readonly vars: Readonly<Record<string, string>>;
  /** Time limits that differ from `TIME_LIMITS`. */
  readonly limits?: Partial<TimeLimits> | undefined;
}

/** The path at which tested-worker.ts takes an environment with `PUT`. */
export const ENVIRONMENT_PATH = '/environment-of-tests';

/** The path at which it runs the scheduled handler, at `?time=` in milliseconds. */
export const SCHEDULED_PATH = '/scheduled-handler-of-tests';
