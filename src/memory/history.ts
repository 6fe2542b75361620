/**
 * The shape of a conversation: turns, units, and which result answers which call.
 *
 * Results are paired by position: a result belongs to the nearest earlier call of that id that has no result yet. Ids
 * repeat across turns in real traffic, so an id alone never names a call. A further result of a call goes with the first one, if
 * it comes in the same turn: some clients tell so what a call does while it runs.
 */
import type { Message, ToolCall } from './message.ts';
import type { Echo } from './session-summary.ts';

/**
 * What may not be split: one user message, or one assistant message with the results of its calls. A summary that came back with its
 * shadow line is one too, and no turn.
 */
export interface Unit {
  readonly kind: 'user' | 'assistant' | 'orphan' | 'summary';
  /** Index of the first message. */
  readonly first: number;
  /** Index of the last message, inclusive. Preamble messages may stand between the two; they belong to no unit. */
  readonly last: number;
  /** The tool outputs of an assistant unit. */
  readonly outputs: readonly Output[];
  /** Whether the assistant message calls tools, by `tool_calls` or by a text observation that answers it. */
  readonly step: boolean;
  /** How many of its calls have no result. A trailing unit of which one has none is open. */
  readonly unanswered: number;
}

/** A tool output and the call that it answers; a text observation answers no call by id. */
export interface Output {
  readonly message: number;
  readonly call?: ToolCall;
}

/** A place where a request was or is made: the array up to `messages`, exclusive. */
export interface RequestPoint {
  readonly messages: number;
  /** How many units begin before it. */
  readonly units: number;
  /** How many turns begin before it. */
  readonly turns: number;
}

export interface History {
  readonly messages: readonly Message[];
  readonly units: readonly Unit[];
  /** For each turn, the index of its user unit. Units before the first of them belong to no turn. */
  readonly turns: readonly number[];
  /** The summary that the caller has sent back. */
  readonly echo: Echo | undefined;
  /** Messages that came so late that they made one unit of several: what was planned of these before does not hold. */
  readonly late: readonly number[];
  /** Ascending; the last one is the array's end. */
  readonly requestPoints: readonly RequestPoint[];
}

/** The name that stands in a marker for the tool behind a text observation. */
export const TEXT_OBSERVATION = 'text_observation';

const OBSERVATION_MARKER = `⟦removed: tool output for ${TEXT_OBSERVATION} (`;

interface OpenUnit {
  /** The unit that has taken this one in, if one has. */
  within?: OpenUnit;
  kind: Unit['kind'];
  first: number;
  last: number;
  outputs: Output[];
  step: boolean;
  unanswered: number;
}

/**
 * Reads the shape of a conversation. Linear in the number of messages.
 *
 * @param observationPrefixes user messages that begin with one of these (leading white space ignored) are tool outputs
 *   of the assistant message before them, not turns (design §2, `text_observation_prefixes`)
 * @param echo a summary that came back (see `findEcho`)
 */
