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

/** A function that makes its value once for each subject. An undefined one is made again. */
export function oncePer<Subject extends object, Terms extends unknown[], Value>(
  make: (subject: Subject, ...terms: Terms) => Value,
): (subject: Subject, ...terms: Terms) => Value {
  const made = new WeakMap<Subject, Value>();
  return (subject, ...terms) => {
    const value = made.get(subject) ?? make(subject, ...terms);
    made.set(subject, value);
    return value;
  };
}
