/** A function that computes its value when it is first called. */
export function once<Value extends NonNullable<unknown>>(compute: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= compute();
    return value;
  };
}
