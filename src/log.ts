/** Structured logs: one JSON object a line. Codes, ids and times; never content, never a key. */
import { LOG_LEVELS, type LogLevel } from './config.ts';

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** A log that leaves out what is below `least`. */
export function createLog(least: LogLevel): Log {
  const threshold = LOG_LEVELS.indexOf(least);
  return (level, message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) >= threshold) console[level](JSON.stringify({ level, message, ...fields }));
  };
}
