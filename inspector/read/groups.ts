/** Rows in groups: what has changed is alone, and what has not is folded into one line. */
import type { Row } from './fates.ts';

/** Adjacent messages with one fate, or one edited message. */
export interface Group {
  readonly kind: 'kept' | 'edited' | 'summarized' | 'trimmed';
  /** At least one; exactly one in `edited`. */
  readonly rows: readonly [Row, ...Row[]];
}

/** @param stops indices of messages before which something is shown that is no message */
export function groupsOf(rows: readonly Row[], stops: ReadonlySet<number> = new Set()): Group[] {
  const groups: { kind: Group['kind']; rows: [Row, ...Row[]] }[] = [];
  for (const row of rows) {
    const kind = kindOf(row);
    const last = groups.at(-1);
    if (last && last.kind === kind && kind !== 'edited' && !stops.has(row.index)) last.rows.push(row);
    else groups.push({ kind, rows: [row] });
  }
  return groups;
}

function kindOf({ fate }: Row): Group['kind'] {
  return fate === 'kept' || fate === 'summarized' || fate === 'trimmed' ? fate : 'edited';
}

export function isChange({ kind }: Group): boolean {
  return kind !== 'kept';
}

export function lastOf({ rows }: Group): Row {
  return rows.at(-1) ?? rows[0];
}

/** Tokens of the messages in the array; undefined if one of them is not counted. */
export function tokensOf({ rows }: Group): number | undefined {
  return rows.reduce<number | undefined>(
    (sum, { before }) => (sum === undefined || before === undefined ? undefined : sum + before),
    0,
  );
}

/** Tokens that the view has less for a group; undefined if that is not known. */
export function freedOf(group: Group): number | undefined {
  const { kind, rows } = group;
  if (kind === 'edited') return rows[0].edits.reduce((sum, { freed }) => sum + freed, 0);
  return tokensOf(group);
}

/** The changes with the groups' places, the largest first. Changes of unknown size lead. */
export function changesBySize(groups: readonly Group[]): { group: Group; at: number }[] {
  const size = (group: Group): number => freedOf(group) ?? Number.POSITIVE_INFINITY;
  return groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => isChange(group))
    .toSorted((one, other) => compare(size(other.group), size(one.group)));
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
