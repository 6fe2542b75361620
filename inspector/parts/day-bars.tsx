/** A bar for each day: the tokens that were sent, and those that were not. */
import { useState } from 'preact/hooks';
import type { StatsByDay } from '../api/answers.ts';
import { CAUSE_LABELS, labelOf } from '../read/codes.ts';
import { inDollars } from '../read/money.ts';
import { cents, count, share, short, topOf } from './numbers.ts';
import { Scaled } from './scale.tsx';

type Day = StatsByDay['data'][number];

export function DayBars({ days }: { readonly days: readonly Day[] }) {
  const [pointed, setPointed] = useState<string>();
  const most = topOf(Math.max(...days.map(({ tokens }) => Math.max(tokens.before, tokens.sent))));
  const height = (tokens: number): string => `${((100 * tokens) / most).toFixed(2)}%`;
  const day = days.find(({ date }) => date === pointed);
  return (
    <figure class="days">
      <Scaled top={most}>
        <ol class="day-bars" onMouseLeave={() => setPointed(undefined)}>
          {days.map((one) => (
            <li
              key={one.date}
              class={one.date === pointed ? 'pointed' : undefined}
              onMouseEnter={() => setPointed(one.date)}
            >
              <span class="day-bar" aria-hidden="true">
                <span
                  class="not-sent"
                  style={{ height: height(Math.max(0, one.tokens.before - one.tokens.sent)) }}
                />
                <span class="was-sent" style={{ height: height(one.tokens.sent) }} />
              </span>
              <span class="day-date" aria-hidden="true">
                {days.length <= 10 ? dateWords(one.date) : ''}
              </span>
              <span class="sr-only">{dayWords(one)}</span>
            </li>
          ))}
        </ol>
      </Scaled>
      <figcaption>
        {day ? (
          dayWords(day)
        ) : (
          <>
            <span class="key square" style={{ '--key': 'var(--after)' }}>
              tokens sent
            </span>{' '}
            <span class="key square" style={{ '--key': 'var(--saved-fill)' }}>
              not sent
            </span>{' '}
            {days.length > 10 && `${dateWords(days[0]?.date)} to ${dateWords(days.at(-1)?.date)}, `}by day
            (UTC)
          </>
        )}
      </figcaption>
    </figure>
  );
}

function dayWords({ date, requests, failed, tokens, bill, missed: [miss] }: Day): string {
  if (requests === 0) return `${dateWords(date)}: no requests`;
  return [
    `${dateWords(date)}: ${count(requests)} ${requests === 1 ? 'request' : 'requests'}`,
    `${short(tokens.before)} tokens came in`,
    `${share(Math.max(0, tokens.before - tokens.sent), tokens.before)} not sent`,
    bill.net === null
      ? 'savings n/a'
      : `${cents(inDollars(Math.abs(bill.net)))} ${bill.net < 0 ? 'lost' : 'saved'} net`,
    ...(miss ? [`cache missed because ${labelOf(CAUSE_LABELS, miss.cause)}`] : []),
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ].join(', ');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `26 Nov`. */
function dateWords(date = ''): string {
  const [, month, day] = date.split('-');
  return `${Number(day)} ${MONTHS[Number(month) - 1]}`;
}
