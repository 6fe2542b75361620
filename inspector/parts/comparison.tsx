/** Two strategies over a whole conversation, side by side: tokens, dollars, and messages. */
import { useEffect, useState } from 'preact/hooks';
import type { Explained } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { type Loaded, useLoad } from '../api/use-load.ts';
import { apiOf, type Recorded } from '../read/recorded.ts';
import { APIS, type Copied, LANGUAGES, type Language, SNIPPETS } from '../read/snippets.ts';
import { strategyOf } from '../read/strategies.ts';
import { visible } from '../read/visible.ts';
import { CopyButton } from './copy-button.tsx';
import { Folded } from './folded.tsx';
import { count } from './numbers.ts';
import { NAMES, type Name, Outcome } from './outcome.tsx';
import { PlanShown } from './plan-shown.tsx';
import { Code } from './scrolled.tsx';
import { Select } from './select.tsx';
import { Slider } from './slider.tsx';
import { Failed, Loading } from './states.tsx';
import { type Choice, StrategyForm } from './strategy-form.tsx';
import { Word } from './text.tsx';

/** How long the sliders rest before the plans are asked for, in milliseconds. */
const REST_MS = 120;

interface Props {
  readonly client: Client;
  readonly recorded: Recorded;
  readonly initial: Readonly<Record<Name, Choice>>;
  readonly onRef: (ref: string) => void;
}

export function Comparison({ client, recorded, initial, onRef }: Props) {
  const { messages, field, tools, system } = recorded;
  const api = apiOf(recorded);
  const [choices, setChoices] = useState(initial);
  const [both, setBoth] = useState<Both>({
    model: recorded.model ?? APIS[api].model,
    length: messages.length,
    isForced: false,
  });
  const { model, length, isForced } = both;
  const [read, setRead] = useState<Name>('A');
  const tried = (name: Name): object => ({
    model,
    ...(tools ? { tools } : {}),
    ...(system ? { system } : {}),
    ...(isForced ? { force: true } : {}),
    course: true,
    memory_strategy: strategyOf(choices[name].mode, choices[name].settings),
    [field]: messages.slice(0, length),
  });
  const mark = (name: Name): string => JSON.stringify([choices[name], both]);
  const plans = {
    A: useExplained(client, tried('A'), mark('A')),
    B: useExplained(client, tried('B'), mark('B')),
  };
  const chosen = plans[read];
  const strategy = strategyOf(choices[read].mode, choices[read].settings);
  return (
    <div class="comparison">
      <form class="choices" onSubmit={(event) => event.preventDefault()}>
        {NAMES.map((name) => (
          <StrategyForm
            key={name}
            name={name}
            choice={choices[name]}
            onChoice={(choice) => setChoices({ ...choices, [name]: choice })}
          />
        ))}
        <ForBoth both={both} most={messages.length} onBoth={setBoth} />
      </form>
      <section
        class="outcome"
        aria-label="Compared"
        aria-busy={NAMES.some((name) => plans[name].state === 'loading')}
      >
        {plans.A.value && plans.B.value ? (
          <Outcome plans={{ A: plans.A.value, B: plans.B.value }} model={model} />
        ) : (
          NAMES.every((name) => plans[name].state !== 'failed') && <Loading />
        )}
        {NAMES.map((name) => {
          const plan = plans[name];
          return plan.state === 'failed' && <Failed key={name} failure={plan.failure} onAgain={plan.again} />;
        })}
      </section>
      <fieldset class="read-as">
        <legend>Message by message</legend>
        {NAMES.map((name) => (
          <label key={name} class="check">
            <input type="radio" name="read-as" checked={read === name} onChange={() => setRead(name)} />
            Strategy {name}
          </label>
        ))}
      </fieldset>
      <CopyAs name={`Strategy ${read}`} copied={{ baseUrl: baseUrl(), model, strategy, api }} />
      {chosen.value && (
        <PlanShown key={read} client={client} explained={chosen.value} recorded={recorded} onRef={onRef} />
      )}
    </div>
  );
}

interface Both {
  readonly model: string;
  /** Of the array, in messages. */
  readonly length: number;
  readonly isForced: boolean;
}

interface BothProps {
  readonly both: Both;
  readonly most: number;
  readonly onBoth: (both: Both) => void;
}

function ForBoth({ both, most, onBoth }: BothProps) {
  const { model, length, isForced } = both;
  return (
    <Folded
      class="for-both"
      summary={
        <>
          For both: {count(length)} of {count(most)} messages, as if sent to <Word text={model} />
        </>
      }
    >
      {() => (
        <div class="both">
          <Slider
            label="Messages of the array"
            value={length}
            min={1}
            max={most}
            step={1}
            onValue={(value) => onBoth({ ...both, length: Math.round(value) })}
          />
          <label class="field">
            Model, for window and prices
            <input
              type="text"
              value={model}
              maxLength={100}
              onChange={({ currentTarget }) => onBoth({ ...both, model: currentTarget.value })}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={isForced}
              onChange={() => onBoth({ ...both, isForced: !isForced })}
            />
            Compact in the last request, even if nothing is due
          </label>
        </div>
      )}
    </Folded>
  );
}

/** Of this Worker, wherever it is mounted. */
function baseUrl(): string {
  return new URL('.', document.baseURI).href.replace(/\/$/, '');
}

/** Asks again when the mark has rested. */
function useExplained(client: Client, body: object, mark: string): Loaded<Explained> {
  const [rested, setRested] = useState({ mark, body });
  useEffect(() => {
    const rest = (): void => setRested((before) => (before.mark === mark ? before : { mark, body }));
    const timer = setTimeout(rest, REST_MS);
    return () => clearTimeout(timer);
  }, [mark]);
  return useLoad((signal) => client.explain(rested.body, signal), [client, rested.body]);
}

/** A request with the tried strategy, to be copied. */
function CopyAs({ name, copied }: { name: string; copied: Copied }) {
  const [language, setLanguage] = useState<Language>('curl');
  const text = SNIPPETS[language](copied);
  return (
    <div class="copied">
      <div class="actions">
        <Select
          class="field inline"
          name={`${name} as`}
          value={language}
          options={LANGUAGES.map((one) => [one, one])}
          onChoose={setLanguage}
        />
        <CopyButton text={text} />
      </div>
      <Code text={visible(text)} />
    </div>
  );
}
