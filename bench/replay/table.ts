/** Prints the figures: a table per data set, and a legend of its columns. */
import { percent, printTable, thousands } from '../figures.ts';
import { type DataSetFigures, DEARER, type PolicyFigures } from './results.ts';

const HEAD = ['sent', 'bill', 'cached', 'peak view', 'broken', 'dearer', 'visible', 'view or ref'];

export function printFigures({ name, conversations, requests, values, policies }: DataSetFigures): void {
  const asked = values === 0 ? 'no values' : `${thousands(values)} values`;
  console.log(`${name}: ${conversations} conversations, ${thousands(requests)} requests, ${asked}\n`);
  printTable(
    ['', ...HEAD],
    policies.map((policy) => rowOf(policy, values)),
  );
  console.log();
}

export function printLegend(): void {
  console.log(`sent         tokens sent, relative to none
bill         what is paid for, relative to none: fresh input 1, cached and written input by the schedule, and what summaries have cost;
             what a model would fetch by refs is not in it
cached       tokens that the upstream has in its cache, of those sent
peak view    tokens of the largest request
broken       requests that do not begin with all that the request before them held
dearer       conversations that cost more than ${DEARER} times what they cost with none
visible      of the values that an agent needed again after a long while: those that stood in the view
view or ref  those that stood in the view, or could be fetched by a ref that the view names`);
}

function rowOf(figures: PolicyFigures, values: number): string[] {
  const { name, tokensToNone, paidToNone, cached, tokens, peak, broken, dearer, visible, reachable } =
    figures;
  return [
    name,
    tokensToNone.toFixed(3),
    paidToNone.toFixed(3),
    percent(cached, tokens),
    thousands(peak),
    thousands(broken),
    `${dearer}`,
    percent(visible, values),
    percent(reachable, values),
  ];
}
