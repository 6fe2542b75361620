/** A request: what was removed, what the model saw, what it saved, and why. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Explanation, RunEvent, Version } from '../api/answers.ts';
import { archivedMessages } from '../api/archived.ts';
import type { Client, Named } from '../api/client.ts';
import { missing } from '../api/connection.ts';
import { useLoad } from '../api/use-load.ts';
import { Folded } from '../parts/folded.tsx';
import { count } from '../parts/numbers.ts';
import { RequestHead } from '../parts/request-head.tsx';
import { RuleLink } from '../parts/rule-link.tsx';
import { Empty, Failed, Of } from '../parts/states.tsx';
import { SummaryInPlace } from '../parts/summary-in-place.tsx';
import { Term } from '../parts/term.tsx';
import { Word } from '../parts/text.tsx';
import { type Inserted, Transcript } from '../parts/transcript.tsx';
import { VersionDialog } from '../parts/version-dialog.tsx';
import { fragmentOf } from '../place.ts';
import { type Beside, type Row, rowsOfEvent } from '../read/fates.ts';
import { readRecorded } from '../read/recorded.ts';
import { type RequestArray, wholeArray } from '../read/whole-array.ts';
import { TERMS } from '../read/words.ts';

interface Props {
  readonly client: Client;
  readonly named: Named;
  readonly n: number;
  readonly onRef: (ref: string) => void;
}

export function RequestScreen({ client, named, n, onRef }: Props) {
  const { id, user } = named;
  const loaded = useLoad((signal) => client.request(named, n, signal), [client, id, user, n]);
  const newest = useLoad(
    async (signal) => (await client.requests(named, null, 1, signal)).data[0]?.n,
    [client, id, user, n],
  );
  return (
    <main class="request">
      <nav class="crumbs" aria-label="Where this is">
        <a href={fragmentOf({ screen: 'conversations' })}>Conversations</a>
        <a href={fragmentOf({ ...named, screen: 'conversation' })}>
          <Word text={id} />
        </a>
      </nav>
      <h1>Request {n}</h1>
      <nav class="actions" aria-label="Other requests">
        {n > 1 && loaded.state !== 'failed' && (
          <a href={fragmentOf({ ...named, screen: 'request', n: n - 1 })}>← Request {n - 1}</a>
        )}
        {newest.value !== undefined && n < newest.value && (
          <a href={fragmentOf({ ...named, screen: 'request', n: n + 1 })}>Request {n + 1} →</a>
        )}
        {loaded.value && (
          <a href={fragmentOf({ ...named, screen: 'try-request', n })}>Try this conversation</a>
        )}
      </nav>
      {loaded.state === 'failed' && loaded.failure.status === 404 ? (
        <NotFound code={loaded.failure.code} />
      ) : (
        <Of loaded={loaded} what="The request">
          {(event) => <Shown key={event.n} client={client} named={named} event={event} onRef={onRef} />}
        </Of>
      )}
    </main>
  );
}

function NotFound({ code }: { code: string }) {
  return (
    <div class="state failed" role="alert">
      <p>This request is not here.</p>
      <p>
        It may belong to another key or another user, its conversation may be deleted or older than the
        retention, or it is not among the newest 2,000 requests. A request is here some seconds after its
        answer.
      </p>
      <p class="note">{code}</p>
    </div>
  );
}

interface ShownProps extends Omit<Props, 'n'> {
  readonly event: RunEvent;
}

function Shown({ client, named, event, onRef }: ShownProps) {
  const { id, user } = named;
  const { messages, summary, observed, status } = event;
  const [pasted, setPasted] = useState<RequestArray>();
  const [isSummaryOpen, setSummaryOpen] = useState(false);
  const archive = useLoad<readonly unknown[]>(
    (signal, show) => archivedMessages(client, named, messages, signal, show),
    [client, id, user, messages],
  );
  const memory = useLoad(
    async (signal) => (summary ? versionsOf(client, named, signal) : undefined),
    [client, id, user, summary],
  );
  const whole = useMemo(
    () => pasted ?? (archive.state === 'ready' ? wholeArray(archive.value, event) : undefined),
    [pasted, archive, event],
  );
  const beside = useLoad(
    (signal) => besideOf(client, named, event, whole, signal),
    [client, id, user, event, whole],
  );
  const rows = useMemo(() => rowsOfEvent(event, beside.value), [event, beside.value]);
  const contents = pasted?.messages ?? archive.value ?? [];
  const inserted = useMemo(() => insertedOf(event), [event]);
  const isDone = archive.state !== 'loading' && beside.state !== 'loading';
  const isBare = archive.state !== 'loading' && contents.every((content) => content === undefined);
  return (
    <>
      {observed && (
        <p class="observed-note">
          <b>{TERMS.observed.label}</b> {TERMS.observed.says}
        </p>
      )}
      <RequestHead event={event} />
      {isBare && <NoArchive onArray={setPasted} event={event} />}
      {!isBare && isDone && lacksLines(rows) && <p class="note">{NO_LINES}</p>}
      {archive.state === 'failed' && <Failed failure={archive.failure} onAgain={archive.again} />}
      {beside.state === 'failed' && <Failed failure={beside.failure} onAgain={beside.again} />}
      {memory.state === 'failed' && <Failed failure={memory.failure} onAgain={memory.again} />}
      {messages === 0 && <Empty>The request had no messages.</Empty>}
      <Transcript
        client={client}
        rows={rows}
        contentOf={(index) => contents[index]}
        inserted={inserted}
        isPotential={observed}
        {...(status >= 400 && !observed ? { seen: 'What was sent' } : {})}
        onRef={onRef}
        summary={
          summary && (
            <SummaryInPlace
              summary={summary}
              versions={memory.state === 'loading' ? undefined : (memory.value ?? [])}
              isPotential={observed}
              onVersions={() => setSummaryOpen(true)}
            />
          )
        }
      />
      {isSummaryOpen && (
        <VersionDialog
          versions={memory.value ?? []}
          first={summary?.memory_id ?? null}
          onRef={onRef}
          onClose={() => setSummaryOpen(false)}
        />
      )}
    </>
  );
}

/** None for a conversation that its caller has not named: it has no route for its memory. */
async function versionsOf(client: Client, named: Named, signal: AbortSignal): Promise<readonly Version[]> {
  return (await client.memory(named, signal).catch(missing({ memories: [] }))).memories;
}

