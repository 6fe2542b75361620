/** Shows what a strategy would do to an array that is pasted or dropped. Stores nothing. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Explained } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { count } from '../parts/numbers.ts';
import { PlanBars } from '../parts/plan-bars.tsx';
import { Slider } from '../parts/slider.tsx';
import { Empty, Of } from '../parts/states.tsx';
import { Transcript } from '../parts/transcript.tsx';
import { Warnings } from '../parts/warnings.tsx';
import { exampleConversation } from '../read/example.ts';
import { rowsOfExplanation } from '../read/fates.ts';
import { type Recorded, readRecorded } from '../read/recorded.ts';
import {
  KNOBS,
  type Knob,
  type Settings,
  strategyOf,
  TRIED_MODES,
  type TriedMode,
} from '../read/strategies.ts';
import { visible } from '../read/visible.ts';

/** How long the sliders rest before the plan is asked for, in milliseconds. */
const REST_MS = 120;

export function TryIt({ client, onRef }: { client: Client; onRef: (ref: string) => void }) {
  const [text, setText] = useState('');
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
  return (
    <main class="try">
      <h1>Try it</h1>
      <p class="note">
        Paste an array, a request's body, or a recorded transcript. The plan is computed by this Worker;
        nothing is stored.
      </p>
      <Source text={text} onText={take} />
      {reading.ok ? (
        reading.found.length > 1 && (
          <label class="field">
            Which one of {count(reading.found.length)}
            <select value={chosen} onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}>
              {reading.found.map(({ name, messages }, index) => (
                <option key={index} value={index}>
                  {visible(name)} ({messages.length})
                </option>
              ))}
            </select>
          </label>
        )
      ) : (
        <Empty>{reading.message}</Empty>
      )}
      {recorded && <Trial key={`${chosen} ${edition}`} client={client} recorded={recorded} onRef={onRef} />}
    </main>
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
            if (pasted.length <= LONGEST_IN_FIELD) return;
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

interface TrialProps {
  readonly client: Client;
  readonly recorded: Recorded;
  readonly onRef: (ref: string) => void;
}

function Trial({ client, recorded, onRef }: TrialProps) {
  const { messages, field, model, tools } = recorded;
  const [mode, setMode] = useState<TriedMode>('auto');
  const [settings, setSettings] = useState<Settings>({});
  const [length, setLength] = useState(messages.length);
  const [isForced, setForced] = useState(false);
  const strategy = strategyOf(mode, settings);
  const body = {
    model: model ?? 'gpt-4.1',
    ...(tools ? { tools } : {}),
    ...(isForced ? { force: true } : {}),
    memory_strategy: strategy,
    [field]: messages.slice(0, length),
  };
  const asked = useRested(body, `${JSON.stringify(strategy)} ${length} ${isForced}`);
  const loaded = useLoad((signal) => client.explain(asked, signal), [client, asked]);
  return (
    <div class="trial">
      <form class="knobs" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          Mode
          <select value={mode} onChange={({ currentTarget }) => setMode(currentTarget.value as TriedMode)}>
            {TRIED_MODES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Slider
          label="Messages of the array"
          value={length}
          min={1}
          max={messages.length}
          step={1}
          onValue={(value) => setLength(Math.round(value))}
        />
        {KNOBS[mode].map((knob: Knob) => (
          <Slider
            key={knob.field}
            {...knob}
            value={settings[knob.field] ?? knob.initial}
            note={knob.field}
            onValue={(value) => setSettings({ ...settings, [knob.field]: value })}
          />
        ))}
        <label class="check">
          <input type="checkbox" checked={isForced} onChange={() => setForced(!isForced)} />
          Move now, even if nothing is due
        </label>
        <p class="note">The strategy as it is sent:</p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
        <pre class="strategy" tabIndex={0}>
          {JSON.stringify(strategy, null, 2)}
        </pre>
      </form>
      <section class="plan" aria-busy={loaded.state === 'loading'} aria-label="The plan">
        <Of loaded={loaded}>
          {(explained) => <PlanShown explained={explained} recorded={recorded} onRef={onRef} />}
        </Of>
      </section>
    </div>
  );
}

/** The value of the latest `mark` that has rested. The first one does not wait. */
function useRested<Value>(value: Value, mark: string): Value {
  const [rested, setRested] = useState({ mark, value });
  useEffect(() => {
    const rest = (): void => setRested((before) => (before.mark === mark ? before : { mark, value }));
    const timer = setTimeout(rest, REST_MS);
    return () => clearTimeout(timer);
  }, [mark]);
  return rested.value;
}

interface PlanProps {
  readonly explained: Explained;
  readonly recorded: Recorded;
  readonly onRef: (ref: string) => void;
}

function PlanShown({ explained, recorded, onRef }: PlanProps) {
  const { memory, moves, next, summary } = explained;
  const rows = useMemo(() => rowsOfExplanation(explained), [explained]);
  const before = memory.tokens?.before ?? sum(rows.map((row) => row.before));
  const after = memory.tokens?.after ?? before;
  // Items of the Responses API are joined to messages, so their indices are others.
  const contentOf = (index: number): unknown =>
    recorded.field === 'messages' ? recorded.messages[index] : undefined;
  const inserted = summary
    ? [
        {
          before: summary.covers[0],
          title: 'summary',
          children: (
            <p>
              A summary of up to {count(summary.tokens)} tokens stands for the messages {summary.covers[0]} to{' '}
              {summary.covers[1]}.
            </p>
          ),
        },
      ]
    : [];
  return (
    <>
      <PlanBars
        rows={rows}
        before={before}
        after={after}
        budget={memory.tokens?.budget}
        summaryTokens={summary?.tokens}
      />
      <Warnings codes={memory.warnings} />
      <h2>The frontier</h2>
      {moves.length === 0 ? (
        <p class="note">It has not moved: nothing was due.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <ol class="moves" tabIndex={0} aria-label="Moves of the frontier">
          {moves.map((move, at) => (
            <li key={at}>
              At the request with {count(move.messages)} messages it moved to message {count(move.frontier)} (
              {move.trigger}): {count(move.before)} → {count(move.after)} tokens.
            </li>
          ))}
        </ol>
      )}
      <p class="note">{nextWords(next)}</p>
      <h2>Messages</h2>
      <Transcript rows={rows} contentOf={contentOf} inserted={inserted} isPotential onRef={onRef} />
    </>
  );
}

function nextWords(next: Explained['next']): string {
  if (!next) return 'No further move is near.';
  const { edits, summarizes } = next;
  const freed = sum(edits.map((edit) => edit.freed));
  const placeholders =
    edits.length === 0 ? '' : `replace ${count(edits.length)} contents and free ${count(freed)} tokens`;
  const covered = summarizes ? `summarise the messages ${summarizes[0]} to ${summarizes[1]}` : '';
  return `The next move would ${[placeholders, covered].filter((words) => words !== '').join(', and ')}.`;
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}
