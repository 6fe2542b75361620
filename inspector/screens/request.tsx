/** A request: its array beside what the model saw, what it cost, and why. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ArchivedMessage, Page, RunEvent } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { Failure } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { Captured } from '../parts/captured-view.tsx';
import { count, dollars, duration, moment, share } from '../parts/numbers.ts';
import { Failed, Of } from '../parts/states.tsx';
import { Word } from '../parts/text.tsx';
import { type Inserted, Transcript } from '../parts/transcript.tsx';
import { VersionDialog } from '../parts/version-dialog.tsx';
import { Warnings } from '../parts/warnings.tsx';
import { fragmentOf } from '../place.ts';
import { rowsOfEvent } from '../read/fates.ts';
import { billOf, potentialBillOf } from '../read/money.ts';
import { type Recorded as Found, readRecorded } from '../read/recorded.ts';
import { sentTokens } from '../read/sent.ts';

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
        {n > 1 && <a href={fragmentOf({ ...named, screen: 'request', n: n - 1 })}>← Request {n - 1}</a>}
        {newest.value !== undefined && n < newest.value && (
          <a href={fragmentOf({ ...named, screen: 'request', n: n + 1 })}>Request {n + 1} →</a>
        )}
      </nav>
      <Of loaded={loaded}>
        {(event) => <Shown key={event.n} client={client} named={named} event={event} onRef={onRef} />}
      </Of>
    </main>
  );
}

interface ShownProps extends Omit<Props, 'n'> {
  readonly event: RunEvent;
}

function Shown({ client, named, event, onRef }: ShownProps) {
  const { id, user } = named;
  const { messages, summary } = event;
  const [pasted, setPasted] = useState<Recorded>();
  const [isSummaryOpen, setSummaryOpen] = useState(false);
  const archive = useLoad<readonly unknown[]>(
    (signal, show) => archived(client, named, messages, signal, show),
    [client, id, user, messages],
  );
  const memory = useLoad(
    async (signal) => (summary ? client.memory(named, signal) : undefined),
    [client, id, user, summary],
  );
  const whole = useMemo(
    () => pasted ?? (archive.state === 'ready' ? wholeArray(archive.value, event) : undefined),
    [pasted, archive, event],
  );
  const shown = useLoad(
    (signal) => textsOf(client, named, event, whole, signal),
    [client, id, user, event, whole],
  );
  const rows = useMemo(() => rowsOfEvent(event, shown.value), [event, shown.value]);
  const contents = pasted?.messages ?? archive.value ?? [];
  const inserted = insertedOf(event, () => setSummaryOpen(true));
  return (
    <>
      {event.observed && <Observed />}
      <Facts event={event} />
      <Refusals event={event} />
      {event.captured && <WhatWentUp client={client} named={named} n={event.n} />}
      <h2>Messages</h2>
      {archive.state !== 'loading' && !pasted && contents.every((content) => content === undefined) && (
        <Paste onArray={setPasted} expected={messages} />
      )}
      {shown.state === 'failed' && <Failed failure={shown.failure} />}
      <Transcript
        rows={rows}
        contentOf={(index) => contents[index]}
        inserted={inserted}
        isPotential={event.observed}
        onRef={onRef}
      />
      {isSummaryOpen && (
        <VersionDialog
          versions={memory.value?.memories ?? []}
          first={summary?.memory_id ?? null}
          onRef={onRef}
          onClose={() => setSummaryOpen(false)}
        />
      )}
    </>
  );
}

function Observed() {
  return (
    <p class="observed-note">
      <b>Only observed.</b> The model saw every message as it came. All edits below are what the strategy
      would have done; nothing of them was sent or stored.
    </p>
  );
}

type Recorded = Pick<Found, 'field' | 'messages'>;

/** The request's array, if all of it is archived. */
function wholeArray(archived: readonly unknown[], { messages, protocol }: RunEvent): Recorded | undefined {
  for (let index = 0; index < messages; index++) if (archived[index] === undefined) return undefined;
  // A message of the Responses API may consist of several items.
  return protocol === 'chat'
    ? { field: 'messages', messages: archived }
    : { field: 'input', messages: archived.flat() };
}

