/** Times: on the wire in whole seconds since 1970, else in milliseconds; days and months in UTC. */

/** A time in UTC, for code that reads no clock. */
export interface UtcTime {
  /** YYYY-MM-DD. */
  readonly day: string;
  /** 0 is Sunday. */
  readonly weekday: number;
  /** 0 to 23. */
  readonly hour: number;
}

export const DAY_MS: number = 24 * 60 * 60_000;

/** Between two runs of the scheduled handler (`crons` in wrangler.toml), in milliseconds. */
export const RUNS_EVERY_MS: number = 15 * 60_000;

/** A day in UTC, as days since 1970. @param at milliseconds since 1970 */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

/**
 * The month of a time, as days since 1970: its first day, and the first day of the next month.
 *
 * @param at milliseconds since 1970
 */
export function monthOf(at: number): { readonly first: number; readonly end: number } {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { first: dayOf(Date.UTC(year, month)), end: dayOf(Date.UTC(year, month + 1)) };
}

/** The date of a day, YYYY-MM-DD. @param day in days since 1970 */
export function dateOfDay(day: number): string {
  return utcTimeOf(new Date(day * DAY_MS)).day;
}

/** A day in days since 1970. @param date YYYY-MM-DD */
export function dayOfDate(date: string): number {
  return dayOf(Date.parse(date));
}

/** `14:02`. @param at milliseconds since 1970 */
export function timeOfDay(at: number): string {
  return new Date(at).toISOString().slice('YYYY-MM-DDT'.length, 'YYYY-MM-DDThh:mm'.length);
}

export function utcTimeOf(date: Date): UtcTime {
  const day = date.toISOString().slice(0, 'YYYY-MM-DD'.length);
  return { day, weekday: date.getUTCDay(), hour: date.getUTCHours() };
}

/** @param milliseconds since 1970 */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
