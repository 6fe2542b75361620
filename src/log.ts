/** Structured logs: one JSON object a line. Codes, ids and times; never content, never a key. */
import { type Env, LOG_LEVELS, type LogLevel } from './config.ts';

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** A log that leaves out what is below `least`. */
export function createLog(least: LogLevel): Log {
  const threshold = LOG_LEVELS.indexOf(least);
  return (level, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) >= threshold) console[level](JSON.stringify({ level, message, ...fields }));
  };
}

/** Errors that only a fault in the code throws. */
const FAULTS = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'DataCloneError']);

/**
 * Logs an error that is caught where storage is used, by its code and its name: its message may
 * hold content. Only a failure of storage is `store_failed`; an error that was made for a caller
 * has a code of its own, and a fault in the code is `internal_error`.
 *
 * @returns the code
 */
export function logCaught(log: Log, level: LogLevel, message: string, error: unknown): string {
  const name = nameOf(error);
  const { code: own } = Object(error) as { code?: unknown };
  const isForCaller = name === 'ApiError' && typeof own === 'string';
  const code = isForCaller ? own : isFault(error) ? 'internal_error' : 'store_failed';
  log(level, message, { code, error: name });
  return code;
}

/** Whether an error is a fault in the code. */
export function isFault(error: unknown): boolean {
  return FAULTS.has(nameOf(error));
}

function nameOf(error: unknown): string {
  const { name } = Object(error) as { name?: unknown };
  return typeof name === 'string' ? name : 'unknown';
}

/**
 * The log of an object, which has nobody to tell that `LOG_LEVEL` is no level: then it logs as if
 * there were none.
 */
export function createObjectLog(env: Pick<Env, 'LOG_LEVEL'>): Log {
  return createLog(LOG_LEVELS.find((level) => level === env.LOG_LEVEL) ?? 'info');
}
