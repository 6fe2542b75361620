/** The settings of a strategy that is tried. */
import { labelOf, MODE_LABELS, modeSentence } from '../read/codes.ts';
import {
  KNOBS,
  type Knob,
  type Settings,
  strategyOf,
  TRIED_MODES,
  type TriedMode,
} from '../read/strategies.ts';
import { Folded } from './folded.tsx';
import { Code } from './scrolled.tsx';
import { Select } from './select.tsx';
import { Slider } from './slider.tsx';

export interface Choice {
  readonly mode: TriedMode;
  readonly settings: Settings;
}

interface Props {
  readonly name: string;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}

export function StrategyForm({ name, choice, onChoice }: Props) {
  const { mode, settings } = choice;
  const [first, ...others]: readonly Knob[] = KNOBS[mode];
  const slider = (knob: Knob) => (
    <Slider
      key={knob.field}
      {...knob}
      value={settings[knob.field] ?? knob.initial}
      note={knob.field}
      onValue={(value) => onChoice({ mode, settings: { ...settings, [knob.field]: value } })}
    />
  );
  return (
    <fieldset class={`choice choice-${name.toLowerCase()}`}>
      <legend>Strategy {name}</legend>
      <Select
        name="What it does"
        value={mode}
        options={TRIED_MODES.map((one) => [one, `${labelOf(MODE_LABELS, one)} (${one})`])}
        onChoose={(chosen) => onChoice({ mode: chosen, settings })}
      />
      <p class="note">{modeSentence(mode)}</p>
      {first && slider(first)}
      <Folded summary="More settings, and the strategy as it is sent">
        {() => (
          <>
            {others.map(slider)}
            <Code text={JSON.stringify(strategyOf(mode, settings), null, 2)} />
          </>
        )}
      </Folded>
    </fieldset>
  );
}
