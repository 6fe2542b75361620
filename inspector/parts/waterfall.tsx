/** How a price comes about: a bar for each step from what it would have been to what was paid. */
import { inDollars } from '../read/money.ts';
import type { WaterfallStep } from '../read/savings.ts';
import { digitsOf, exactDollars } from './numbers.ts';
import { Term } from './term.tsx';

/** @param steps see `waterfallOf`; those that change nothing are not shown */
export function Waterfall({ steps }: { readonly steps: readonly WaterfallStep[] }) {
  const levels = steps.flatMap(({ from, to }) => [from, to]);
  const least = Math.min(0, ...levels);
  const size = Math.max(...levels) - least || 1;
  // As many for all, so that they align.
  const digits = digitsOf(inDollars(Math.max(...levels)) / 10);
  const shown = steps.filter(({ amount, isSum }) => isSum || amount !== 0);
  const place = (level: number): string => `${((100 * (level - least)) / size).toFixed(2)}%`;
  return (
    <dl class="waterfall">
      {shown.map(({ term, amount, from, to, isSum }) => (
        <div key={term} class={`step ${kindOf(amount, isSum)} ${term}`}>
          <dt>
            <Term of={term} />
          </dt>
          <dd>
            <span class="step-lane" aria-hidden="true">
              <span
                class={amount === 0 ? 'step-bar none' : 'step-bar'}
                style={{
                  left: place(Math.min(from, to)),
                  width: `${((100 * Math.abs(to - from)) / size).toFixed(2)}%`,
                }}
              />
            </span>
            <span class="step-amount" title={exactDollars(inDollars(amount))}>
              {amountWords(amount, isSum, digits)}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function kindOf(amount: number, isSum: boolean): string {
  if (isSum) return 'sum';
  return amount < 0 ? 'less' : 'more';
}

/** A change has its sign. */
function amountWords(amount: number, isSum: boolean, digits: number): string {
  const sign = amount < 0 ? '−' : isSum || amount === 0 ? '' : '+';
  return `${sign}$${Math.abs(inDollars(amount)).toFixed(digits)}`;
}
