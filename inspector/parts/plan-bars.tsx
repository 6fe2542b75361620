/** An array and its views as bars of one scale, colored by what becomes of messages. */
import { FATES, type Fate } from '../../src/memory/edits/fates.ts';
import { FATE_LABELS } from '../read/codes.ts';
import type { Row } from '../read/fates.ts';
import { count } from './numbers.ts';

/** A bar. `of`: whether it has the tokens of the array or of a view. */
export interface PlanBar {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly of: 'before' | 'after';
  readonly tokens: number;
  /** Of the summary, which no row has. */
  readonly summaryTokens?: number | undefined;
}

interface Segment {
  readonly fate: Fate;
  readonly tokens: number;
}

/** Adjacent messages with the same fate are one segment, so that a long array has few. */
function segmentsOf({ rows, of }: PlanBar): Segment[] {
  const segments: { fate: Fate; tokens: number }[] = [];
  for (const row of rows) {
    const tokens = row[of] ?? 0;
    // The caller's array has no fate yet.
    const fate = of === 'before' ? 'kept' : row.fate;
    const last = segments.at(-1);
    if (last?.fate === fate) last.tokens += tokens;
    else segments.push({ fate, tokens });
  }
  return segments.filter(({ tokens }) => tokens > 0);
}

export function PlanBars({ bars }: { bars: readonly PlanBar[] }) {
  const scale = Math.max(1, ...bars.map(({ tokens }) => tokens));
  const fates = new Set(bars.flatMap((bar) => segmentsOf(bar).map(({ fate }) => fate)));
  return (
    <figure class="plan-bars">
      <figcaption>The last request, in tokens</figcaption>
      {bars.map((bar) => (
        <Bar key={bar.name} bar={bar} scale={scale} />
      ))}
      <ul class="legend">
        {FATES.filter((fate) => fates.has(fate)).map((fate) => (
          <li key={fate} class={`key ${fate}`}>
            {FATE_LABELS[fate]}
          </li>
        ))}
        {bars.some(({ summaryTokens }) => summaryTokens !== undefined) && (
          <li class="key" style={{ '--key': 'var(--summary)' }}>
            summary
          </li>
        )}
      </ul>
    </figure>
  );
}

function Bar({ bar, scale }: { bar: PlanBar; scale: number }) {
  const { name, tokens, summaryTokens } = bar;
  return (
    <div class="bar-line">
      <span class="bar-name">{name}</span>
      <span class="bar" aria-hidden="true">
        <span class="bar-fill" style={{ width: `${(100 * tokens) / scale}%` }}>
          {segmentsOf(bar).map(({ fate, tokens: size }, at) => (
            <span key={at} class={`segment ${fate}`} style={{ flexGrow: String(size) }} />
          ))}
          {summaryTokens !== undefined && (
            <span class="segment summary" style={{ flexGrow: String(summaryTokens) }} />
          )}
        </span>
      </span>
      <span class="bar-tokens">{count(tokens)}</span>
    </div>
  );
}
