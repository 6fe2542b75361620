/** Thrown where our own code has broken a rule of its own. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}
