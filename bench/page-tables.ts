/**
 * Tables of pages that benchmarks fill in, each between the comments `<!-- MARK NAME -->` and
 * `<!-- /MARK -->`.
 */

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * The page with a table in its place. A table without rows stays as it is.
 *
 * @param mark the benchmark's
 * @throws Error if the table's comments are not in the page
 */
export function withTable(page: string, mark: string, name: string, table: Table): string {
  const [before, after] = [`<!-- ${mark} ${name} -->\n`, `<!-- /${mark} -->`];
  const start = page.indexOf(before) + before.length;
  const end = page.indexOf(after, start);
  if (start < before.length || end < 0) throw new Error(`the page has no place for the table of ${name}`);
  if (table.rows.length === 0) return page;
  return `${page.slice(0, start)}${markdownOf(table)}\n${page.slice(end)}`;
}

/** In characters. A longer cell would move all cells of its column when it changes. */
const WIDEST = 60;

/** The columns have the width of their longest cell that is no sentence. */
function markdownOf({ head, rows }: Table): string {
  const widths = head.map((title, column) => {
    const lengths = rows.map((row) => row[column]?.length ?? 0);
    return Math.max(title.length, 3, ...lengths.filter((length) => length <= WIDEST));
  });
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n');
}
