/**
 * The methods of a Durable Object as other isolates see them. Arguments and results are copied, so
 * they must be plain data.
 *
 * @param Api the interface that the object's class implements
 */
export type Remote<Api> = {
  [Name in keyof Api]: Api[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Awaited<Result>>
    : never;
};
