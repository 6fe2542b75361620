/** A strategy on trial: what both sides have sent and paid, and what was saved or would have been. */
import { shareIn } from '../../src/memory/run/ratio.ts';
import type { StatsComparison } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { NumberTable } from '../parts/number-table.tsx';
import { count, dollars, UNKNOWN } from '../parts/numbers.ts';
import { RuleLink } from '../parts/rule-link.tsx';
import { Of } from '../parts/states.tsx';
import { inDollars } from '../read/money.ts';

type Trial = StatsComparison['data'][number];
type Side = NonNullable<Trial['sent']>;

export function Trials({ client, days }: { client: Client; days: number }) {
  const loaded = useLoad((signal) => client.comparison(days, signal), [client, days]);
  return (
    <Of loaded={loaded}>
      {({ data }) => (
        <>
          {data.map((trial) => (
            <OnTrial key={trial.mode} trial={trial} />
          ))}
        </>
      )}
    </Of>
  );
}

/** What the sentence says is folded, where nothing is beside it to compare it with. */
function OnTrial({ trial: { mode, text, observed, sent } }: { trial: Trial }) {
  const sides = [
    ['only observed', observed],
    ['applied to', sent],
  ] as const;
  const shown = sides.flatMap(([title, side]) => (side ? [{ title, side }] : []));
  return (
    <section aria-label={`${mode} on trial`}>
      <h2>
        <code>{mode}</code> on trial
      </h2>
      <p>{text}</p>
      <details class="fold" open={shown.length > 1}>
        <summary>In numbers</summary>
        <NumberTable
          class="trial"
          columns={['Requests', ...shown.map(({ title }) => title)]}
          rows={ROWS.map(([title, of]) => [title, ...shown.map(({ side }) => of(side))])}
        />
      </details>
      <RuleLink page="answers-and-errors.md" section="On trial" text="What these can’t see" />
    </section>
  );
}

const ROWS: readonly (readonly [title: string, of: (side: Side) => string])[] = [
  ['Conversations', ({ conversations }) => count(conversations)],
  ['Answered requests', ({ requests }) => count(requests)],
  ['Tokens of the arrays', ({ before }) => count(before)],
  ['Tokens of the views', ({ after }) => count(after)],
  ['Paid', ({ paid }) => dollars(paid === null ? paid : inDollars(paid))],
  ['Saved, or would have', ({ saved }) => dollars(saved === null ? saved : inDollars(saved))],
  ['That is', ({ saving }) => (saving ? `${saving.value < 0 ? '−' : ''}${shareIn(saving)}` : UNKNOWN)],
  [
    'Words missed',
    ({ answers, words, missed }) => (answers > 0 ? `${count(missed)} of ${count(words)}` : UNKNOWN),
  ],
];
