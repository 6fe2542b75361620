/** The caller's array beside what the model saw of it, message by message. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FATES, type Fate } from '../../src/memory/edits/fates.ts';
import { editReason, FATE_WORDS, type Row, type RowEdit, tally } from '../read/fates.ts';
import { messageText } from '../read/message-text.ts';
import { count } from './numbers.ts';
import { Passage, Word } from './text.tsx';

/** Something in the view that is no message of the caller's. */
export interface Inserted {
  /** It stands before the message with this index, or before the next one that is shown. */
  readonly before: number;
  readonly title: string;
  readonly children: ComponentChildren;
}

interface Props {
  readonly rows: readonly Row[];
  /** The messages by index; undefined where the content is not at hand. */
  readonly contentOf: (index: number) => unknown;
  readonly inserted: readonly Inserted[];
  /** Whether the view is one that no model saw. */
  readonly isPotential: boolean;
  readonly onRef: (ref: string) => void;
}

/** So many rows are added when the end comes into sight. */
const STEP = 60;

export function Transcript({ rows, contentOf, inserted, isPotential, onRef }: Props) {
  const [hidden, setHidden] = useState<ReadonlySet<Fate>>(new Set());
  const [most, setMost] = useState(STEP);
  const counts = useMemo(() => tally(rows), [rows]);
  const wanted = useMemo(() => rows.filter(({ fate }) => !hidden.has(fate)), [rows, hidden]);
  const toggle = (fate: Fate): void => {
    const next = new Set(hidden);
    if (!next.delete(fate)) next.add(fate);
    setHidden(next);
  };
  return (
    <div class={`transcript ${isPotential ? 'potential' : ''}`}>
      <fieldset class="fates">
        <legend class="sr-only">Which messages are shown</legend>
        {FATES.filter((fate) => counts.has(fate)).map((fate) => (
          <label key={fate} class={`fate ${fate}`}>
            <input type="checkbox" checked={!hidden.has(fate)} onChange={() => toggle(fate)} />
            {FATE_WORDS[fate][isPotential ? 'wouldBe' : 'badge']} <b>{count(counts.get(fate))}</b>
          </label>
        ))}
      </fieldset>
      <div class="columns-head" aria-hidden="true">
        <span>As it came</span>
        <span>{isPotential ? 'What the model would have seen' : 'What the model saw'}</span>
      </div>
      <ol class="rows">
        {wanted.slice(0, most).map((row, at) => (
          <MessageRow
            key={row.index}
            row={row}
            content={contentOf(row.index)}
            isPotential={isPotential}
            onRef={onRef}
            inserted={inserted.filter(
              ({ before }) => before <= row.index && before > (wanted[at - 1]?.index ?? -1),
            )}
          />
        ))}
      </ol>
      {most < wanted.length && <End onReached={() => setMost(most + STEP)} left={wanted.length - most} />}
    </div>
  );
}

/** Asks for more rows when it comes near. */
function End({ onReached, left }: { onReached: () => void; left: number }) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const button = element.current;
    if (!button) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) onReached();
      },
      { rootMargin: '600px' },
    );
    observer.observe(button);
    return () => observer.disconnect();
  });
  return (
    <button ref={element} type="button" class="quiet" onClick={onReached}>
      {count(left)} more messages
    </button>
  );
}

interface RowProps {
  readonly row: Row;
  readonly content: unknown;
  readonly inserted: readonly Inserted[];
  readonly isPotential: boolean;
  readonly onRef: (ref: string) => void;
}

function MessageRow({ row, content, inserted, isPotential, onRef }: RowProps) {
  const { index, fate, before, after, why } = row;
  const said = content === undefined ? undefined : messageText(content);
  return (
    <>
      {inserted.map(({ title, children }) => (
        <li key={title} class="row inserted">
          <div class="side original" />
          <div class="side seen">
            <p class="row-head">
              <span class="fate injected">{title}</span>
            </p>
            {children}
          </div>
        </li>
      ))}
      <li class={`row ${fate}`} id={`message-${index}`}>
        <div class="side original">
          <p class="row-head">
            <span class="index">{index}</span> <Word text={said?.role ?? row.role ?? 'message'} />
            {before !== undefined && <span class="tokens">{count(before)} tokens</span>}
          </p>
          {said ? <Said said={said} /> : <p class="note">Its content is not at hand.</p>}
        </div>
        <div class="side seen">
          <p class="row-head">
            <span class={`fate ${fate}`}>{FATE_WORDS[fate][isPotential ? 'wouldBe' : 'badge']}</span>
            {after !== undefined && fate !== 'kept' && <span class="tokens">{count(after)} tokens</span>}
            <span class="why">{why}</span>
          </p>
          {fate === 'kept' && said && <Said said={said} />}
          {row.ref !== undefined && <RefButton reference={row.ref} onRef={onRef} words="Transcript " />}
          {row.edits.map((edit, at) => (
            <Edit key={at} edit={edit} isPotential={isPotential} onRef={onRef} />
          ))}
        </div>
      </li>
    </>
  );
}

/** In characters, of a message in a row. */
const FIRST_SHOWN = 600;

/** What a message says, and the calls that it makes. */
export function Said({ said }: { said: ReturnType<typeof messageText> }) {
  return (
    <>
      {said.text !== '' && <Passage text={said.text} shown={FIRST_SHOWN} />}
      {said.calls.map(({ id, name, arguments: given }, at) => (
        <div key={at} class="call">
          <p class="note">
            calls <Word text={name} /> <Word text={id} />
          </p>
          <Passage text={given} shown={FIRST_SHOWN} />
        </div>
      ))}
      {said.text === '' && said.calls.length === 0 && <p class="note">(no text)</p>}
    </>
  );
}

interface EditProps {
  readonly edit: RowEdit;
  readonly isPotential: boolean;
  readonly onRef: (ref: string) => void;
}

/** The very text in the view, with the facts about it. */
function Edit({ edit, isPotential, onRef }: EditProps) {
  const { kind, tool, reason, tokens, freed, ref, text } = edit;
  const isStored = ref !== undefined;
  return (
    <div class="edit">
      {text !== undefined && <Passage text={text} shown={FIRST_SHOWN} />}
      <p class="note">
        {KINDS[kind] ?? kind} of <Word text={tool} />, {editReason(reason)}: {count(tokens)} tokens,{' '}
        {isPotential ? 'would save' : 'saves'} {count(freed)}
        {!isStored && !isPotential && '; nothing is stored of it'}
        {text === undefined && kind !== 'reasoning' && '; its line is not at hand'}
      </p>
      {isStored && <RefButton reference={ref} onRef={onRef} />}
    </div>
  );
}

interface RefButtonProps {
  readonly reference: string;
  readonly onRef: (ref: string) => void;
  readonly words?: string;
}

function RefButton({ reference, onRef, words = '' }: RefButtonProps) {
  return (
    <button type="button" class="ref" onClick={() => onRef(reference)}>
      {words}
      {reference}
    </button>
  );
}

const KINDS: Readonly<Record<string, string>> = { output: 'output', input: 'input', part: 'image or file' };
