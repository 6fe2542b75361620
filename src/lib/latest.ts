import { areSame } from './elements.ts';

/**
 * The latest result of a pure function for an object. The same inputs have the same result, which
 * is not computed again. It lives as long as the object, and nothing keeps the object alive.
 */
export class Latest<Subject extends object, Result> {
  private readonly made = new WeakMap<Subject, { readonly inputs: readonly unknown[]; result: Result }>();

  /**
   * @param inputs all that the result depends on beside the subject, compared one by one with
   *   `Object.is`
   */
  of(subject: Subject, inputs: readonly unknown[], make: () => Result): Result {
    const known = this.made.get(subject);
    if (known && areSame(known.inputs, inputs)) return known.result;
    const result = make();
    this.made.set(subject, { inputs, result });
    return result;
  }

  last(subject: Subject): Result | undefined {
    return this.made.get(subject)?.result;
  }
}
