/** What the caller's requests of the last days have sent and saved, together and by day. */
import { useEffect, useState } from 'preact/hooks';
import type { StatsByDay } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useLoad } from '../api/use-load.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { DayBars } from '../parts/day-bars.tsx';
import { late } from '../parts/late.tsx';
import { cents, count, share, UNKNOWN } from '../parts/numbers.ts';
import { Ranges } from '../parts/ranges.tsx';
import { Failed, Of } from '../parts/states.tsx';
import { Term } from '../parts/term.tsx';
import { unbilledIn } from '../read/callers.ts';
import { fragmentOfView, USUAL } from '../read/list-view.ts';
import { inDollars } from '../read/money.ts';
import { missedSentence } from '../read/request-words.ts';

const Trials = late(
  async () => (await import('../trials/trials.tsx')).Trials,
  (state) => state,
);

interface Props {
  readonly client: Client;
  /** Whether the list was read, which brings the sums of its conversations up to date, or has failed. */
  readonly isListed: boolean;
}

export function Totals({ client, isListed }: Props) {
  const [range, setRange] = useState(7);
  const loaded = useLoad(
    async (signal) => (isListed ? await client.days(range, signal) : undefined),
    [client, range, isListed],
  );
  return (
    <section class="totals-panel" aria-label="All conversations together">
      <Ranges chosen={range} name="range" onChoose={setRange} />
      <Of loaded={loaded} what="The sums of these days">
        {(stats) =>
          stats && (
            <>
              <Days stats={stats} />
              {stats.total.observed.requests > 0 && <Trials client={client} days={stats.days} />}
            </>
          )
        }
      </Of>
      {(loaded.value?.total.requests ?? 0) > 0 && <Forward client={client} days={range} />}
    </section>
  );
}

function Days({ stats }: { stats: StatsByDay }) {
  const { total, days } = stats;
  return (
    <>
      <p class="lead">{sentence(stats)}</p>
      {total.requests > 0 && <Notes stats={stats} />}
      {total.requests > 0 && days > 1 && <DayBars days={stats.data} />}
    </>
  );
}

function sentence({ total, days }: StatsByDay) {
  const { requests, tokens, bill } = total;
  const when = days === 1 ? 'Today (UTC)' : `In ${days} days`;
  if (requests === 0) return <>{when}: no request is recorded.</>;
  const notSent = Math.max(0, tokens.before - tokens.sent);
  return (
    <>
      {when}: <strong>{count(requests)}</strong> {requests === 1 ? 'request' : 'requests'},{' '}
      <strong>{share(notSent, tokens.before)}</strong> of the tokens <Term of="not_sent" />
      {(bill.debits.fetch_rounds ?? 0) > 0 && ' (without fetches)'},{' '}
      <strong>{bill.net === null ? UNKNOWN : cents(inDollars(Math.abs(bill.net)))}</strong>{' '}
      <Term of="net">{bill.net !== null && bill.net < 0 ? 'lost' : 'saved'} net</Term>.
    </>
  );
}

/** What the sentence does not say: what was paid, what is not known, what failed. */
function Notes({ stats: { total } }: { stats: StatsByDay }) {
  const { requests, failed, bill, missed, observed } = total;
  const misses = missedSentence(missed);
  const { actual, would_be: wouldBe, billed } = bill;
  const unbilled = unbilledIn({ requests, failed, billed });
  return (
    <p class="note">
      {failed > 0 && (
        <>
          <a class="fails" href={fragmentOfView({ ...USUAL, status: 'failed' })}>
            {count(failed)} failed
          </a>
          .{' '}
        </>
      )}
      {actual === null || wouldBe === null
        ? 'Their cost is not known.'
        : `Paid ${cents(inDollars(actual))}; without Precis it would have been ${cents(inDollars(wouldBe))}.`}
      {billed > 0 && unbilled > 0 && ` The price of ${count(unbilled)} of them is not known.`}
      {misses !== undefined && ` ${misses}`}
      {observed.requests > 0 &&
        ` ${count(observed.requests)} were only observed; they would have saved ${
          observed.net === null ? UNKNOWN : cents(inDollars(observed.net))
        }.`}
    </p>
  );
}

interface Forwarded {
  readonly text: string;
  /** The address of the picture, in this tab alone. */
  readonly picture: string;
}

/** The sentences of the summary, to be copied or saved as a picture. */
function Forward({ client, days }: { client: Client; days: number }) {
  const [made, setMade] = useState<Forwarded>();
  const { isRunning, failure, run } = useAction();
  useEffect(() => setMade(undefined), [client, days]);
  useEffect(() => () => URL.revokeObjectURL(made?.picture ?? ''), [made]);
  const make = (): Promise<void> =>
    run(async () => {
      const [text, picture] = await Promise.all([client.summary(days), client.summaryPicture(days)]);
      setMade({ text, picture: URL.createObjectURL(picture) });
    });
  if (!made)
    return (
      <div class="actions">
        <button type="button" class="quiet" disabled={isRunning} onClick={() => void make()}>
          Say it in a sentence to forward
        </button>
        {failure && <Failed failure={failure} onAgain={() => void make()} />}
      </div>
    );
  return (
    <>
      <p class="note">{made.text}</p>
      <div class="actions">
        <CopyButton text={made.text} />
        <a href={made.picture} download={`precis-${days}-days.svg`}>
          Save as a picture
        </a>
      </div>
    </>
  );
}
