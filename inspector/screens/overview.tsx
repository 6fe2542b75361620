/** What all callers together have sent and cost, who spends most, and what needs attention. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownOverview } from '../api/answers.ts';
import type { Operator } from '../api/operator.ts';
import { useLoad } from '../api/use-load.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { DayBars } from '../parts/day-bars.tsx';
import { count, short } from '../parts/numbers.ts';
import { Ranges } from '../parts/ranges.tsx';
import { RuleLink } from '../parts/rule-link.tsx';
import { Of } from '../parts/states.tsx';
import { Word } from '../parts/text.tsx';
import { CAUSE_LABELS, labelOf } from '../read/codes.ts';
import {
  ALERT_LINKS,
  amountWords,
  callerAnchor,
  callersHeading,
  partsHeading,
  readWords,
} from '../read/overview.ts';

/** Tenants that one request of the overview reads, if the operator asks for more than the usual. */
const MORE = 400;

export function Overview({ operator }: { operator: Operator }) {
  const [days, setDays] = useState(7);
  const [most, setMost] = useState<number>();
  const loaded = useLoad((signal) => operator.overview(days, most, signal), [operator, days, most]);
  return (
    <section class="overview" aria-label="All callers together">
      <Ranges chosen={days} name="overview-range" onChoose={setDays} />
      <Of loaded={loaded}>{(overview) => <Shown overview={overview} onMore={() => setMost(MORE)} />}</Of>
    </section>
  );
}

function Shown({ overview, onMore }: { overview: ShownOverview; onMore: () => void }) {
  const { total, read, text } = overview;
  return (
    <>
      <p class="lead">{text}</p>
      <div class="actions">
        <CopyButton text={text} />
      </div>
      <Alerts alerts={overview.alerts} isEmpty={total.requests === 0} />
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

function Alerts({ alerts, isEmpty }: { alerts: ShownOverview['alerts']; isEmpty: boolean }) {
  if (alerts.length === 0) return isEmpty ? null : <p class="note">Nothing needs attention.</p>;
  return (
    <ul class="alerts" aria-label="What needs attention">
      {alerts.map((alert) => (
        <li key={alert.message} class={alert.level}>
          <Word text={alert.message} /> <AlertLink alert={alert} />
        </li>
      ))}
    </ul>
  );
}

function AlertLink({ alert: { code, caller } }: { alert: ShownOverview['alerts'][number] }) {
  const link = ALERT_LINKS[code];
  if (link.to === 'docs') return <RuleLink page={link.page} section={link.section} text={link.text} />;
  const anchor = caller === null ? partsHeading : callerAnchor(caller);
  return (
    <button type="button" class="quiet" onClick={() => show(anchor)}>
      {caller === null ? 'See the parts' : 'See the caller'}
    </button>
  );
}

/** Moves to a part of the page, whose address belongs to the screens. */
function show(anchor: string): void {
  const found = document.getElementById(anchor) ?? document.getElementById(callersHeading);
  found?.scrollIntoView({ block: 'center' });
  found?.setAttribute('tabindex', '-1');
  found?.focus();
}

interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

/** @param rows each with its key, its cells, and a title for the first of them */
function Table({
  title,
  columns,
  rows,
  isWide = false,
}: {
  title: string;
  isWide?: boolean;
  columns: readonly Column[];
  rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class={isWide ? 'table wide' : 'table'} tabIndex={0} aria-label={title}>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.isNumber ? 'number' : undefined}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells: [first, ...cells] }) => (
            <tr key={key}>
              <th scope="row">{first}</th>
              {cells.map((cell, at) => (
                <td key={at} class={columns[at + 1]?.isNumber ? 'number' : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const number = (title: string): Column => ({ title, isNumber: true });
const USE = [number('requests'), number('failed'), number('paid'), number('saved')];

function Days({ overview: { data } }: { overview: ShownOverview }) {
  const rows = data.toReversed().map(({ date, requests, failed, bill }) => ({
    key: date,
    cells: [
      date,
      count(requests),
      failures(failed),
      amountWords(bill.actual, requests),
      amountWords(bill.net, requests),
    ],
  }));
  return (
    <details class="fold">
      <summary>Day by day (UTC)</summary>
      <Table title="By day" columns={[{ title: 'day' }, ...USE]} rows={rows} />
    </details>
  );
}

function Callers({ overview: { callers } }: { overview: ShownOverview }) {
  const rows = callers.slice(0, SHOWN).map(({ name, requests, failed, paid, net }) => ({
    key: name,
    cells: [
      <button type="button" class="quiet" onClick={() => show(callerAnchor(name))}>
        <Word text={name} />
      </button>,
      count(requests),
      failures(failed),
      amountWords(paid, requests),
      amountWords(net, requests),
    ],
  }));
  return <Table title="Callers who spend most" columns={[{ title: 'caller' }, ...USE]} rows={rows} />;
}

/** Rows of a table. */
const SHOWN = 10;

function Models({ overview: { total } }: { overview: ShownOverview }) {
  const rows = total.models
    .slice(0, SHOWN)
    .map(({ model, requests, failed, billed, sent, would_be: wouldBe }) => ({
      key: `${model}`,
      cells: [
        model === null ? 'others' : <Word text={model} />,
        count(requests),
        failures(failed),
        amountWords(billed > 0 ? sent : null, requests),
        amountWords(billed > 0 ? wouldBe - sent : null, requests),
      ],
    }));
  return <Table title="Models, without summaries" columns={[{ title: 'model' }, ...USE]} rows={rows} />;
}

function Conversations({ overview: { conversations } }: { overview: ShownOverview }) {
  const rows = conversations.map(({ caller, conversation, model, requests, failed, paid, net }) => ({
    key: conversation,
    cells: [
      <span title={conversation}>{conversation.slice(0, 8)}</span>,
      <Word text={caller} />,
      <Word text={model ?? 'n/a'} />,
      count(requests),
      failures(failed),
      amountWords(paid, requests),
      amountWords(net, requests),
    ],
  }));
  const columns = [{ title: 'digest' }, { title: 'caller' }, { title: 'model' }, ...USE];
  return (
    <Table
      isWide
      title="Conversations that cost most, by their digest in the log"
      columns={columns}
      rows={rows}
    />
  );
}

function Misses({ overview: { total } }: { overview: ShownOverview }) {
  if (total.missed.length === 0) return null;
  const rows = total.missed.slice(0, SHOWN).map(({ cause, requests, tokens, amount }) => ({
    key: cause,
    cells: [labelOf(CAUSE_LABELS, cause), count(requests), short(tokens), amountWords(amount, requests)],
  }));
  const columns = [{ title: 'cause' }, number('requests'), number('tokens'), number('cost')];
  return <Table title="Why the cache was missed" columns={columns} rows={rows} />;
}

function failures(failed: number) {
  return failed > 0 ? <span class="fails">{count(failed)}</span> : '0';
}
