/** Structured logs: one JSON object per line, with codes, ids and times. Never content or keys. */
import { type Env, LOG_LEVELS, type LogLevel } from './config.ts';
import { StoreError } from './lib/store-error.ts';
import { thrownAt } from './lib/thrown-at.ts';

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** A logger that drops messages below level `least`. */
export function createLog(least: LogLevel): Log {
  return (level, message, fields = {}) => {
    if (isLogged(level, least)) console[level](JSON.stringify({ level, message, ...fields }));
  };
}

/** Whether a message is logged. Ask this first where its fields cost something. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/** Explains once why something is not done for a caller, and how a deployer can change that. */
export type Explain = (code: string, message: string) => void;

/** An explainer that logs each code once. */
export function createExplainer(log: Log): Explain {
  const logged = new Set<string>();
  return (code, message) => {
    if (logged.has(code)) return;
    logged.add(code);
    log('warn', message, { code });
  };
}

/** Names of errors that only a bug in our code throws. */
const FAULTS = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'DataCloneError',
  'InvariantError',
]);

/**
 * Logs a caught error by its code, its name and where it was thrown; of a `StoreError`, by its
 * cause's. Its message is left out, since it may hold content. An `ApiError` has its own code, a
 * failure of storage is `store_failed`, and anything else, such as a bug in our code, is
 * `internal_error`.
 *
 * @returns the code
 */
export function logCaught(log: Log, level: LogLevel, message: string, error: unknown): string {
  const isOfStorage = error instanceof StoreError;
  const thrown = isOfStorage ? error.cause : error;
  const name = errorName(thrown);
  const { code: own } = Object(thrown) as { code?: unknown };
  const isForCaller = name === 'ApiError' && typeof own === 'string';
  const code = isForCaller ? own : isOfStorage && !isFault(thrown) ? 'store_failed' : 'internal_error';
  log(level, message, { code, ...errorFields(thrown, error) });
  return code;
}

/** Handles a failure that costs no answer: it is logged, and something else is given instead. */
export function logged<Value>(
  log: Log,
  level: LogLevel,
  message: string,
  instead: Value,
): (error: unknown) => Value {
  return (error) => {
    logCaught(log, level, message, error);
    return instead;
  };
}

/**
 * The fields of a log line that say which error was caught: its name, and where it was thrown.
 *
 * @param outer the error that it is the cause of; says where, if the cause has no frame of Precis
 */
export function errorFields(error: unknown, outer?: unknown): { error: string; at?: string } {
  const at = thrownAt(error) ?? thrownAt(outer);
  return { error: errorName(error), ...(at === undefined ? {} : { at }) };
}

/** Whether an error is a bug in our code. */
export function isFault(error: unknown): boolean {
  return FAULTS.has(errorName(error));
}

/** The name of an error; `unknown` for a value without one. */
export function errorName(error: unknown): string {
  const { name } = Object(error) as { name?: unknown };
  return typeof name === 'string' ? name : 'unknown';
}

/**
 * The logger of a Durable Object. It has no caller to report a bad `LOG_LEVEL` to, so it falls back
 * to `info`.
 */
export function createObjectLog(env: Pick<Env, 'LOG_LEVEL'>): Log {
  return createLog(LOG_LEVELS.find((level) => level === env.LOG_LEVEL) ?? 'info');
}
