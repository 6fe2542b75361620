/** The start: what the caller's requests have sent and saved, and all its conversations. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Conversation } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { pagesOf } from '../api/pages.ts';
import { useLive, useLoad } from '../api/use-load.ts';
import { ConversationActions } from '../parts/conversation-actions.tsx';
import { ConversationTable, keyOf, namedOf } from '../parts/conversation-table.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Folded } from '../parts/folded.tsx';
import { count } from '../parts/numbers.ts';
import { Code } from '../parts/scrolled.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { NARROW, useMedia } from '../parts/use-media.ts';
import { useSettled } from '../parts/use-settled.ts';
import {
  COLUMNS,
  COST_CHOICES,
  columnsIn,
  fragmentOfView,
  isFiltered,
  type ListView,
  parametersOf,
  STATUS_CHOICES,
  USED_CHOICES,
  USUAL,
  viewIn,
} from '../read/list-view.ts';
import { Totals } from './totals.tsx';

/** After a person has stopped typing, in milliseconds. */
const TYPING_MS = 250;

/** Rows of a page. */
const ROWS = 50;

/** The most that are asked for one page: few may match. Each looks at thousands of conversations. */
const MOST_ASKED = 5;

interface Read {
  readonly found: readonly Conversation[];
  readonly hasMore: boolean;
}

export function Conversations({ client }: { client: Client }) {
  const [view, setView] = useView();
  const [pages, setPages] = useState(1);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { columns: _, ...asked } = view;
  const query = useSettled(JSON.stringify(asked), TYPING_MS);
  const loaded = useLoad<Read>(
    (signal) => readPages(client, { ...USUAL, ...(JSON.parse(query) as Partial<ListView>) }, pages, signal),
    [client, query, pages],
  );
  useLive(loaded);
  const change = (changes: Partial<ListView>): void => {
    setView(changes);
    setPages(1);
    if (changes.columns === undefined) setChosen(new Set());
  };
  const { found, hasMore } = loaded.value ?? { found: [], hasMore: false };
  const selected = found.filter((one) => chosen.has(keyOf(one)));
  return (
    <main class="wide">
      <h1>Conversations</h1>
      <Totals client={client} isListed={loaded.value !== undefined || loaded.state === 'failed'} />
      {(found.length > 0 || isFiltered(view) || !loaded.value) && (
        <Filters view={view} found={found} onView={change} />
      )}
      {loaded.state === 'failed' && (
        <Failed what="The conversations" failure={loaded.failure} onAgain={loaded.again} />
      )}
      {loaded.state === 'loading' && !loaded.value && <Loading lines={10} class="table-lines" />}
      {found.length > 0 && (
        <ConversationTable
          client={client}
          found={found}
          view={view}
          chosen={chosen}
          onChosen={setChosen}
          onView={change}
        />
      )}
      {loaded.value && found.length === 0 && (
        <Nothing
          isFiltered={isFiltered(view)}
          hasMore={hasMore}
          onReset={() => change({ ...USUAL, columns: view.columns })}
        />
      )}
      {hasMore && (
        <button
          type="button"
          class="quiet"
          disabled={loaded.state === 'loading'}
          onClick={() => setPages(pages + 1)}
        >
          {isFiltered(view) ? 'Look further' : 'Load more conversations'}
        </button>
      )}
      {selected.length > 0 && (
        <section class="selection" aria-label="Chosen conversations">
          <span>{count(selected.length)} chosen</span>
          <ConversationActions
            client={client}
            chosen={selected.flatMap((one) => namedOf(one) ?? [])}
            onDeleted={() => {
              setChosen(new Set());
              loaded.again();
            }}
          />
          <button type="button" class="quiet" onClick={() => setChosen(new Set())}>
            Clear
          </button>
        </section>
      )}
    </main>
  );
}

async function readPages(client: Client, view: ListView, pages: number, signal: AbortSignal): Promise<Read> {
  const parameters = { ...parametersOf(view, Date.now() / 1_000), limit: String(ROWS) };
  const found: Conversation[] = [];
  let asked = 0;
  for await (const page of pagesOf((cursor) => client.conversations(parameters, cursor, signal))) {
    found.push(...page.data);
    const isEnough = ++asked === pages * MOST_ASKED || found.length >= pages * ROWS;
    if (isEnough) return { found, hasMore: page.has_more };
  }
  return { found, hasMore: false };
}

