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
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null;
  /** Of a custom tool. */
  readonly custom?: { readonly name?: string } | null;
  readonly [field: string]: unknown;
}

/** The name in a call, or in a piece of one; empty where none stands. */
export function nameOf(call: CallPiece): string {
  return call.function?.name ?? call.custom?.name ?? '';
}

/** Whether it is a piece of something else than the call of a function, such as the call of a custom tool. */
export function isOtherCall({ type, custom }: CallPiece): boolean {
  return (custom ?? null) !== null || (typeof type === 'string' && type !== '' && type !== 'function');
}

/**
 * The turn of a message: the calls of one name, and whatever else stands there that the model may want to hear again (its reasoning, for
 * one). Fields that say nothing are left out. Arguments that are no JSON object go up as an empty one: upstreams read those of the history.
 */
export function turnOf(message: Json, calls: readonly CallPiece[]): Turn {
  const told = Object.entries(message).filter(([, value]) => !saysNothing(value));
  const text = message.content;
  return {
    message: {
      ...Object.fromEntries(told),
      role: 'assistant',
      content: text === '' ? null : (text ?? null),
      tool_calls: calls.map(({ index: _, ...call }) => ({
        ...call,
        type: 'function',
        function: withObject(call.function),
      })),
    },
    calls: calls.map((call) => ({
      id: call.id ?? '',
      name: nameOf(call),
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
      // A list is ours to lengthen: a new one for each delta would be quadratic.
      else if (Array.isArray(value) && Array.isArray(known)) for (const item of value) known.push(item);
      else this.fields[key] = Array.isArray(value) ? [...value] : value;
    }
  }
}

/** A call of a function that has come in one more piece. Its first id is its id; a name that comes again in full is no longer one. */
export function joined(call: CallPiece, piece: CallPiece): CallPiece {
  const name = nameOf(call);
  const said = nameOf(piece);
  const id = call.id || piece.id;
  return {
    ...call,
    ...piece,
    ...(id === undefined ? {} : { id }),
    function: {
      ...call.function,
      ...piece.function,
      name: said === name ? name : name + said,
      arguments: (call.function?.arguments ?? '') + (piece.function?.arguments ?? ''),
    },
  };
}

function withObject(called: CallPiece['function']): CallPiece['function'] {
  const input = called?.arguments ?? '';
  return { ...called, arguments: isObject(input) ? input : '{}' };
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function saysNothing(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