export function readHistory(
  messages: readonly Message[],
  observationPrefixes: readonly string[] = [],
  echo?: Echo,
): History {
  const units: OpenUnit[] = [];
  /** Unanswered calls by id, nearest last: popping is pairing by position. */
  const waiting = new Map<string, { unit: OpenUnit; call: ToolCall }[]>();
  /** Where the calls of this turn are that have a result, by id. */
  const answered = new Map<string, OpenUnit>();

  const late: number[] = [];
  for (const [index, message] of messages.entries()) {
    const previous = units.at(-1);
    if (isEchoPair(echo, index)) {
      if (index === echo?.first) units.push({ ...openUnit('summary', index, 0), last: echo.last });
    } else if (message.role === 'assistant') {
      const unit = openUnit('assistant', index, message.calls.length);
      units.push(unit);
      // Calls of one message are answered in their order, so the first one is to be popped first.
      for (const call of message.calls.toReversed()) {
        const same = waiting.get(call.id);
        if (same) same.push({ unit, call });
        else waiting.set(call.id, [{ unit, call }]);
      }
    } else if (message.role === 'tool') {
      const id = message.answers ?? '';
      const pair = waiting.get(id)?.pop();
      const called = pair?.unit ?? answered.get(id);
      if (called) {
        const unit = outermost(called);
        if (pair) {
          unit.outputs.push({ message: index, call: pair.call });
          unit.unanswered--;
          answered.set(id, pair.unit);
        }
        if (units.at(-1) !== unit) late.push(index);
        closeOver(units, unit, index);
      } else units.push(openUnit('orphan', index, 0));
    } else if (message.role === 'user') {
      if (previous?.kind === 'assistant' && isObservation(message, observationPrefixes)) {
        previous.outputs.push({ message: index });
        previous.step = true;
        previous.last = index;
      } else {
        units.push(openUnit('user', index, 0));
        answered.clear();
      }
    }
  }

  const turns = units.flatMap((unit, index) => (unit.kind === 'user' ? [index] : []));
  return { messages, units, turns, echo, late, requestPoints: requestPoints(messages, units, turns, echo) };
}

/** Whether a message is the shadow line of an echo, or the summary that answers it. */
function isEchoPair(echo: Echo | undefined, index: number): boolean {
  return echo !== undefined && echo.first !== echo.last && index >= echo.first && index <= echo.last;
}

/** The messages of a unit; preamble messages that stand among them are not of it. */
export function messagesOf(history: History, unit: Unit): number[] {
  const indices: number[] = [];
  for (let index = unit.first; index <= unit.last; index++)
    if (history.messages[index]?.role !== 'preamble') indices.push(index);
  return indices;
}

function openUnit(kind: Unit['kind'], index: number, calls: number): OpenUnit {
  return { kind, first: index, last: index, outputs: [], step: calls > 0, unanswered: calls };
}

/** A result that comes late, behind other units, makes one unit of all between it and its call: none may be split. */
function closeOver(units: OpenUnit[], unit: OpenUnit, index: number): void {
  unit.last = index;
  if (units.at(-1) === unit) return;
  while (units.at(-1) !== unit) {
    const swallowed = units.pop();
    if (!swallowed) throw new Error('a result was paired with a call of an unknown unit');
    unit.outputs.push(...swallowed.outputs);
    unit.unanswered += swallowed.unanswered;
    unit.step ||= swallowed.step;
    swallowed.within = unit;
  }
  unit.outputs.sort((a, b) => a.message - b.message);
}

function outermost(unit: OpenUnit): OpenUnit {
  let outer = unit;
  while (outer.within) outer = outer.within;
  return outer;
}

function isObservation(message: Message, prefixes: readonly string[]): boolean {
  if (prefixes.length === 0) return false;
  const text = message.content().text.trimStart();
  return text.startsWith(OBSERVATION_MARKER) || prefixes.some((prefix) => text.startsWith(prefix));
}

/** Before each assistant message that follows a user or tool message, and the array's end. */
function requestPoints(
  messages: readonly Message[],
  units: readonly Unit[],
  turns: readonly number[],
  echo: Echo | undefined,
): RequestPoint[] {
  const points: RequestPoint[] = [];
  let spoke: Message['role'] | undefined;
  let unit = 0;
  let turn = 0;
  const mark = (end: number): void => {
    while (unit < units.length && (units[unit]?.first ?? end) < end) unit++;
    while (turn < turns.length && (turns[turn] ?? unit) < unit) turn++;
    points.push({ messages: end, units: unit, turns: turn });
  };
  for (const [index, message] of messages.entries()) {
    if (message.role === 'preamble' || isEchoPair(echo, index)) continue;
    if (message.role === 'assistant' && (spoke === 'user' || spoke === 'tool')) mark(index);
    spoke = message.role;
  }
  mark(messages.length);
  return points;
}