/**
 * What the array says about the event: the text that replaces each edited content, roles and
 * tokens.
 */
async function besideOf(
  client: Client,
  named: Named,
  event: RunEvent,
  array: RequestArray | undefined,
  signal: AbortSignal,
): Promise<Beside> {
  if (!array) return {};
  const { n, edits, model } = event;
  const { field, messages, system } = array;
  const body = { [field]: messages, ...(system && { system }) };
  const [shown, counted] = await Promise.all([
    edits.length === 0 ? undefined : client.shownEdits(named, n, body, signal),
    client.explain({ ...body, ...(model === null ? {} : { model }), memory_strategy: 'none' }, signal),
  ]);
  return {
    texts: shown?.data.map(({ text }) => text),
    counted: isOf(event, counted) ? counted.messages : undefined,
  };
}

/** Whether an explanation is of as many messages as a request had. */
function isOf({ messages: many }: RunEvent, { messages }: Explanation): boolean {
  return messages.length === many;
}

function insertedOf(event: RunEvent): Inserted[] {
  const { summary, injection_tokens: injected, kept_rounds: kept, left_out: left, observed } = event;
  const blocks: Inserted[] = kept.map(({ message, rounds, tokens }) => ({
    before: message,
    title: TERMS.kept_rounds.label,
    children: (
      <p>
        What the model has fetched for this answer, in {count(rounds)} {rounds === 1 ? 'round' : 'rounds'}:{' '}
        {count(tokens)} tokens.
      </p>
    ),
  }));
  if (injected !== null && injected > 0 && !observed)
    blocks.push({
      before: summary?.covers[0] ?? 1,
      title: TERMS.injected.label,
      children: <p>{count(injected)} tokens of the user’s other conversations, or memory blocks.</p>,
    });
  // A summary whose messages are not known to have left is shown by itself.
  if (summary && !left.some(({ fate }) => fate === 'summarized'))
    blocks.push({
      before: summary.covers[0],
      title: TERMS.summary.label,
      children: (
        <p>
          It {observed ? 'would replace' : 'replaces'} the messages {summary.covers[0]} to {summary.covers[1]}
          .
        </p>
      ),
    });
  return blocks;
}

const NO_LINES = 'The lines that replace removed contents are not available: not all messages are kept.';

/** Whether the text that replaces an edit's content is not known. */
function lacksLines(rows: readonly Row[]): boolean {
  return rows.some(({ edits }) => edits.some(({ kind, text }) => text === undefined && kind !== 'reasoning'));
}

/** What can be seen without an archive, how to have one, and a field for the array. */
function NoArchive({ onArray, event }: { onArray: (array: RequestArray) => void; event: RunEvent }) {
  const { messages: expected, status, edits } = event;
  const [text, setText] = useState('');
  const reading = useMemo(() => readRecorded(text), [text]);
  useEffect(() => {
    const [first] = reading.ok ? reading.found : [];
    if (first) onArray(first);
  }, [reading, onArray]);
  return (
    <section class="no-archive" aria-label="No archive">
      <p>
        The messages of this request are not kept
        {edits.length > 0 && ', so only what was removed can be read here, and not the line that replaced it'}
        .{' '}
        {status >= 400 ? (
          <>
            An <Term of="archive" /> has the messages of requests that were answered.{' '}
          </>
        ) : (
          <>
            With <code>"archive": true</code> in its strategy a conversation keeps an <Term of="archive" />{' '}
            from then on.{' '}
          </>
        )}
        <RuleLink page="conversations" section="The archive" text="How to turn it on" />
      </p>
      <Folded summary="Paste its messages instead">
        {() => (
          <>
            <p class="note">
              The array of {count(expected)} messages goes to this Worker alone, which makes the lines of the
              view again and stores nothing.
            </p>
            <label class="field">
              The array as JSON
              <textarea
                rows={3}
                spellcheck={false}
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            </label>
            {text !== '' && !reading.ok && <p class="note">{reading.message}</p>}
          </>
        )}
      </Folded>
    </section>
  );
}
