/** A choice of how many days are shown. */

const RANGES = [
  [1, 'today'],
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
] as const;

interface Props {
  readonly chosen: number;
  /** Of the inputs, which no other choice on the page may have. */
  readonly name: string;
  readonly onChoose: (days: number) => void;
}

export function Ranges({ chosen, name, onChoose }: Props) {
  return (
    <fieldset class="ranges">
      <legend class="sr-only">Range of time</legend>
      {RANGES.map(([days, label]) => (
        <label key={days}>
          <input
            type="radio"
            name={name}
            value={days}
            checked={days === chosen}
            onChange={() => onChoose(days)}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
