/** Prints the figures: a table per data set, and a legend of its columns. */

import { NEAREST_MESSAGES } from '../../src/memory/run/near-use.ts';
import { percent, printTable, thousands } from '../figures.ts';
import type { Interval } from './bootstrap.ts';
import { MOST_ROLL_UPS } from './constraints.ts';
import { LARGE_OUTPUT } from './near-use.ts';
import { type DataSetFigures, DEARER, type PolicyFigures } from './results.ts';

const HEAD = [
  ...['sent', 'bill', '95 %', 'no fetches', 'fetches', 'cached', 'peak view', 'broken', 'dearer', 'worst'],
  ...['visible', '95 %', 'view or ref', 'near use', '95 %', 'of large', 'saved', 'once'],
];

export function printFigures(set: DataSetFigures): void {
  const { name, conversations, requests, values, nearValues, nearLargeValues, policies } = set;
  const asked =
    values === 0
      ? 'and no value that an agent needed again after a long while: nothing is known of what stays visible'
      : `${thousands(values)} values`;
  console.log(
    `${name}: ${conversations} conversations, ${thousands(requests)} requests, ${asked}; ${thousands(nearValues)} words of near use, ${thousands(nearLargeValues)} of them from large outputs\n`,
  );
  printTable(
    ['', ...HEAD],
    policies.map((policy) => rowOf(policy, set)),
  );
  console.log();
}

/** Bill and visible values of each policy by the length of the conversations. */
export function printLengths(classes: readonly DataSetFigures[]): void {
  const policies = classes[0]?.policies ?? [];
  const heads = classes.map(({ name, conversations }) => `${name} (${conversations})`);
  console.log('bill, and visible, by the length of conversations in tokens (number of conversations)\n');
  printTable(
    ['', ...heads],
    policies.map(({ name }, index) => [
      name,
      ...classes.map(({ policies, values }) => {
        const figures = policies[index];
        return figures ? `${figures.paidToNone.toFixed(3)}  ${percent(figures.visible, values)}` : '–';
      }),
    ]),
  );
  console.log();
}

/** What each policy leaves of the user's constraints after 0, 1, 2, 3 and more roll-ups. */
export function printConstraints({ policies }: DataSetFigures): void {
  const counts = Array.from({ length: MOST_ROLL_UPS + 1 }, (_, rollUps) => rollUps);
  console.log(
    "sentences of the user with always, never, must or don't that stand verbatim in the view, of those given",
  );
  console.log('(conversations), by the number of roll-ups\n');
  printTable(
    ['', ...counts.map((rollUps) => (rollUps < MOST_ROLL_UPS ? `${rollUps}` : `${rollUps} and more`))],
    policies.map(({ name, constraints }) => [
      name,
      ...counts.map((rollUps) => {
        const found = constraints.find((one) => one.rollUps === rollUps);
        return found ? `${percent(found.kept, found.given)} of ${found.given} (${found.conversations})` : '–';
      }),
    ]),
  );
  console.log();
}

export function printLegend(): void {
  console.log(`sent         tokens sent, relative to none
bill         what is paid for, relative to none: fresh input 1, cached and written input by the schedule, and what summaries have cost,
             and fetches
95 %         the interval of the figure before it over the conversations, by the bootstrap
no fetches   the bill without fetches
fetches      rounds that fetch the values that the view does not show and a ref leads to
cached       tokens that the upstream has in its cache, of those sent
peak view    tokens of the largest request
broken       requests that do not begin with all that the request before them held
dearer       conversations that cost more than ${DEARER} times what they cost with none
worst        the highest cost of a conversation relative to its cost with none
visible      of the values that an agent needed again after a long while: the ones in the view
view or ref  the ones in the view, and the ones that could be fetched by a ref that the view names
near use     of the words that an answer took from an output of the last ${NEAREST_MESSAGES} messages: the ones in the view
of large     the same of outputs with more than ${thousands(LARGE_OUTPUT)} characters
saved        thousands of tokens removed, net of what replaces them, summed over the requests
once         the same with each removed token counted once`);
}

function rowOf(figures: PolicyFigures, { values, nearValues, nearLargeValues }: DataSetFigures): string[] {
  const { name, tokensToNone, paidToNone, cached, tokens, peak, broken, dearer, visible, reachable } =
    figures;
  return [
    name,
    tokensToNone.toFixed(3),
    paidToNone.toFixed(3),
    range(figures.paidInterval, 1, 3),
    figures.paidWithoutFetches.toFixed(3),
    thousands(figures.fetchRounds),
    percent(cached, tokens),
    thousands(peak),
    thousands(broken),
    `${dearer}`,
    figures.worst.toFixed(2),
    percent(visible, values),
    range(figures.visibleInterval, 100, 1),
    percent(reachable, values),
    percent(figures.near, nearValues),
    range(figures.nearInterval, 100, 1),
    percent(figures.nearLarge, nearLargeValues),
    thousands(Math.round(figures.savedGross / 1_000)),
    thousands(Math.round(figures.savedUnique / 1_000)),
  ];
}

function range(interval: Interval | undefined, times: number, digits: number): string {
  return interval ? interval.map((bound) => (times * bound).toFixed(digits)).join('–') : '–';
}
