/** The element at an index that must exist. @throws RangeError if it does not */
export function elementAt<Value>(list: ArrayLike<Value>, index: number): Value {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return element;
}

/** The words of texts, which have spaces between them. */
export function wordsOf(...texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => text.split(' ')));
}

/** The only element; undefined unless there is exactly one. */
export function onlyOf<Value>(values: Iterable<Value>): Value | undefined {
  let only: Value | undefined;
  for (const value of values) {
    if (only !== undefined) return undefined;
    only = value;
  }
  return only;
}

/** Whether two lists have the same elements in the same order, compared with `Object.is`. */
export function areSame<Value>(one: readonly Value[], other: readonly Value[]): boolean {
  return one.length === other.length && one.every((element, index) => Object.is(element, other[index]));
}
