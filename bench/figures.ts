/** Statistics, and tables to print them in. */

export interface Summary {
  readonly median: number;
  readonly p95: number;
  readonly runs: number;
}

export function summarize(values: readonly number[]): Summary {
  return { median: quantile(values, 0.5), p95: quantile(values, 0.95), runs: values.length };
}

/** A quantile, with linear interpolation. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * The median with its 95 % confidence interval, by ranks (Hahn & Meeker, Statistical Intervals,
 * 5.2).
 */
export function medianInterval(values: readonly number[]): { median: number; low: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const reach = 0.98 * Math.sqrt(sorted.length);
  const low = Math.max(0, Math.floor(sorted.length / 2 - reach) - 1);
  const high = Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + reach));
  return {
    median: quantile(values, 0.5),
    low: sorted[low] ?? Number.NaN,
    high: sorted[high] ?? Number.NaN,
  };
}

/** Milliseconds with a suitable number of digits. */
export function ms(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}

export function times(value: number): string {
  return `${value.toFixed(2)} ×`;
}

export function thousands(value: number): string {
  return value.toLocaleString('en-US');
}

/** A share, or a dash if the whole is 0. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** The first column is left-aligned, all others right-aligned. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const print = (cells: readonly string[]) =>
    console.log(
      cells
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    );
  print(head);
  console.log(widths.map((width) => '─'.repeat(width)).join('──'));
  for (const row of rows) print(row);
}
