/** What all callers together have sent and cost, who spends most, and what needs attention. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownOverview } from '../api/answers.ts';
import type { Operator } from '../api/operator.ts';
import { useLoad } from '../api/use-load.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { DayBars } from '../parts/day-bars.tsx';
import { Figure } from '../parts/figure.tsx';
import { NumberTable } from '../parts/number-table.tsx';
import { cents, count, decimalsOf, exactDollars, share, short, UNKNOWN } from '../parts/numbers.ts';
import { Ranges } from '../parts/ranges.tsx';
import { RuleLink } from '../parts/rule-link.tsx';
import { showPart, useShownPart } from '../parts/shown-part.ts';
import { Of } from '../parts/states.tsx';
import { Word } from '../parts/text.tsx';
import { fragmentOf } from '../place.ts';
import { CAUSE_LABELS, labelOf } from '../read/codes.ts';
import { inDollars } from '../read/money.ts';
import { ALERT_LINKS, callerAnchor, PARTS, readWords, shortAlert } from '../read/overview.ts';
import { visible } from '../read/visible.ts';

/** Tenants that one request of the overview reads, if the operator asks for more than the usual. */
const MORE = 400;

export function Overview({ operator }: { operator: Operator }) {
  const [days, setDays] = useState(7);
  const [most, setMost] = useState<number>();
  const loaded = useLoad((signal) => operator.overview(days, most, signal), [operator, days, most]);
  return (
    <section class="overview" aria-label="All callers together">
      <Ranges chosen={days} name="overview-range" onChoose={setDays} />
      <Of loaded={loaded} what="The sums of these days">
        {(overview) => <Shown overview={overview} onMore={() => setMost(MORE)} />}
      </Of>
    </section>
  );
}

function Shown({ overview, onMore }: { overview: ShownOverview; onMore: () => void }) {
  const { total, read, text } = overview;
  return (
    <>
      {total.requests > 0 && <Figures overview={overview} />}
      <Alerts alerts={overview.alerts} isEmpty={total.requests === 0} />
      <div class="forwarded">
        <p>{text}</p>
        <CopyButton text={text} />
      </div>
      {total.requests > 0 && (
        <>
          {overview.days > 1 && <DayBars days={overview.data} />}
          <Days overview={overview} />
          <div class="rankings">
            <Callers overview={overview} />
            <Models overview={overview} />
            <Conversations overview={overview} />
            <Misses overview={overview} />
          </div>
        </>
      )}
      <p class="note">
        {readWords(read, overview.behind_ms)}{' '}
        {read.read < read.active && (
          <button type="button" class="quiet" onClick={onMore}>
            Read up to {MORE}
          </button>
        )}
      </p>
    </>
  );
}

/** The sums of the sentence, to be read at a glance. */
function Figures({ overview: { total, read } }: { overview: ShownOverview }) {
  const { requests, failed, tokens, bill } = total;
  const figures: readonly (readonly [title: string, value: ComponentChildren, note?: string | undefined])[] =
    [
      ['paid', <Amount of={bill.actual} />],
      ['saved, net', <Amount of={bill.net} />],
      ['requests', count(requests)],
      ['failed', failures(failed), failed > 0 ? share(failed, requests) : undefined],
      ['tokens sent', short(tokens.sent), `of ${short(tokens.before)}`],
      ['callers', count(read.active)],
    ];
  return (
    <dl class="figures large">
      {figures.map(([title, value, note]) => (
        <Figure key={title} term={title}>
          {value} <span class="note">{note}</span>
        </Figure>
      ))}
    </dl>
  );
}

function Alerts({ alerts, isEmpty }: { alerts: ShownOverview['alerts']; isEmpty: boolean }) {
  if (alerts.length === 0) return isEmpty ? null : <p class="note">Nothing needs attention.</p>;
  return (
    <ul class="alerts" aria-label="What needs attention">
      {alerts.map((alert) => (
        <li key={alert.message} class={alert.level} title={visible(alert.message)}>
          <Word text={shortAlert(alert)} /> <AlertLink alert={alert} />
        </li>
      ))}
    </ul>
  );
}

function AlertLink({ alert: { code, caller } }: { alert: ShownOverview['alerts'][number] }) {
  const { part, words, rule } = ALERT_LINKS[code];
  return (
    <>
      <PartLink part={caller === null ? PARTS[part] : callerAnchor(caller)}>{words}</PartLink>
      {rule && (
        <>
          {' '}
          <RuleLink {...rule} />
        </>
      )}
    </>
  );
}

