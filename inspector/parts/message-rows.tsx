/** The rows of a transcript: folded messages, an edited one, a run that has left the view. */
import type { ComponentChildren } from 'preact';
import type { Client } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { FATE_LABELS, labelOf, REMOVED_LABELS, reasonOf } from '../read/codes.ts';
import type { Row, RowEdit } from '../read/fates.ts';
import { freedOf, type Group, lastOf, tokensOf } from '../read/groups.ts';
import { type MessageText, messageText } from '../read/message-text.ts';
import { LEFT_RULES, type Rule, removalRule } from '../read/rules.ts';
import { Folded } from './folded.tsx';
import { count } from './numbers.ts';
import { RuleLink } from './rule-link.tsx';
import { Of } from './states.tsx';
import { Passage, Word } from './text.tsx';

/** What all rows of a transcript share. */
export interface RowContext {
  readonly client: Client;
  /** The messages by index; undefined where the content is not at hand. */
  readonly contentOf: (index: number) => unknown;
  /** Whether the view is one that no model saw. */
  readonly isPotential: boolean;
  readonly onRef: (ref: string) => void;
}

/** Adjacent unchanged messages, each once, across both columns. */
export function KeptRow({ group, context }: { group: Group; context: RowContext }) {
  const { rows } = group;
  const many = rows.length;
  const [first] = rows;
  const text = many === 1 ? `Message ${first.index} unchanged` : `${count(many)} messages unchanged`;
  return (
    <Folded
      class="kept-run"
      summary={
        <>
          {text}
          {tokensText(tokensOf(group))}
          <span class="note gist">
            <Word text={gist(rows, context)} />
          </span>
        </>
      }
    >
      {() => (
        <>
          {rows.every(({ index }) => context.contentOf(index) === undefined) && (
            <p class="note">{many === 1 ? 'Its content is' : 'Their contents are'} not at hand.</p>
          )}
          {rows.map((row) => (
            <Whole key={row.index} id={`message-${row.index}`} row={row} context={context} />
          ))}
        </>
      )}
    </Folded>
  );
}

function tokensText(tokens: number | undefined): string {
  return tokens === undefined ? '' : `, ${count(tokens)} tokens`;
}

/** The beginning of the first message, to recognize the place. */
function gist(rows: readonly Row[], { contentOf }: RowContext): string {
  const [first] = rows;
  const content = first === undefined ? undefined : contentOf(first.index);
  if (first === undefined || content === undefined) return '';
  const { role, text, calls } = messageText(content);
  const said = text !== '' ? text.slice(0, MOST_GIST).replaceAll(/\s+/g, ' ') : calls[0]?.name;
  return said ? `${role}: ${said}${text.length > MOST_GIST ? '…' : ''}` : role;
}

/** In characters. */
const MOST_GIST = 60;

function Whole({ row, context, id }: { row: Row; context: RowContext; id?: string }) {
  const content = context.contentOf(row.index);
  return (
    <div class="kept-message" id={id}>
      <RowHead row={row} content={content} />
      {content !== undefined && <Said said={messageText(content)} />}
      {row.why && <Why {...row.why} />}
    </div>
  );
}

interface HeadProps {
  readonly row: Row;
  readonly content: unknown;
  readonly children?: ComponentChildren;
}

function RowHead({ row, content, children }: HeadProps) {
  const role = content === undefined ? row.role : messageText(content).role;
  return (
    <p class="row-head">
      <span class="index">{row.index}</span> <Word text={role ?? 'message'} />
      {row.before !== undefined && <span class="tokens">{count(row.before)} tokens</span>}
      {children}
    </p>
  );
}

export function Why({ says, rule }: Rule) {
  return (
    <p class="why note">
      {says} <RuleLink {...rule} />
    </p>
  );
}

/** A message of which something was removed: the original, and the very text that the model saw. */
export function EditedRow({ row, context }: { row: Row; context: RowContext }) {
  const { fate, edits, index } = row;
  const { isPotential, contentOf } = context;
  const content = contentOf(index);
  const [first] = edits;
  return (
    <>
      <div class="side original">
        <RowHead row={row} content={content}>
          {first && content === undefined && <Word text={first.tool} />}
        </RowHead>
        {content !== undefined ? (
          <Said said={messageText(content)} shown={FIRST_SHOWN / 2} />
        ) : (
          edits.map((edit, at) => <Removed key={at} edit={edit} context={context} />)
        )}
      </div>
      <div class="side seen">
        <p class="row-head">
          <span class={`fate ${fate}`}>{fateText(row, isPotential)}</span>
          {row.after !== undefined && <span class="tokens">{count(row.after)} tokens</span>}
        </p>
        {edits.map((edit, at) => (
          <Edit key={at} edit={edit} context={context} />
        ))}
        <Why {...removalRule(first?.reason ?? '')} />
      </div>
    </>
  );
}

