/**
 * Whose the items are that a model has put out in one answer, and how the calls among them are
 * answered.
 */

import { asObject, asString } from '../../lib/json.ts';
import { fieldOf, jsonOf, scanObject } from '../json/spans.ts';
import { isObjectJson, type ToolCall, type ToolTurn } from '../tool-turn.ts';
import { appendTo } from '../tools.ts';

type Json = Record<string, unknown>;

/**
 * Where a shell runs that the upstream hosts (https://platform.openai.com/docs/guides/tools-shell).
 */
const HOSTED_SHELL = 'container_reference';

/** What becomes of an item: `held` until it is known what follows. */
export type Fate = 'shown' | 'held' | 'hidden';

/**
 * Sorts the items of one answer as they begin. A call of the caller's that has begun to flow can't
 * be taken back, so it decides the answer: calls of ours behind it are dropped. One of ours that
 * comes first decides it too, as long as calls are answered: they are answered here, and the model
 * plans again. Reasoning belongs to the item that follows it, and is seen with that or not at all:
 * upstreams refuse one without the other.
 */
export class ItemSorter {
  private readonly names: ReadonlySet<string>;
  private readonly mayAnswer: () => boolean;
  private decided: 'ours' | 'callers' | undefined;

  /** See `Joining`. */
  constructor(names: ReadonlySet<string>, mayAnswer: () => boolean) {
    this.names = names;
    this.mayAnswer = mayAnswer;
  }

  /** Whether the answer's calls of ours are to be answered. */
  get isOurs(): boolean {
    return this.decided === 'ours';
  }

  next(item: Json): Fate {
    if (item.type === 'reasoning') return 'held';
    if (this.calls(item)) {
      if (this.mayAnswer()) this.decided ??= 'ours';
      return 'hidden';
    }
    if (!waitsForCaller(item)) return 'shown';
    this.decided ??= 'callers';
    return this.decided === 'callers' ? 'shown' : 'hidden';
  }

  /** Whether it is a call of ours. A namespace has tools of its own under any name. */
  calls({ type, name, namespace }: Json): boolean {
    return type === 'function_call' && this.names.has(asString(name)) && (namespace ?? null) === null;
  }
}

/**
 * Whether the model can't go on before the caller has answered. Tools that the upstream hosts are
 * answered there, in the same answer.
 */
export function waitsForCaller({ type, call_id, execution, environment }: Json): boolean {
  if (type === 'mcp_approval_request') return true;
  if (typeof call_id !== 'string' || asString(type).endsWith('_output')) return false;
  return execution !== 'server' && asObject(environment).type !== HOSTED_SHELL;
}

/**
 * The turn of an answer: all that the model has said, but for the caller's calls, to which there
 * are no results.
 *
 * @param items in order
 * @param sorter that they have passed through
 * @param isUnstored see `Turn`
 */
export function turnOf(items: readonly Json[], sorter: ItemSorter, isUnstored?: boolean): ToolTurn {
  const said: Json[] = [];
  let held: Json[] = [];
  for (const item of items) {
    if (item.type === 'reasoning') {
      held.push(item);
      continue;
    }
    if (sorter.calls(item) || !waitsForCaller(item)) said.push(...held, item);
    held = [];
  }
  return {
    said: said.map((item) => (sorter.calls(item) ? withObject(item) : item)),
    calls: said.filter((item) => sorter.calls(item)).map(callOf),
    ...(isUnstored ? { isUnstored } : {}),
  };
}

function callOf({ call_id, name, arguments: input }: Json): ToolCall {
  return { id: asString(call_id), name: asString(name), arguments: asString(input) };
}

function withObject(call: Json): Json {
  return isObjectJson(asString(call.arguments)) ? call : { ...call, arguments: '{}' };
}

/**
 * A body that went up, with a turn and the results of its calls.
 *
 * @param results in the order of the calls
 */
export function goOnResponses(body: Uint8Array, turn: ToolTurn, results: readonly string[]): Uint8Array {
  const said = isStored(body) && !turn.isUnstored ? turn.said : withoutStored(turn.said);
  const answered = turn.calls.map(({ id }, index) => ({
    type: 'function_call_output',
    call_id: id,
    output: results[index] ?? '',
  }));
  return appendTo(body, 'input', [...said, ...answered]);
}

function isStored(body: Uint8Array): boolean {
  const root = scanObject(body, { fields: {} });
  const store = root && fieldOf(root, 'store')?.value;
  return !store || jsonOf(body, store) !== false;
}

/**
 * Items as they can be said to an upstream that stores nothing: reasoning is only an id there,
 * unless it is encrypted, and the call behind it must not name the id under which the two belong
 * together.
 */
function withoutStored(said: readonly object[]): object[] {
  const isLost = (item: Json): boolean => item.type === 'reasoning' && !item.encrypted_content;
  return said.flatMap((item, index) => {
    const { id, ...rest } = item as Json;
    if (isLost(item as Json)) return [];
    return isLost(asObject(said[index - 1])) ? [rest] : [id === undefined ? rest : { id, ...rest }];
  });
}
