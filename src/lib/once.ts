/**
 * A function that computes its value when it is first called. Afterwards it holds nothing else.
 */
export function once<Value extends NonNullable<unknown>>(compute: () => Value): () => Value {
  let value: Value | undefined;
  let left: (() => Value) | undefined = compute;
  return () => {
    if (left) value = left();
    left = undefined;
    return value as Value;
  };
}