function fateText({ fate }: Row, isPotential: boolean): string {
  return isPotential ? `would be: ${FATE_LABELS[fate]}` : FATE_LABELS[fate];
}

/** What was removed, from its ref, where the message is not at hand. */
function Removed({ edit, context }: { edit: RowEdit; context: RowContext }) {
  const { ref } = edit;
  if (ref === undefined) return null;
  return (
    <Folded summary={`The ${labelOf(REMOVED_LABELS, edit.kind)} that was removed`}>
      {() => <RefText client={context.client} reference={ref} />}
    </Folded>
  );
}

function RefText({ client, reference }: { client: Client; reference: string }) {
  const loaded = useLoad((signal) => client.ref(reference, 1, signal), [client, reference]);
  return <Of loaded={loaded}>{({ text }) => <Passage text={text} shown={FIRST_SHOWN} />}</Of>;
}

/** The very text in the view, with its reason and what it saves. */
function Edit({ edit, context }: { edit: RowEdit; context: RowContext }) {
  const { kind, tool, tokens, freed, ref, text } = edit;
  const { isPotential, onRef } = context;
  return (
    <div class="edit">
      <p class="chips">
        <span class="chip">{reasonOf(edit)}</span>
        <span class="chip saves">
          {isPotential ? 'would save' : 'saves'} {count(freed)} of {count(tokens)} tokens
        </span>
      </p>
      {text !== undefined && <Passage text={text} shown={FIRST_SHOWN} />}
      {text === undefined && kind !== 'reasoning' && (
        <p class="note">
          The {labelOf(REMOVED_LABELS, kind)} of <Word text={tool} />.
        </p>
      )}
      {ref !== undefined ? (
        <RefButton reference={ref} onRef={onRef} words="Read what was removed " />
      ) : (
        !isPotential && <p class="note">Nothing is stored of it.</p>
      )}
    </div>
  );
}

interface RefButtonProps {
  readonly reference: string;
  readonly onRef: (ref: string) => void;
  readonly words?: string;
}

export function RefButton({ reference, onRef, words = '' }: RefButtonProps) {
  return (
    <button type="button" class="ref" onClick={() => onRef(reference)}>
      {words}
      {reference}
    </button>
  );
}

interface LeftProps {
  readonly group: Group;
  readonly context: RowContext;
  /** Instead of the messages, such as the summary's text. */
  readonly children?: ComponentChildren;
}

/** A run of messages that are not in the view. */
export function LeftRow({ group, context, children }: LeftProps) {
  const { rows } = group;
  const kind = group.kind === 'summarized' ? 'summarized' : 'trimmed';
  const [first] = rows;
  const last = lastOf(group);
  const many = rows.length;
  const name = many === 1 ? `Message ${first.index}` : `Messages ${first.index} to ${last.index}`;
  const freed = freedOf(group);
  const isReadable = rows.some(({ index }) => context.contentOf(index) !== undefined);
  return (
    <>
      <div class="side original">
        <p class="row-head">
          <b>{name}</b> {freed !== undefined && <span class="tokens">{count(freed)} tokens</span>}
        </p>
        {isReadable && (
          <Folded summary={many === 1 ? 'The original message' : `The ${count(many)} original messages`}>
            {() => rows.map((row) => <Whole key={row.index} row={row} context={context} />)}
          </Folded>
        )}
        {first.ref !== undefined && (
          <RefButton reference={first.ref} onRef={context.onRef} words="Transcript " />
        )}
      </div>
      <div class="side seen">
        <p class="row-head">
          <span class={`fate ${kind}`}>{fateText(first, context.isPotential)}</span>
        </p>
        {children ?? (kind === 'trimmed' && <p class="note">Nothing replaces them.</p>)}
        <Why {...LEFT_RULES[kind]} />
      </div>
    </>
  );
}

/** In characters, of a message in a row. */
const FIRST_SHOWN = 600;

function Said({ said, shown = FIRST_SHOWN }: { said: MessageText; shown?: number }) {
  return (
    <>
      {said.text !== '' && <Passage text={said.text} shown={shown} />}
      {said.images.length > 0 && (
        <p class="thumbs">
          {said.images.map((image, at) => (
            <img
              key={at}
              src={image}
              alt={`${at + 1} of ${said.images.length} in this message`}
              loading="lazy"
            />
          ))}
        </p>
      )}
      {said.calls.map(({ id, name, arguments: given }, at) => (
        <div key={at} class="call">
          <p class="note">
            calls <Word text={name} /> <Word text={id} />
          </p>
          <Passage text={given} shown={shown} />
        </div>
      ))}
      {said.text === '' && said.calls.length === 0 && <p class="note">(no text)</p>}
    </>
  );
}
