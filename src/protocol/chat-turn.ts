/** What a model has said in one answer, gathered so that it can be said back to it. */

/** A call of a function. */
export interface Call {
  readonly id: string;
  readonly name: string;
  /** As the model has written them: JSON, if it kept to the form. */
  readonly arguments: string;
}

/** A message of the model whose calls are all to be answered here. */
export interface Turn {
  /** As it goes up again: with those calls alone that are answered. */
  readonly message: object;
  readonly calls: readonly Call[];
}

type Json = Record<string, unknown>;

const WHOLE = new Set<unknown>(['tool_calls', 'stop', 'function_call']);

/** Whether a message that ends for this reason is whole, so that its calls are too. */
export function isWhole(finishReason: unknown): boolean {
  return WHOLE.has(finishReason);
}

/** A call in a message or, in pieces, in a stream. */
export interface CallPiece {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  readonly [field: string]: unknown;
}

/**
 * The turn of a message: the calls of one name, and whatever else stands there that the model may want to hear again (its reasoning, for
 * one). Fields that say nothing are left out.
 */
export function turnOf(message: Json, calls: readonly CallPiece[]): Turn {
  const told = Object.entries(message).filter(([, value]) => !saysNothing(value));
  const text = message.content;
  return {
    message: {
      ...Object.fromEntries(told),
      role: 'assistant',
      content: text === '' ? null : (text ?? null),
      tool_calls: calls.map(({ index: _, ...call }) => call),
    },
    calls: calls.map((call) => ({
      id: call.id ?? '',
      name: call.function?.name ?? '',
      arguments: call.function?.arguments ?? '',
    })),
  };
}

/** The answers to a turn's calls, as messages. @param results in the order of its calls */
export function resultMessages({ calls }: Turn, results: readonly string[]): object[] {
  return calls.map(({ id }, index) => ({ role: 'tool', tool_call_id: id, content: results[index] ?? '' }));
}

/** A message put together from the pieces of a stream. */
export class GatheredMessage {
  readonly fields: Json = {};

  /** Texts are continued, lists get longer, all else is what was said last. Calls are not looked at. */
  add(delta: Json): void {
    for (const [key, value] of Object.entries(delta)) {
      const known = this.fields[key];
      if (key === 'tool_calls' || key === 'role' || value === null) continue;
      if (typeof value === 'string' && typeof known === 'string') this.fields[key] = known + value;
      else if (Array.isArray(value) && Array.isArray(known)) this.fields[key] = [...known, ...value];
      else this.fields[key] = value;
    }
  }
}

/** A call that has come in one more piece. */
export function joined(call: CallPiece, piece: CallPiece): CallPiece {
  const names = [call.function?.name, piece.function?.name];
  const inputs = [call.function?.arguments, piece.function?.arguments];
  return {
    ...call,
    ...piece,
    ...((piece.id ?? call.id) === undefined ? {} : { id: piece.id || call.id || '' }),
    function: {
      ...call.function,
      ...piece.function,
      name: names.map((name) => name ?? '').join(''),
      arguments: inputs.map((input) => input ?? '').join(''),
    },
  };
}

function saysNothing(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
