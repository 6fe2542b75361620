/** What a model has said in one answer, so that it can be said back to it. */

/** A call of a function. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model has written them: JSON, if it kept to the form. */
  readonly arguments: string;
}

/** An answer whose calls are all to be answered here. */
export interface ToolTurn {
  /**
   * As it goes up again, in the terms of its protocol: with those calls alone that are answered.
   */
  readonly said: readonly object[];
  readonly calls: readonly ToolCall[];
  /** Whether the upstream has said that it stores nothing of the answer. */
  readonly isUnstored?: boolean | undefined;
}

/**
 * Whether a text is a JSON object: upstreams read the arguments of the history, and refuse what is
 * none.
 */
export function isObjectJson(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
