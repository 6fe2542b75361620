/** What two strategies come to over a whole conversation, in tokens and dollars. */
import { useMemo } from 'preact/hooks';
import { FATES, type Fate } from '../../src/memory/edits/fates.ts';
import type { Explained } from '../api/answers.ts';
import { FATE_LABELS } from '../read/codes.ts';
import { courseSums, linePoints } from '../read/course.ts';
import { type Row, rowsOfExplanation } from '../read/fates.ts';
import { difference } from '../read/request-words.ts';
import { NumberTable } from './number-table.tsx';
import { count, dollars, share, topOf } from './numbers.ts';
import { RuleLink } from './rule-link.tsx';
import { Scaled } from './scale.tsx';
import { Word } from './text.tsx';

/** Of the strategies that are compared. */
export const NAMES = ['A', 'B'] as const;
export type Name = (typeof NAMES)[number];

interface OutcomeProps {
  readonly plans: Readonly<Record<Name, Explained>>;
  readonly model: string;
}

export function Outcome({ plans, model }: OutcomeProps) {
  const rows = useMemo(
    () => ({ A: rowsOfExplanation(plans.A), B: rowsOfExplanation(plans.B) }),
    [plans.A, plans.B],
  );
  const total = (name: Name, of: 'before' | 'after'): number =>
    plans[name].memory.tokens?.[of] ?? rows[name].reduce((sum, row) => sum + (row[of] ?? 0), 0);
  return (
    <>
      <Verdict plans={plans} />
      <SummariesToo names={NAMES.filter((name) => plans[name].summary !== undefined)} />
      <Table plans={plans} />
      <Lines plans={plans} />
      <PlanBars
        bars={[
          { name: 'came in', rows: rows.A, of: 'before', tokens: total('A', 'before') },
          ...NAMES.map((name) => ({
            name,
            rows: rows[name],
            of: 'after' as const,
            tokens: total(name, 'after'),
            summaryTokens: plans[name].summary?.tokens,
          })),
        ]}
      />
      <p class="note">
        Dollars are estimates at list prices of <Word text={model} />, as if each request came within the life
        of the vendor’s cache. They leave out what summaries cost and what the model would fetch, so a
        conversation that was really sent has saved less.{' '}
        <RuleLink page="refs-and-retrieval" section="The whole conversation" text="How they are made" />
      </p>
    </>
  );
}

/** Which one costs less, in a sentence. */
function Verdict({ plans }: Pick<OutcomeProps, 'plans'>) {
  const [a, b] = NAMES.map((name) => plans[name].course && courseSums(plans[name].course));
  if (!a || !b) return <p class="headline">The requests of a background summary can’t be predicted.</p>;
  if (a.price === undefined || b.price === undefined || a.without === undefined)
    return (
      <p class="headline">
        A sends {share(a.sent, a.came)} of the tokens, B {share(b.sent, b.came)}. The model has no known
        price.
      </p>
    );
  const { without } = a;
  const than = (price: number): string => difference(without - price, without);
  return (
    <p class="headline">
      Unchanged, the conversation costs about {dollars(without)}. A costs {dollars(a.price)} ({than(a.price)}
      ), B {dollars(b.price)} ({than(b.price)}).
    </p>
  );
}

/** A strategy with a summary costs more than what its requests do. */
function SummariesToo({ names }: { names: readonly Name[] }) {
  if (names.length === 0) return null;
  return (
    <p class="over">{names.join(' and ')} would also pay the summarizer, which is not in these numbers.</p>
  );
}

function Table({ plans }: Pick<OutcomeProps, 'plans'>) {
  const sums = { A: sumsOf(plans.A), B: sumsOf(plans.B) };
  const either = sums.A ?? sums.B;
  const line = (name: string, came: string, of: (sum: NonNullable<typeof either>) => string) => {
    return [name, came, ...NAMES.map((one) => (sums[one] ? of(sums[one]) : 'n/a'))];
  };
  return (
    <NumberTable
      class="compared"
      caption={<caption class="sr-only">Two strategies over the whole conversation</caption>}
      columns={[either ? `All ${count(either.requests)} requests` : 'All requests', 'unchanged', ...NAMES]}
      rows={[
        line('tokens sent', count(either?.came), ({ sent }) => count(sent)),
        line('of those that came in', '100 %', ({ sent, came }) => share(sent, came)),
        line('dollars', dollars(either?.without), ({ price }) => dollars(price)),
        line('compacted', '–', ({ moves }) => (moves === 1 ? 'once' : `${count(moves)} times`)),
      ]}
    />
  );
}

function sumsOf({ course }: Explained) {
  return course && courseSums(course);
}

/** Tokens of each request: of its array, and under both strategies. */
function Lines({ plans }: Pick<OutcomeProps, 'plans'>) {
  const came = (plans.A.course ?? plans.B.course ?? []).map(({ before }) => before);
  if (came.length === 0) return null;
  const views = NAMES.map((name) => plans[name].course?.map(({ after }) => after) ?? []);
  const most = topOf(Math.max(...came, ...views.flat()));
  return (
    <figure class="course">
      <figcaption>Tokens of each of {count(came.length)} requests</figcaption>
      <Scaled top={most}>
        <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label="Tokens of each request">
          <polyline class="line-came" points={linePoints(came, most)} />
          {NAMES.map((name, at) => (
            <polyline
              key={name}
              class={`line-${name.toLowerCase()}`}
              points={linePoints(views[at] ?? [], most)}
            />
          ))}
        </svg>
      </Scaled>
      <ul class="legend">
        <li class="key line-came">unchanged</li>
        <li class="key line-a">A</li>
        <li class="key line-b">B</li>
      </ul>
    </figure>
  );
}

/** A bar. `of`: whether it has the tokens of the array or of a view. */
interface PlanBar {
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

/** An array and its views as bars of one scale, colored by what becomes of messages. */
function PlanBars({ bars }: { bars: readonly PlanBar[] }) {
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
