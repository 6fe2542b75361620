/**
 * The panel with the bill of `auto` under each schedule: a bar, and the conversations that are sent
 * unchanged.
 */
import type { ScheduleName } from './schedules.ts';
import { INK, LINES, PALE_INK, round, text, WIDTH } from './svg.ts';

/** The bill under one schedule, relative to none. */
export interface ScheduleBill {
  readonly schedule: ScheduleName;
  /** Prices relative to fresh input. */
  readonly read: number;
  readonly write: number;
  readonly paidToNone: number;
  /** Conversations of which nothing was removed. */
  readonly unchanged: number;
}

const TOP = 72;
const ROW = 40;
const BAR = 18;
const LEFT = 250;
/** Room for the words after a bar. */
const RIGHT = 230;
const COLOUR = '#0969da';

export function billsHeight({ length }: readonly ScheduleBill[]): number {
  return length === 0 ? 0 : TOP + length * ROW + 24;
}

/** @param conversations the number of all */
export function drawBills(bills: readonly ScheduleBill[], conversations: number): string[] {
  const width = WIDTH - LEFT - RIGHT;
  return [
    text(
      72,
      30,
      'What auto costs at 32 k, by the price of cached input',
      `font-size="16" font-weight="600" fill="${INK}"`,
    ),
    text(
      72,
      50,
      'the bill relative to no compaction; the cheaper cached input is, the less there is to save',
      `fill="${PALE_INK}"`,
    ),
    ...bills.flatMap(({ schedule, read, write, paidToNone, unchanged }, at) => {
      const y = TOP + at * ROW;
      const middle = y + BAR / 2 + 5;
      return [
        text(
          LEFT - 12,
          middle,
          `${schedule}: read ${read}, write ${write}`,
          `text-anchor="end" fill="${INK}"`,
        ),
        `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR}" fill="none" stroke="${LINES}"/>`,
        `<rect x="${LEFT}" y="${y}" width="${round(width * paidToNone)}" height="${BAR}" fill="${COLOUR}"/>`,
        text(
          LEFT + width + 12,
          middle,
          `${paidToNone.toFixed(2)}; ${unchanged} of ${conversations} unedited`,
          `fill="${INK}"`,
        ),
      ];
    }),
  ];
}
