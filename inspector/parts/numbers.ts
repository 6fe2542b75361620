/** How numbers, dates and shares are written. What is not known is "n/a", never 0. */

export const UNKNOWN = 'n/a';

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : value.toLocaleString('en');
}

/** `1.2 k`, for narrow columns. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  const size = Math.abs(value);
  if (size < 1_000) return String(Math.round(value));
  if (size < 1_000_000) return `${(value / 1_000).toFixed(size < 10_000 ? 1 : 0)} k`;
  return `${(value / 1_000_000).toFixed(1)} M`;
}

/** The same for an axis, whose ticks are as exact as their steps. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return String(value);
  const [unit, name] = size < 1_000_000 ? [1_000, 'k'] : [1_000_000, 'M'];
  return `${Number((value / unit).toFixed(2))} ${name}`;
}

/** The least of 1, 2 or 5 times a power of ten that no value exceeds: the top of the chart. */
export function topOf(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return power * ([1, 2, 5].find((times) => most <= times * power) ?? 10);
}

/** A part of a whole in percent. */
export function share(part: number | null | undefined, whole: number | null | undefined): string {
  if (part === null || part === undefined || !whole) return UNKNOWN;
  return `${((100 * part) / whole).toFixed(part === 0 || part === whole ? 0 : 1)} %`;
}

/** In cents; of less than ten, the first two digits: `$412.20`, `$0.11`, `$0.062`, `$0.00`. */
export function dollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return `${value < 0 ? '−' : ''}$${inDigits(Math.abs(value), digitsOf(value))}`;
}

/** Two amounts that are compared, with as many decimals: three digits of the larger, or cents. */
export function alike(one: number, other: number): [string, string] {
  const digits = digitsOf(Math.max(Math.abs(one), Math.abs(other)) / 10);
  return [cents(one, digits), cents(other, digits)];
}

/** How many decimals an amount needs, in dollars. */
export function digitsOf(value: number): number {
  const size = Math.abs(value);
  return size >= 0.1 || size < 0.000_000_001 ? 2 : 1 - Math.floor(Math.log10(size));
}

/** As many decimals as the largest amount of a column needs, so that they align: 2 to 4. */
export function decimalsOf(values: readonly (number | undefined)[]): number {
  return Math.min(4, digitsOf(Math.max(0, ...values.map((value) => Math.abs(value ?? 0)))));
}

/** In cents, or with this many decimals: `<$0.01` and `−<$0.01` for less than the last one. */
export function cents(value: number, digits = 2): string {
  const size = Math.abs(value);
  if (size === 0 && digits > 2) return '$0';
  const sign = value < 0 ? '−' : '';
  const least = 10 ** -digits;
  if (size > 0 && size < least) return `${sign}<$${inDigits(least, digits)}`;
  return `${sign}$${inDigits(size, digits)}`;
}

/** For an axis, whose ticks need no more digits than two, and no zeros after them. */
export function roundDollars(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '$0';
  if (size >= 100 || size < 0.000_01) return dollars(value);
  return `${value < 0 ? '−' : ''}$${Number(size.toPrecision(2))}`;
}

function inDigits(size: number, digits: number): string {
  return size.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** With all digits that are known, for a tooltip; undefined where nothing is. */
export function exactDollars(value: number | null | undefined): string | undefined {
  if (value === null || value === undefined) return undefined;
  return `${value < 0 ? '−' : ''}$${Math.abs(value)
    .toFixed(9)
    .replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}

/** `3 min ago`. @param seconds since 1970 @param now likewise */
export function ago(seconds: number | null | undefined, now: number): string {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  const past = Math.max(0, now - seconds);
  if (past < 60) return 'just now';
  if (past < 3_600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86_400) return `${Math.floor(past / 3_600)} h ago`;
  const days = Math.floor(past / 86_400);
  return days === 1 ? 'yesterday' : `${days} days ago`;
}

/** In UTC. @param seconds since 1970 */
export function moment(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  return new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
}

export function duration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return UNKNOWN;
  return milliseconds < 1_000 ? `${milliseconds} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}