interface FiltersProps {
  readonly view: ListView;
  readonly found: readonly Conversation[];
  readonly onView: (changes: Partial<ListView>) => void;
}

function Filters({ view, found, onView }: FiltersProps) {
  const typed = (
    name: 'q' | 'user' | 'model' | 'agent',
    type: 'search' | 'text',
    label: string,
    placeholder = label,
  ) => (
    <input
      type={type}
      class={`filter-${name}`}
      aria-label={label}
      placeholder={placeholder}
      maxLength={256}
      list={name === 'q' ? undefined : `known-${name}`}
      value={view[name]}
      onInput={({ currentTarget }) => onView({ [name]: currentTarget.value })}
    />
  );
  const chosen = (
    name: 'status' | 'used' | 'cost',
    label: string,
    choices: readonly (readonly [value: string, label: string])[],
  ) => (
    <select
      aria-label={label}
      class={view[name] === '' ? undefined : 'set'}
      value={view[name]}
      onChange={({ currentTarget }) => onView({ [name]: currentTarget.value })}
    >
      {choices.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  const others = (
    <>
      {typed('user', 'text', 'User')}
      {typed('model', 'text', 'Model')}
      {typed('agent', 'text', 'Agent')}
      {chosen('status', 'Status', STATUS_CHOICES)}
      {chosen('used', 'Last used', USED_CHOICES)}
      {chosen('cost', 'Cost', COST_CHOICES)}
    </>
  );
  const isNarrow = useMedia(NARROW);
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {typed('q', 'search', 'Search by conversation, user or model', 'Search')}
      {isNarrow ? (
        <Folded summary="Filters" class="fold" isOpen={isFiltered({ ...view, q: '' })}>
          {() => <div class="filters">{others}</div>}
        </Folded>
      ) : (
        <>
          {others}
          <Columns view={view} onView={onView} />
        </>
      )}
      {isFiltered(view) && (
        <button type="button" class="quiet" onClick={() => onView({ ...USUAL, columns: view.columns })}>
          Clear filters
        </button>
      )}
      {(['user', 'model', 'agent'] as const).map((name) => (
        <datalist key={name} id={`known-${name}`}>
          {[...new Set(found.flatMap((one) => one[name] ?? []))].map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      ))}
    </form>
  );
}

function Columns({ view, onView }: Omit<FiltersProps, 'found'>) {
  const shown = columnsIn(view.columns);
  return (
    <>
      <button type="button" popovertarget="columns" class="menu-button">
        Columns
      </button>
      <fieldset id="columns" popover="auto" class="menu">
        <legend>Columns</legend>
        {COLUMNS.map(({ name, label }) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                onView({
                  columns: columnsIn(
                    [...shown.filter((one) => one !== name), ...(checked ? [name] : [])].join(),
                  ).join(),
                })
              }
            />
            {label}
          </label>
        ))}
      </fieldset>
    </>
  );
}

interface NothingProps {
  readonly isFiltered: boolean;
  readonly hasMore: boolean;
  readonly onReset: () => void;
}

function Nothing({ isFiltered: isLess, hasMore, onReset }: NothingProps) {
  if (isLess)
    return (
      <Empty>
        <p>{hasMore ? 'No conversation matches so far.' : 'No conversation matches.'}</p>
        <button type="button" onClick={onReset}>
          Clear filters
        </button>
      </Empty>
    );
  const text = firstRequest(location.origin + location.pathname.replace(/\/inspect\/?$/, ''));
  return (
    <Empty>
      <h2>This key has no conversations yet</h2>
      <p>
        One appears here after its first request with a <code>memory_strategy</code>, such as this one. Data
        of other keys is never shown.
      </p>
      <Code text={text} />
      <div class="actions">
        <CopyButton text={text} isPrimary />
      </div>
    </Empty>
  );
}

function firstRequest(origin: string): string {
  return `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "gpt-6-luna", "conversation_id": "first",
    "memory_strategy": {"mode": "auto"},
    "messages": [{"role": "user", "content": "Say hello."}]}'`;
}

/** The view that the address has. Changes it in place, so that going back leaves the list. */
function useView(): [ListView, (changes: Partial<ListView>) => void] {
  const [view, setView] = useState(() => viewIn(location.hash));
  useEffect(() => {
    const read = (): void => setView(viewIn(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  const change = useCallback((changes: Partial<ListView>) => {
    const next = { ...viewIn(location.hash), ...changes };
    history.replaceState(history.state, '', fragmentOfView(next));
    setView(next);
  }, []);
  return [view, change];
}
