/** Shows what two strategies would do to a conversation. Stores nothing. */
import { useMemo, useState } from 'preact/hooks';
import type { RunEvent } from '../api/answers.ts';
import { archivedMessages } from '../api/archived.ts';
import type { Client, Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { Comparison } from '../parts/comparison.tsx';
import { Folded } from '../parts/folded.tsx';
import { count } from '../parts/numbers.ts';
import { RuleLink } from '../parts/rule-link.tsx';
import { Select } from '../parts/select.tsx';
import { Empty, Of } from '../parts/states.tsx';
import type { Choice } from '../parts/strategy-form.tsx';
import { Word } from '../parts/text.tsx';
import { fragmentOf } from '../place.ts';
import { exampleConversation } from '../read/example.ts';
import { type Recorded, readRecorded } from '../read/recorded.ts';
import { sentTokens } from '../read/sent.ts';
import { firstBudget, KNOBS, TRIED_MODES, type TriedMode } from '../read/strategies.ts';
import { visible } from '../read/visible.ts';
import { wholeArray } from '../read/whole-array.ts';

interface Props {
  readonly client: Client;
  readonly onRef: (ref: string) => void;
}

export function TryIt({ client, onRef }: Props) {
  return (
    <main class="try">
      <h1>Try it</h1>
      <p class="note">
        Two strategies over a whole conversation. The plans are computed by this Worker; nothing is stored,
        and no model is asked.
      </p>
      <Pasted client={client} onRef={onRef} text={useMemo(() => JSON.stringify(exampleConversation()), [])} />
    </main>
  );
}

interface RequestProps extends Props {
  readonly named: Named;
  readonly n: number;
}

/** The array of a request that was recorded, beginning with the strategy that it had. */
export function TryRequest({ client, named, n, onRef }: RequestProps) {
  const { id, user } = named;
  const loaded = useLoad(
    async (signal) => {
      const event = await client.request(named, n, signal);
      const archived = await archivedMessages(client, named, event.messages, signal, () => {});
      return { event, array: wholeArray(archived, event) };
    },
    [client, id, user, n],
  );
  return (
    <main class="try">
      <nav class="crumbs" aria-label="Where this is">
        <a href={fragmentOf({ ...named, screen: 'conversation' })}>
          <Word text={id} />
        </a>
        <a href={fragmentOf({ ...named, screen: 'request', n })}>Request {n}</a>
      </nav>
      <h1>Try this conversation</h1>
      <p class="note">
        A begins with the mode and the budget that the request had, B with twice that budget. All else is the
        mode’s own. Nothing is stored, and no model is asked.
        {loaded.value?.event.tokens && ` ${reallySent(loaded.value.event)}`}
      </p>
      <Of loaded={loaded}>
        {({ event, array }) =>
          array ? (
            <Comparison
              client={client}
              recorded={{
                ...array,
                name: `request ${n}`,
                model: event.model ?? undefined,
                tools: undefined,
                strategy: undefined,
              }}
              initial={choicesOf(event)}
              onRef={onRef}
            />
          ) : (
            <>
              <Empty>
                The messages of this conversation are not archived, so it can’t be tried from here. Paste them
                below, or set <code>"archive": true</code> in its strategy.{' '}
                <RuleLink page="conversations" section="The archive" text="How to turn it on" />
              </Empty>
              <Pasted client={client} onRef={onRef} text="" />
            </>
          )
        }
      </Of>
    </main>
  );
}

/** Why a trial may come to another result than the request. */
function reallySent(event: RunEvent): string {
  return `Request ${event.n} itself sent ${count(sentTokens(event).sent)} tokens: A may send more or less, since it plans the whole conversation again, without the request’s tools, its other settings and the summaries that were written.`;
}

/** The request's own mode and budget, and twice that budget. */
function choicesOf({ mode, tokens }: RunEvent): { A: Choice; B: Choice } {
  const own: TriedMode = TRIED_MODES.find((one) => one === mode && one !== 'none') ?? 'auto';
  const budget = tokens?.budget ?? KNOBS.auto[0].initial;
  return { A: choice(own, budget), B: choice(own, firstBudget(2 * budget)) };
}

function choice(mode: TriedMode, budget: number): Choice {
  const [first] = KNOBS[mode];
  return { mode, settings: first ? { [first.field]: budget } : {} };
}

/** In characters; a guess that decides only where the sliders begin. */
const PER_TOKEN = 4;

/** Budgets at which something happens to an array. */
function choicesFor({ messages }: Recorded): { A: Choice; B: Choice } {
  const tokens = JSON.stringify(messages).length / PER_TOKEN;
  return { A: choice('auto', firstBudget(0.25 * tokens)), B: choice('auto', firstBudget(0.75 * tokens)) };
}

function Pasted({ client, onRef, text: first }: Props & { text: string }) {
  const [text, setText] = useState(first);
  const [chosen, setChosen] = useState(0);
  /** Counts the texts, since another one may have the same length. */
  const [edition, setEdition] = useState(0);
  const reading = useMemo(() => readRecorded(text), [text]);
  const recorded = reading.ok ? reading.found[chosen] : undefined;
  const take = (next: string): void => {
    setText(next);
    setEdition((before) => before + 1);
    setChosen(0);
  };
  const isExample = first !== '' && text === first;
  return (
    <>
      <Folded
        class="source-fold"
        isOpen={first === ''}
        summary={
          isExample
            ? 'This is an example, an agent that reads files. Use your own conversation'
            : 'The conversation to try'
        }
      >
        {() => <Source text={text} onText={take} />}
      </Folded>
      {!reading.ok && <Empty>{reading.message}</Empty>}
      {reading.ok && reading.found.length > 1 && (
        <Select
          name={`Which one of ${count(reading.found.length)}`}
          value={String(chosen)}
          options={reading.found.map(({ name, messages }, index) => [
            String(index),
            `${visible(name)} (${messages.length})`,
          ])}
          onChoose={(index) => setChosen(Number(index))}
        />
      )}
      {recorded && (
        <Comparison
          key={`${chosen} ${edition}`}
          client={client}
          recorded={recorded}
          initial={choicesFor(recorded)}
          onRef={onRef}
        />
      )}
    </>
  );
}

/** Where an array is pasted or dropped. A long text is not put into the field, which it would block. */
function Source({ text, onText }: { text: string; onText: (text: string) => void }) {
  const [isOver, setOver] = useState(false);
  const isLong = text.length > LONGEST_IN_FIELD;
  const readFile = (file: File | undefined): void => {
    file?.text().then(onText, () => onText(''));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button beside it opens files by keyboard
    <div
      class={`source ${isOver ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file) readFile(file);
        else onText(event.dataTransfer?.getData('text') ?? '');
      }}
    >
      <p class="note">
        Paste or drop an array of messages or items, a request’s body, or a recorded transcript.
      </p>
      <label class="field">
        JSON or JSONL
        <textarea
          rows={5}
          spellcheck={false}
          placeholder='[{"role": "user", "content": "…"}]'
          readOnly={isLong}
          value={isLong ? `(${count(text.length)} characters)` : text}
          onPaste={(event) => {
            const pasted = event.clipboardData?.getData('text') ?? '';
            // A long text that is shown as its length is replaced as a whole.
            if (!isLong && pasted.length <= LONGEST_IN_FIELD) return;
            event.preventDefault();
            onText(pasted);
          }}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      </label>
      <div class="actions">
        <label class="button">
          Open a file
          <input
            class="sr-only"
            type="file"
            accept=".json,.jsonl,.ndjson,.txt"
            onChange={({ currentTarget }) => readFile(currentTarget.files?.[0])}
          />
        </label>
        <button type="button" onClick={() => onText(JSON.stringify(exampleConversation()))}>
          Take an example
        </button>
        {text !== '' && (
          <button type="button" onClick={() => onText('')}>
            Clear
          </button>
        )}
      </div>
    </div>
  );
}

/** In characters. */
const LONGEST_IN_FIELD = 20_000;
