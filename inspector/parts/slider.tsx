/** A number that can be dragged or typed. */
import { useState } from 'preact/hooks';
import type { Knob } from '../read/strategies.ts';

interface Props extends Pick<Knob, 'label' | 'min' | 'max' | 'step'> {
  readonly value: number;
  readonly note?: string | undefined;
  readonly onValue: (value: number) => void;
}

export function Slider({ label, value, min, max, step, note, onValue }: Props) {
  // What is being typed is no value yet, and must outlive a plan that comes meanwhile.
  const [draft, setDraft] = useState<string>();
  const take = (text: string): void => {
    setDraft(undefined);
    const number = Number(text);
    if (text !== '' && Number.isFinite(number)) onValue(Math.min(max, Math.max(min, number)));
  };
  return (
    <div class="slider">
      <label>
        <span>{label}</span>
        <input
          type="range"
          min={min}
          max={max}
          step={step}
          value={value}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
      </label>
      <input
        type="number"
        aria-label={`${label}, as a number`}
        min={min}
        max={max}
        step="any"
        value={draft ?? value}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        onChange={({ currentTarget }) => take(currentTarget.value)}
      />
      {note !== undefined && <p class="note">{note}</p>}
    </div>
  );
}
