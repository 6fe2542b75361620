/** What a model has said in one chat completion, gathered so that it can be said back to it. */
import { asString } from '../../lib/json.ts';
import { isObjectJson, type ToolTurn } from '../tool-turn.ts';
import { appendTo } from '../tools.ts';

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
  return asString(call.function?.name ?? call.custom?.name);
}

/** The arguments in a call, or in a piece of one. Some upstreams send the object itself. */
export function argumentsOf({ function: called }: CallPiece): string {
  const input: unknown = called?.arguments ?? '';
  return typeof input === 'string' ? input : JSON.stringify(input);
}

/**
 * Whether it is a piece of something else than the call of a function, such as the call of a custom
 * tool.
 */
export function isOtherCall({ type, custom }: CallPiece): boolean {
  return (custom ?? null) !== null || (typeof type === 'string' && type !== '' && type !== 'function');
}

/**
 * The turn of a message: the calls of one name, and whatever else stands there that the model may
 * want to hear again (its reasoning, for one). Fields that say nothing are left out. Arguments that
 * are no JSON object go up as an empty one: upstreams read those of the history.
 */
export function turnOf(message: Json, calls: readonly CallPiece[]): ToolTurn {
  const told = Object.entries(message).filter(([, value]) => !saysNothing(value));
  const text = message.content;
  const said = {
    ...Object.fromEntries(told),
    role: 'assistant',
    content: text === '' ? null : (text ?? null),
    tool_calls: calls.map(({ index: _, ...call }) => ({
      ...call,
      type: 'function',
      function: withObject(call),
    })),
  };
  return {
    said: [said],
    calls: calls.map((call) => ({
      id: call.id ?? '',
      name: nameOf(call),
      arguments: argumentsOf(call),
    })),
  };
}

/**
 * A body that went up, with a turn and the results of its calls.
 *
 * @param results in the order of the calls
 */
export function goOnChat(
  body: Uint8Array,
  { said, calls }: ToolTurn,
  results: readonly string[],
): Uint8Array {
  const answered = calls.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: results[index] ?? '',
  }));
  return appendTo(body, 'messages', [...said, ...answered]);
}

/** A message put together from the pieces of a stream. */
export class GatheredMessage {
  readonly fields: Json = {};

  /**
   * Texts are continued, lists get longer, all else is what was said last. Calls are not looked at.
   */
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

/**
 * A call of a function that has come in one more piece. Its first id is its id; a name that comes
 * again in full is no longer one.
 */
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
      arguments: argumentsOf(call) + argumentsOf(piece),
    },
  };
}

function withObject(call: CallPiece): CallPiece['function'] {
  const input = argumentsOf(call);
  return { ...call.function, arguments: isObjectJson(input) ? input : '{}' };
}

function saysNothing(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
