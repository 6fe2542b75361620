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

/** The log of an object, which has nobody to tell that `LOG_LEVEL` is no level: then it logs as if there were none. */
export function createObjectLog(env: Pick<Env, 'LOG_LEVEL'>): Log {
  return createLog(LOG_LEVELS.find((level) => level === env.LOG_LEVEL) ?? 'info');
}
