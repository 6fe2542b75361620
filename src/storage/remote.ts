/**
 * The methods of a Durable Object as another isolate sees them. Arguments and results are copied,
 * so they are plain data.
 *
 * @param Api the interface that the object's class implements
 */
export type Remote<Api> = {
  [Name in keyof Api]: Api[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Awaited<Result>>
    : never;
};
