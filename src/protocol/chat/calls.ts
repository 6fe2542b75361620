/** The turn of a model in a chat completion, in the form in which it is sent back. */
import { hash } from 'node:crypto';
import { elementAt, wordsOf } from '../../lib/elements.ts';
import { asObject, asString, type JsonObject, parseObject } from '../../lib/json.ts';
import { isComplete, type ToolResult, type ToolTurn, textOfResult } from '../answers/tool-turn.ts';
import { inputText } from '../call-input.ts';
import { appendTo, calledName, type LongerBody } from '../tools.ts';
import { isThinkingList, PROVIDER_FIELDS, REASONING_CONTENT, THINKING_BLOCKS } from './reasoning.ts';
import { addedParts, addPieces } from './thinking-pieces.ts';

/** Whether callers append a message with this finish reason to their array unchanged. */
export function isSaid(finishReason: unknown): boolean {
  return isComplete(finishReason) || finishReason === 'length';
}

/** A call in a message, or a piece of one in a stream. */
export interface CallPiece {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null;
  /** Of a custom tool. */
  readonly custom?: { readonly name?: string } | null;
  readonly [field: string]: unknown;
}

/** The name in a call or a piece of one; empty if there is none. */
export function nameOf(call: CallPiece): string {
  return asString(call.function?.name ?? call.custom?.name);
}

/** The arguments in a call or a piece of one. Some upstreams send an object instead of a string. */
export function argumentsOf({ function: called }: CallPiece): string {
  return inputText(called?.arguments);
}

/** Whether it belongs to another kind of call than a function's, such as a custom tool's. */
export function isOtherCall({ type, custom }: CallPiece): boolean {
  return !saysNothing(custom) || (typeof type === 'string' && type !== '' && type !== 'function');
}

/** Whether a value is empty. Some servers send all members that a message can have. */
export function saysNothing(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.values(value).every(saysNothing) : !value;
}

/**
 * Added to an answer without text whose calls are all Precis's, and dropped: OpenAI refuses a
 * history with `content: null` where a message has no calls.
 */
export const NOTHING_SAID: JsonObject = { content: '' };

/**
 * What some upstreams say of an answer in each of its pieces, and do not want back: MiniMax the
 * name of its model, Groq a channel, Mistral an index. In a history Groq refuses properties that it
 * does not know (https://github.com/chatboxai/chatbox/issues/2083).
 */
const LABELS = wordsOf('name channel index');

/**
 * The turn of a message that calls our tools: these calls, and all other fields that the model may
 * need again, such as its reasoning. Other empty fields are left out. Arguments that are not a JSON
 * object are replaced by an empty one, since upstreams parse those in the history.
 */
export function turnOf(message: JsonObject, said: readonly CallPiece[]): ToolTurn {
  const fields = Object.entries(message).filter(
    ([key, value]) =>
      !LABELS.has(key) && (!saysNothing(value) || (key === REASONING_CONTENT && value === '')),
  );
  const text = message.content;
  const calls = said.map((call, at) => ({ ...call, id: call.id || newId(call, at) }));
  const answer = {
    ...Object.fromEntries(fields),
    role: 'assistant',
    content: saysNothing(text) ? null : text,
    tool_calls: calls.map(({ index: _, custom: __, ...call }) => ({
      ...call,
      type: 'function',
      function: withObject(call),
    })),
  };
  return {
    messages: [answer],
    calls: calls.map((call) => ({
      id: call.id,
      name: calledName(nameOf(call)),
      arguments: argumentsOf(call),
    })),
  };
}

/** For a call without one, as Gemini has sent them. Its result is known by it. */
function newId(call: CallPiece, at: number): string {
  const facts = JSON.stringify([at, nameOf(call), argumentsOf(call)]);
  return `call_${hash('sha256', facts).slice(0, 24)}`;
}

export function goOnChat(
  body: Uint8Array,
  { messages, calls }: ToolTurn,
  results: readonly ToolResult[],
): LongerBody {
  const answers = calls.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    // OpenAI takes text alone in a message of the role `tool`.
    content: textOfResult(elementAt(results, index)),
  }));
  return appendTo(body, 'messages', [...messages, ...answers]);
}

/** A message built from the deltas of a stream, or of the messages of several answers. */
export class GatheredMessage {
  readonly fields: JsonObject = {};
  /** The blocks of thinking that are of earlier answers, by field. */
  private readonly whole = new Map<string, number>();

  begin(): void {
    for (const [key, value] of Object.entries(this.fields)) {
      const list = key === PROVIDER_FIELDS ? asObject(value)[THINKING_BLOCKS] : value;
      if (Array.isArray(list)) this.whole.set(key, list.length);
    }
  }

  /** Appends to strings, lists and blocks, and replaces other values. Ignores calls. */
  add(delta: JsonObject): void {
    for (const [key, value] of Object.entries(delta)) {
      const known = this.fields[key];
      if (key === 'tool_calls' || key === 'role' || value === null) continue;
      if (isThinkingList(key) && Array.isArray(value)) this.fields[key] = this.blocksOf(key, known, value);
      else if (key === PROVIDER_FIELDS)
        this.fields[key] = this.providerFields(asObject(known), asObject(value));
      else if (typeof value === 'string' && typeof known === 'string') this.fields[key] = known + value;
      else if (key === 'content' && known !== undefined && (Array.isArray(known) || Array.isArray(value)))
        this.fields[key] = addedParts(known, value, this.whole.get(key));
      // Appends in place; a new list for each delta would be quadratic.
      else if (Array.isArray(value) && Array.isArray(known)) for (const item of value) known.push(item);
      else this.fields[key] = Array.isArray(value) ? [...value] : value;
    }
  }

  private blocksOf(key: string, known: unknown, pieces: readonly unknown[]): unknown[] {
    const blocks = Array.isArray(known) ? known : [];
    addPieces(blocks, pieces, this.whole.get(key));
    return blocks;
  }

  private providerFields(known: JsonObject, added: JsonObject): JsonObject {
    const pieces = added[THINKING_BLOCKS];
    const both = { ...known, ...added };
    if (!Array.isArray(pieces)) return both;
    return { ...both, [THINKING_BLOCKS]: this.blocksOf(PROVIDER_FIELDS, known[THINKING_BLOCKS], pieces) };
  }
}

/**
 * Adds a piece to a function call. The first id counts. A name that is repeated in full is not
 * appended. A later piece may say of any field that it has nothing to add, such as of Gemini's
 * signature (`extra_content`).
 */
export function joined(call: CallPiece, piece: CallPiece): CallPiece {
  const name = nameOf(call);
  const added = nameOf(piece);
  const id = call.id || piece.id;
  return {
    ...call,
    ...Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null)),
    ...(id === undefined ? {} : { id }),
    function: {
      ...call.function,
      ...piece.function,
      name: added === name ? name : name + added,
      arguments: argumentsOf(call) + argumentsOf(piece),
    },
  };
}

function withObject(call: CallPiece): CallPiece['function'] {
  const input = argumentsOf(call);
  const name = calledName(nameOf(call));
  return { ...call.function, name, arguments: parseObject(input) ? input : '{}' };
}