/** What stands in the view in the place of each edit. Empty while the array is not at hand. */
async function textsOf(
  client: Client,
  named: Named,
  { n, edits }: RunEvent,
  array: Recorded | undefined,
  signal: AbortSignal,
): Promise<readonly (string | null)[]> {
  if (!array || edits.length === 0) return [];
  const { data } = await client.shownEdits(named, n, { [array.field]: array.messages }, signal);
  return data.map(({ text }) => text);
}

/** The captured view, which is read when somebody opens it. */
function WhatWentUp({ client, named, n }: Pick<Props, 'client' | 'named' | 'n'>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="went-up" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What went up, as it was captured</summary>
      {isOpen && <CapturedFor client={client} named={named} n={n} />}
    </details>
  );
}

function CapturedFor({ client, named, n }: Pick<Props, 'client' | 'named' | 'n'>) {
  const { id, user } = named;
  return <Captured loaded={useLoad((signal) => client.view(named, n, signal), [client, id, user, n])} />;
}

/**
 * The archived messages by their indices. Where a message was edited the newest version counts,
 * since the archive does not say which request had which.
 */
async function archived(
  client: Client,
  named: Named,
  length: number,
  signal: AbortSignal,
  show: (part: readonly unknown[]) => void,
): Promise<readonly unknown[]> {
  const contents: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<ArchivedMessage> | undefined = await client
      .messages(named, cursor, signal)
      .catch((error: unknown) => {
        // Without an archive nothing is found, and the page says how to get one.
        if (error instanceof Failure && error.status === 404) return undefined;
        throw error;
      });
    for (const { position, message } of page?.data ?? [])
      if (position < length) contents[position] = message ?? undefined;
    show([...contents]);
    cursor = page?.has_more ? page.cursor : null;
  } while (cursor !== null);
  return contents;
}

function insertedOf(event: RunEvent, onSummary: () => void): Inserted[] {
  const { summary, injection_tokens: injected, observed, kept_rounds: kept } = event;
  const blocks: Inserted[] = kept.map(({ message, rounds, tokens }) => ({
    before: message,
    title: 'kept rounds',
    children: (
      <p>
        {count(rounds)} {rounds === 1 ? 'round' : 'rounds'} in which the model has fetched contents for this
        answer: {count(tokens)} tokens.
      </p>
    ),
  }));
  if (summary && observed)
    return [
      ...blocks,
      {
        before: summary.covers[0],
        title: 'summary',
        children: (
          <p>
            A summary would stand for the messages {summary.covers[0]} to {summary.covers[1]}.
          </p>
        ),
      },
    ];
  if (injected !== null && injected > 0)
    blocks.push({
      before: summary?.covers[0] ?? 1,
      title: 'injected',
      children: <p>{count(injected)} tokens of the user's other conversations were added here.</p>,
    });
  if (summary)
    blocks.push({
      before: summary.covers[0],
      title: 'summary',
      children: (
        <>
          <p>
            A summary ({summary.status}) stands for the messages {summary.covers[0]} to {summary.covers[1]}.
          </p>
          <button type="button" class="ref" onClick={onSummary}>
            {summary.memory_id === null ? 'Read the summaries' : `Read version ${summary.memory_id}`}
          </button>
        </>
      ),
    });
  return blocks;
}

/** Takes the request's array where nothing of it is archived. */
function Paste({ onArray, expected }: { onArray: (array: Recorded) => void; expected: number }) {
  const [text, setText] = useState('');
  const reading = useMemo(() => readRecorded(text), [text]);
  useEffect(() => {
    const [first] = reading.ok ? reading.found : [];
    if (first) onArray(first);
  }, [reading, onArray]);
  return (
    <details class="paste">
      <summary>The messages of this request are not archived</summary>
      <p class="note">
        With <code>archive: true</code> in its strategy a conversation keeps its messages, and this page shows
        them. You can also paste the array of {count(expected)} messages here. It goes to this Worker alone,
        which makes the lines of the view again and stores nothing.
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
    </details>
  );
}

