/**
 * The methods of a Durable Object as other isolates see them. Arguments and results are copied, so
 * they must be plain data. A member that is no method is a part of the object, with methods of its
 * own: the runtime sends the path of a method (`archive.page`), so a call of a part is one request
 * to the object, and leaves nothing to dispose of.
 *
 * @param Api the interface that the object's class implements
 */
export type Remote<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Awaited<Result>>
    : Remote<Api[Name]>;
};

/**
 * A part of an object for other isolates, with these of its methods and no other.
 *
 * @param around what the object does when one of them is called; without it, it calls the method
 */
export function partOf<Of extends object, Names extends keyof Of & string>(
  of: Of,
  names: readonly Names[],
  around = (_: Names, work: () => unknown): unknown => work(),
): Part<Of, Names> {
  const called = names.map((name) => {
    const method = of[name] as (...values: unknown[]) => unknown;
    return [name, (...values: unknown[]) => around(name, () => Reflect.apply(method, of, values))];
  });
  return Object.fromEntries(called) as Part<Of, Names>;
}

/**
 * What other isolates may call of a part. An object may have more to do first, so it may answer
 * later than the part.
 */
export type Part<Of, Names extends keyof Of> = {
  readonly [Name in Names]: Of[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Result | Promise<Awaited<Result>>
    : never;
};
