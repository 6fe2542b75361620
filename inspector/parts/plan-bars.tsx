/** The array and its view as two bars of the same scale, coloured by what becomes of messages. */
import { useMemo } from 'preact/hooks';
import { FATES, type Fate } from '../../src/memory/edits/fates.ts';
import { FATE_WORDS, type Row } from '../read/fates.ts';
import { count, share } from './numbers.ts';

interface Props {
  readonly rows: readonly Row[];
  readonly before: number;
  readonly after: number;
  readonly budget: number | null | undefined;
  /** Of the summary, which no row has. */
  readonly summaryTokens: number | undefined;
}

interface Segment {
  readonly fate: Fate;
  readonly tokens: number;
}

/** Neighbours with the same fate are one segment, so that a long array has few. */
function segmentsOf(rows: readonly Row[], tokensOf: (row: Row) => number | undefined): Segment[] {
  const segments: { fate: Fate; tokens: number }[] = [];
  for (const row of rows) {
    const tokens = tokensOf(row) ?? 0;
    const last = segments.at(-1);
    if (last?.fate === row.fate) last.tokens += tokens;
    else segments.push({ fate: row.fate, tokens });
  }
  return segments.filter(({ tokens }) => tokens > 0);
}

export function PlanBars({ rows, before, after, budget, summaryTokens }: Props) {
  const array = useMemo(() => segmentsOf(rows, (row) => row.before), [rows]);
  const view = useMemo(() => segmentsOf(rows, (row) => row.after), [rows]);
  const scale = Math.max(before, after, budget ?? 0, 1);
  return (
    <figure class="plan-bars">
      <Bar name="Array" segments={array} tokens={before} scale={scale} />
      <Bar name="View" segments={view} tokens={after} scale={scale} summaryTokens={summaryTokens} />
      <figcaption>
        {count(after)} of {count(before)} tokens go up ({share(after, before)} of the array)
        {budget === null || budget === undefined ? '' : `, with a budget of ${count(budget)}`}.
      </figcaption>
      <ul class="legend">
        {FATES.filter((fate) => rows.some((row) => row.fate === fate)).map((fate) => (
          <li key={fate} class={`key ${fate}`}>
            {FATE_WORDS[fate].badge}
          </li>
        ))}
        {summaryTokens !== undefined && <li class="key summary">summary</li>}
      </ul>
    </figure>
  );
}

interface BarProps {
  readonly name: string;
  readonly segments: readonly Segment[];
  readonly tokens: number;
  readonly scale: number;
  readonly summaryTokens?: number | undefined;
}

function Bar({ name, segments, tokens, scale, summaryTokens }: BarProps) {
  return (
    <div class="bar-line">
      <span class="bar-name">{name}</span>
      <span class="bar" aria-hidden="true">
        <span class="bar-fill" style={{ width: `${(100 * tokens) / scale}%` }}>
          {segments.map(({ fate, tokens: size }, at) => (
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
