/** The conversations as a table: a row for each, sorted on the server by a click on a column. */
import type { Conversation } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { fragmentOf } from '../place.ts';
import { labelOf, STATUS_LABELS } from '../read/codes.ts';
import {
  COLUMNS,
  type ColumnName,
  columnsIn,
  fragmentOfView,
  type ListView,
  USUAL,
} from '../read/list-view.ts';
import { billOf } from '../read/money.ts';
import { visible } from '../read/visible.ts';
import { cents, count, decimalsOf, exactDollars, short } from './numbers.ts';
import { Word } from './text.tsx';
import { Ago } from './time.tsx';
import { TokenTrend } from './token-trend.tsx';

interface Props {
  readonly client: Client;
  readonly found: readonly Conversation[];
  readonly view: ListView;
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
  readonly onView: (changes: Partial<ListView>) => void;
}

/** Different for each conversation. */
export function keyOf({ user, id, opening }: Conversation): string {
  return JSON.stringify([user, id ?? `#${opening}`]);
}

/** How routes name it; undefined if they can't: no URL has half of a surrogate pair. */
export function namedOf({ id, opening, user }: Conversation): Named | undefined {
  const address = id ?? opening;
  if (!address?.isWellFormed() || user?.isWellFormed() === false) return undefined;
  return { id: address, user: user ?? undefined };
}

function isChoosable(conversation: Conversation): boolean {
  return conversation.id !== null && namedOf(conversation) !== undefined;
}

export function ConversationTable({ client, found, view, chosen, onChosen, onView }: Props) {
  const columns = columnsIn(view.columns);
  const decimals = {
    cost: decimalsOf(found.map((one) => billOf(one)?.actual)),
    saved: decimalsOf(found.map((one) => billOf(one)?.net)),
  };
  const choosable = found.filter(isChoosable).map(keyOf);
  const areAll = choosable.length > 0 && choosable.every((key) => chosen.has(key));
  const choose = (keys: readonly string[], isChosen: boolean): void => {
    const next = new Set(chosen);
    for (const key of keys)
      if (isChosen) next.add(key);
      else next.delete(key);
    onChosen(next);
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="grid" aria-label="Conversations" tabIndex={0}>
      <table class="listing">
        <thead>
          <tr>
            <th class="pick">
              <input
                type="checkbox"
                aria-label="Choose all on this page"
                checked={areAll}
                onChange={({ currentTarget }) => choose(choosable, currentTarget.checked)}
              />
            </th>
            <Head label="Conversation" sort="created" view={view} onView={onView} class="name" />
            {COLUMNS.filter(({ name }) => columns.includes(name)).map(({ name, label, sort }) => (
              <Head
                key={name}
                label={label}
                sort={sort}
                view={view}
                onView={onView}
                class={name === 'saved' ? 'net' : name}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {found.map((one) => {
            const key = keyOf(one);
            return (
              <tr key={key} class={chosen.has(key) ? 'chosen' : undefined}>
                <td class="pick">
                  {isChoosable(one) && (
                    <input
                      type="checkbox"
                      aria-label={`Choose ${visible(one.id ?? '')}`}
                      checked={chosen.has(key)}
                      onChange={({ currentTarget }) => choose([key], currentTarget.checked)}
                    />
                  )}
                </td>
                <Name conversation={one} />
                {columns.map((name) => (
                  <Cell key={name} name={name} client={client} conversation={one} decimals={decimals} />
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

interface HeadProps {
  readonly label: string;
  readonly sort: string | undefined;
  readonly view: ListView;
  readonly onView: (changes: Partial<ListView>) => void;
  readonly class: string;
}

/** The first click sorts from the largest or newest on. */
function Head({ label, sort, view, onView, class: name }: HeadProps) {
  if (sort === undefined) return <th class={name}>{label}</th>;
  const isSorted = view.sort === sort;
  const isDescending = isSorted && view.order === 'desc';
  const next = isDescending ? 'asc' : 'desc';
  return (
    <th class={name} aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}>
      <button
        type="button"
        title={sort === 'created' ? 'Sort by when it was first seen' : undefined}
        onClick={() => onView({ sort, order: next })}
      >
        {label}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (isDescending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  );
}

function Name({ conversation }: { conversation: Conversation }) {
  const { id, opening, status, last_request_status: answered } = conversation;
  const named = namedOf(conversation);
  const name = id === null ? <em>not named {opening?.slice(0, 8)}</em> : <Word text={id} />;
  return (
    <th scope="row" class="name" title={id === null ? undefined : visible(id)}>
      <span class="marked">
        {named ? <a href={fragmentOf({ ...named, screen: 'conversation' })}>{name}</a> : name}
        {answered !== null && answered >= 400 && (
          <span class="tag failed" title="The newest request has failed">
            {answered}
          </span>
        )}
        {status !== 'healthy' && (
          <span class={`status ${status}`} title={labelOf(STATUS_LABELS, status)}>
            <span class="sr-only">{labelOf(STATUS_LABELS, status)}</span>
          </span>
        )}
      </span>
    </th>
  );
}

interface CellProps {
  readonly name: ColumnName;
  readonly client: Client;
  readonly conversation: Conversation;
  readonly decimals: { readonly cost: number; readonly saved: number };
}

function Cell({ name, client, conversation, decimals }: CellProps) {
  const { requests, versions, tokens, last_request_at: at, last_used_at: used } = conversation;
  const bill = billOf(conversation);
  switch (name) {
    case 'user':
    case 'model':
    case 'agent': {
      const value = conversation[name];
      return (
        <td class={name} title={value === null ? undefined : visible(value)}>
          {value !== null && (
            <a href={fragmentOfView({ ...USUAL, [name]: value })}>
              <Word text={value} />
            </a>
          )}
        </td>
      );
    }
    case 'requests':
      return <td class={name}>{count(requests)}</td>;
    case 'tokens': {
      const named = namedOf(conversation);
      return (
        <td class={name}>{named && <TokenTrend client={client} named={named} requests={requests} />}</td>
      );
    }
    case 'cost':
      return amount(name, bill?.actual, decimals.cost);
    case 'saved':
      return amount((bill?.net ?? 0) > 0 ? 'net is-gain' : 'net', bill?.net, decimals.saved);
    case 'summary':
      return (
        <td class={name} title={versions > 0 ? `${count(versions)} versions` : undefined}>
          {tokens === null ? '' : short(tokens)}
        </td>
      );
    case 'used':
      return (
        <td class={name}>
          <Ago at={at ?? used} />
        </td>
      );
  }
}

/** Not known: nothing, so that what is known stays easy to find. */
function amount(name: string, value: number | undefined, decimals: number) {
  return (
    <td class={name} title={exactDollars(value)}>
      {value === undefined ? <span class="note">n/a</span> : cents(value, decimals)}
    </td>
  );
}
