/** A choice among values that have labels. */
interface Props<Value extends string> {
  readonly name: string;
  readonly class?: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly onChoose: (value: Value) => void;
}

export function Select<Value extends string>({
  name,
  class: kind = 'field',
  value,
  options,
  onChoose,
}: Props<Value>) {
  return (
    <label class={kind}>
      {name}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as Value)}>
        {options.map(([option, label]) => (
          <option key={option} value={option}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