function Facts({ event }: { event: RunEvent }) {
  const { tokens, usage, ms, frontier, observed } = event;
  const { came, sent, potential } = sentTokens(event);
  const moved = observed ? 'would have moved' : 'moved';
  const facts: Fact[] = [
    ['tokens', `${count(came)} → ${count(sent)}`, share(sent, came)],
    ...(observed ? potentialFacts(event, potential, came) : []),
    ['budget', count(tokens?.budget)],
    ['mode', event.mode, `from the ${event.source}${event.observed ? ', only observed' : ''}`],
    ['model', event.model ?? 'n/a', `${event.protocol}, ${event.kind}`],
    ['frontier', frontier.moved ? moved : 'stayed', `unit ${frontier.unit}, trigger ${event.trigger}`],
    ['upstream input', count(usage?.input), `${share(usage?.cached, usage?.input)} from the cache`],
    ['upstream output', count(usage?.output)],
    ...billFacts(event),
    ['answer', String(event.status), event.error ?? event.ended.replaceAll('_', ' ')],
    ['times', duration(ms.total), timesOf(ms)],
    ['fetched by the model', `${event.retrieval_rounds} rounds`],
    ...thinkingFacts(event),
    ['when', moment(event.created_at)],
  ];
  return (
    <>
      <dl class="figures facts">
        {facts.map(([name, value, note]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Word text={value} /> {note !== undefined && <span class="note">{note}</span>}
            </dd>
          </div>
        ))}
      </dl>
      <Warnings codes={event.warnings} />
    </>
  );
}

type Fact = [name: string, value: string, note?: string];

function thinkingFacts({ dropped_thinking_blocks: blocks }: RunEvent): Fact[] {
  if (!blocks) return [];
  return [['thinking left out', `${count(blocks)} blocks`, 'what they are bound to has changed']];
}

/** What an observed request would have sent and saved. */
function potentialFacts(event: RunEvent, potential: number | null, came: number | null): Fact[] {
  const { net, sent, wouldBe } = potentialBillOf(event) ?? {};
  const sides = `${dollars(sent)} for what was sent, ${dollars(wouldBe)} for the view`;
  const savings: Fact =
    sent === undefined ? ['potential savings', dollars(net)] : ['potential savings', dollars(net), sides];
  return [['would be sent', count(potential), share(potential, came)], savings];
}

/** What the request saved, with both sides of it. Without a bill that is one number: n/a. */
function billFacts(event: RunEvent): Fact[] {
  const bill = billOf(event);
  if (bill && event.observed) return [['paid', dollars(bill.actual)]];
  if (!bill) return [['net savings', dollars(undefined)]];
  const { net, actual, wouldBe, summarizer, fetchRounds, brokenCache, gross, unique } = bill;
  const debits = `summarizer ${dollars(summarizer)}, fetching ${dollars(fetchRounds)}, broken cache ${dollars(brokenCache)}`;
  return [
    ['net savings', dollars(net), `${dollars(actual)} paid, the whole array ${dollars(wouldBe)}`],
    ['of that paid for', debits],
    ['tokens removed', count(gross), `${count(unique)} for the first time`],
  ];
}

function timesOf({ plan, store, summary, first_byte: first }: RunEvent['ms']): string {
  const named = { plan, store, summary, 'first byte': first };
  return Object.entries(named)
    .flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${duration(ms)}`]))
    .join(', ');
}

const BECAUSE = {
  floor: 'that is less than a move is worth',
  regret: 'the conversation has not earned back its last move',
  nothing_to_free: 'there was nothing to free',
  not_enough: 'the view would have stayed over its budget',
} as const;

function Refusals({ event: { refused } }: { event: RunEvent }) {
  if (refused.length === 0) return null;
  return (
    <ul class="refusals">
      {refused.map(({ phase, because, freed, least }, at) => (
        <li key={at}>
          The {phase} phase did not move: {BECAUSE[because]} ({count(freed)} tokens, at least {count(least)}).
        </li>
      ))}
    </ul>
  );
}
