/** The element at an index that must be there. @throws RangeError where it is not */
export function elementAt<Value>(list: ArrayLike<Value>, index: number): Value {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return element;
}
