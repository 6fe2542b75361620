/**
 * The caller's array beside what the model saw of it: changes are marked, and unchanged messages
 * are folded. `n` and `p` go to the next and the previous change.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FATES } from '../../src/memory/edits/fates.ts';
import { FATE_LABELS, reasonOf } from '../read/codes.ts';
import { type Row, tally } from '../read/fates.ts';
import { changesBySize, freedOf, type Group, groupsOf, isChange, lastOf } from '../read/groups.ts';
import { Folded } from './folded.tsx';
import { EditedRow, KeptRow, LeftRow, type RowContext } from './message-rows.tsx';
import { count } from './numbers.ts';
import { Word } from './text.tsx';

/** Something in the view that is no message of the caller's. */
export interface Inserted {
  /** It comes before the message with this index. */
  readonly before: number;
  readonly title: string;
  readonly children: ComponentChildren;
}

interface Props extends RowContext {
  readonly rows: readonly Row[];
  readonly inserted: readonly Inserted[];
  /** What replaces the messages that a summary covers. */
  readonly summary?: ComponentChildren;
  /** Above the messages as they were sent. */
  readonly seen?: string;
}

/** This many groups are added when the end comes into sight. */
const STEP = 40;
/** This many changes are listed before somebody asks for all. */
const FIRST_CHANGES = 5;

export function Transcript({ rows, inserted, summary, seen, ...context }: Props) {
  const { isPotential } = context;
  const shown = seen ?? (isPotential ? 'What the model would see' : 'What the model saw');
  const [most, setMost] = useState(STEP);
  const stops = useMemo(() => new Set(inserted.map(({ before }) => before)), [inserted]);
  const groups = useMemo(() => groupsOf(rows, stops), [rows, stops]);
  const changes = useMemo(() => groups.flatMap((group, at) => (isChange(group) ? [at] : [])), [groups]);
  const list = useRef<HTMLOListElement>(null);
  const [current, go] = useChanges(changes, list, (at) => setMost(Math.max(most, at + STEP)));
  const first = groups.findIndex(({ kind }) => kind === 'summarized');
  return (
    <div class={`transcript ${isPotential ? 'potential' : ''}`}>
      <Changes groups={groups} isPotential={isPotential} onChoose={go} />
      <h2 class="messages-head">All messages</h2>
      <Tally rows={rows} />
      {changes.length > 0 && (
        <div class="columns-head">
          <span class="name">As you sent it</span>
          <span class="head-seen">
            <span class="name">{shown}</span>
            <Steps changes={changes} current={current} onGo={go} />
          </span>
        </div>
      )}
      <ol class="rows" ref={list}>
        {groups.slice(0, most).map((group, at) => (
          <GroupRow
            key={`${group.kind} ${group.rows[0].index}`}
            group={group}
            at={at}
            inserted={inserted.filter(({ before }) => isIn(before, groups[at - 1], group))}
            context={context}
          >
            {at === first ? summary : group.kind === 'summarized' && <SameSummary />}
          </GroupRow>
        ))}
      </ol>
      {most < groups.length && (
        <button type="button" class="quiet" onClick={() => setMost(most + STEP)}>
          {count(groups.length - most)} more
        </button>
      )}
    </div>
  );
}

function isIn(before: number, earlier: Group | undefined, group: Group): boolean {
  return before <= lastOf(group).index && before > (earlier ? lastOf(earlier).index : -1);
}

function SameSummary() {
  return <p class="note">The same summary replaces them.</p>;
}