/** A link to a part of this screen. */
function PartLink({ part, children }: { part: string; children: ComponentChildren }) {
  return (
    <a
      href={fragmentOf({ screen: 'operator', shown: part })}
      onClick={() => showPart(document.getElementById(part) ?? document.getElementById(PARTS.callers))}
    >
      {children}
    </a>
  );
}

interface TableProps {
  readonly title: string;
  /** If addresses name it. */
  readonly id?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}

function Table({ title, id, columns, rows }: TableProps) {
  const part = useShownPart<HTMLElement>(id ?? '');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section ref={part} id={id} class="table stacked" tabIndex={0} aria-label={title}>
      <NumberTable caption={<caption>{title}</caption>} columns={columns} rows={rows} />
    </section>
  );
}

/** A text that gives way to numbers, and is whole where it is pointed at. */
function Name({ text }: { text: string }) {
  return (
    <span title={visible(text)}>
      <Word text={text} />
    </span>
  );
}

/** Amounts are in nanodollars. */
interface Use {
  readonly requests: number;
  readonly failed: number;
  readonly paid: number | null;
  readonly net: number | null;
}

interface UsesProps extends Omit<TableProps, 'columns' | 'rows'> {
  /** What each of them is. */
  readonly of: string;
  readonly uses: readonly (readonly [name: ComponentChildren, use: Use])[];
}

function Uses({ of, uses, ...table }: UsesProps) {
  const digits = decimalsOf(uses.flatMap(([, { paid, net }]) => [inDollars(paid ?? 0), inDollars(net ?? 0)]));
  const rows = uses.map(([name, { requests, failed, paid, net }]) => {
    const amounts = [paid, net].map((one) => requests > 0 && <Amount of={one} digits={digits} />);
    return [name, count(requests), failures(failed), ...amounts];
  });
  return <Table {...table} columns={[of, 'requests', 'failed', 'paid', 'saved']} rows={rows} />;
}

/** Of nanodollars: pointed at, it has all digits. */
function Amount({ of, digits = 2 }: { of: number | null; digits?: number }) {
  if (of === null) return <>{UNKNOWN}</>;
  return <span title={exactDollars(inDollars(of))}>{cents(inDollars(of), digits)}</span>;
}

function Days({ overview: { data } }: { overview: ShownOverview }) {
  const uses = data.toReversed().map(({ date, bill, ...day }) => {
    return [date, { ...day, paid: bill.actual, net: bill.net }] as const;
  });
  return (
    <details class="fold">
      <summary>Day by day (UTC)</summary>
      <Uses title="By day" of="day" uses={uses} />
    </details>
  );
}

function Callers({ overview: { callers } }: { overview: ShownOverview }) {
  const uses = callers.slice(0, SHOWN).map(({ name, ...use }) => {
    const link = (
      <PartLink part={callerAnchor(name)}>
        <Name text={name} />
      </PartLink>
    );
    return [link, use] as const;
  });
  return <Uses title="Callers who spend most" of="caller" uses={uses} />;
}

/** Rows of a table. */
const SHOWN = 10;

function Models({ overview: { total } }: { overview: ShownOverview }) {
  const uses = total.models.slice(0, SHOWN).map(({ model, billed, sent, would_be: wouldBe, ...one }) => {
    const amounts = billed > 0 ? { paid: sent, net: wouldBe - sent } : { paid: null, net: null };
    return [model === null ? 'others' : <Name text={model} />, { ...one, ...amounts }] as const;
  });
  return <Uses id={PARTS.models} title="Models, without summaries" of="model" uses={uses} />;
}

function Conversations({ overview: { conversations } }: { overview: ShownOverview }) {
  const uses = conversations.map(({ caller, conversation, model, ...use }) => {
    const name = (
      <>
        <Name text={caller} />
        <span class="note" title={`The digest of the conversation in the log: ${conversation}`}>
          <code>{conversation.slice(0, 8)}</code>
          {model !== null && ' · '}
          <Word text={model ?? ''} />
        </span>
      </>
    );
    return [name, use] as const;
  });
  return <Uses title="Conversations that cost most" of="caller, digest" uses={uses} />;
}

function Misses({ overview: { total } }: { overview: ShownOverview }) {
  if (total.missed.length === 0) return null;
  const rows = total.missed
    .slice(0, SHOWN)
    .map(({ cause, requests, tokens, amount }) => [
      labelOf(CAUSE_LABELS, cause),
      count(requests),
      short(tokens),
      <Amount of={amount} />,
    ]);
  const columns = ['cause', 'requests', 'tokens', 'cost'];
  return <Table id={PARTS.misses} title="Why the cache was missed" columns={columns} rows={rows} />;
}

function failures(failed: number) {
  return failed > 0 ? <span class="fails">{count(failed)}</span> : '0';
}