/** The current change by its place among the groups, and a way to another one. */
function useChanges(
  changes: readonly number[],
  list: { readonly current: HTMLElement | null },
  onNear: (at: number) => void,
): [number | undefined, (at: number) => void] {
  const [current, setCurrent] = useState<{ at: number }>();
  const go = (at: number): void => {
    onNear(at);
    setCurrent({ at });
  };
  useEffect(() => {
    if (!current) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-at="${current.at}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: 'start' });
  }, [current]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if ((key !== 'n' && key !== 'p') || ctrlKey || metaKey || altKey) return;
      if (target instanceof Element && target.closest('input, textarea, select, dialog')) return;
      const next = neighbour(changes, current?.at, key === 'n' ? 1 : -1);
      if (next !== undefined) go(next);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  return [current?.at, go];
}

/** The change after or before a place; the first or the last one if there is no place yet. */
function neighbour(changes: readonly number[], at: number | undefined, by: 1 | -1): number | undefined {
  if (at === undefined) return by === 1 ? changes[0] : changes.at(-1);
  return by === 1 ? changes.find((one) => one > at) : changes.findLast((one) => one < at);
}

interface StepsProps {
  readonly changes: readonly number[];
  readonly current: number | undefined;
  readonly onGo: (at: number) => void;
}

function Steps({ changes, current, onGo }: StepsProps) {
  const place = current === undefined ? 0 : changes.indexOf(current) + 1;
  const steps = [
    ['Previous', 'p', place === 0 ? undefined : neighbour(changes, current, -1)],
    ['Next', 'n', neighbour(changes, current, 1)],
  ] as const;
  return (
    <span class="steps">
      <span aria-live="polite">
        {place === 0
          ? `${count(changes.length)} ${changes.length === 1 ? 'change' : 'changes'}`
          : `Change ${place} of ${count(changes.length)}`}
      </span>
      {steps.map(([name, key, to]) => (
        <button
          key={key}
          type="button"
          class="quiet"
          disabled={to === undefined}
          aria-keyshortcuts={key}
          onClick={() => to !== undefined && onGo(to)}
        >
          {name} <kbd>{key}</kbd>
        </button>
      ))}
    </span>
  );
}

interface ChangesProps {
  readonly groups: readonly Group[];
  readonly isPotential: boolean;
  readonly onChoose: (at: number) => void;
}

/** What was removed, the largest first. */
function Changes({ groups, isPotential, onChoose }: ChangesProps) {
  const all = useMemo(() => changesBySize(groups), [groups]);
  if (all.length === 0) return null;
  const items = (some: typeof all) => (
    <ul class="changes">
      {some.map(({ group, at }) => (
        <li key={at}>
          <Change group={group} isPotential={isPotential} onChoose={() => onChoose(at)} />
        </li>
      ))}
    </ul>
  );
  const rest = all.slice(FIRST_CHANGES);
  return (
    <section aria-label="What changed">
      <h2>What {isPotential ? 'would be' : 'was'} removed</h2>
      {items(all.slice(0, FIRST_CHANGES))}
      {rest.length > 0 && <Folded summary={`${count(rest.length)} smaller ones`}>{() => items(rest)}</Folded>}
    </section>
  );
}

interface ChangeProps {
  readonly group: Group;
  readonly isPotential: boolean;
  readonly onChoose: () => void;
}

function Change({ group, isPotential, onChoose }: ChangeProps) {
  const { kind, rows } = group;
  const [first] = rows;
  const freed = freedOf(group);
  const [edit] = first.edits;
  const last = lastOf(group).index;
  const place = rows.length === 1 ? `Message ${first.index}` : `Messages ${first.index} to ${last}`;
  return (
    <>
      <button type="button" class={`quiet change-link ${first.fate}`} onClick={onChoose}>
        {place}
        {edit && kind === 'edited' && (
          <>
            {', '}
            <Word text={edit.tool || 'reasoning'} />
          </>
        )}
      </button>
      <span class="note">{edit && kind === 'edited' ? reasonOf(edit) : FATE_LABELS[first.fate]}</span>
      <span class="tokens">
        {freed === undefined
          ? `${count(rows.length)} messages`
          : `${isPotential ? 'would save' : kind === 'edited' ? 'saves' : 'had'} ${count(freed)} tokens`}
      </span>
    </>
  );
}

function Tally({ rows }: { rows: readonly Row[] }) {
  const counts = useMemo(() => tally(rows), [rows]);
  return (
    <ul class="tally">
      {FATES.filter((fate) => counts.has(fate)).map((fate) => (
        <li key={fate} class={`fate ${fate}`}>
          {FATE_LABELS[fate]} <b>{count(counts.get(fate))}</b>
        </li>
      ))}
    </ul>
  );
}

interface GroupRowProps {
  readonly group: Group;
  readonly at: number;
  readonly inserted: readonly Inserted[];
  readonly context: RowContext;
  readonly children?: ComponentChildren;
}

function GroupRow({ group, at, inserted, context, children }: GroupRowProps) {
  const { kind, rows } = group;
  const [row] = rows;
  return (
    <>
      {inserted.map(({ title, children: text }) => (
        <li key={title} class="row inserted">
          <div class="side original" />
          <div class="side seen">
            <p class="row-head">
              <span class="fate injected">{title}</span>
            </p>
            {text}
          </div>
        </li>
      ))}
      {kind === 'kept' ? (
        <li class="run">
          <KeptRow group={group} context={context} />
        </li>
      ) : (
        <li class={`row change ${row.fate}`} data-at={at} tabIndex={-1} id={`message-${row.index}`}>
          {kind === 'edited' ? (
            <EditedRow row={row} context={context} />
          ) : (
            <LeftRow group={group} context={context}>
              {children}
            </LeftRow>
          )}
        </li>
      )}
    </>
  );
}
