/**
 * The shape of a conversation: turns, units, and which result answers which call.
 *
 * Results are paired by position: a result belongs to the nearest earlier call of its id that has
 * no result yet. Ids repeat across turns in real traffic, so an id alone is not enough. Further
 * results of a call in the same turn go with the first one; some clients report a running call's
 * progress so.
 *
 * A user message begins a turn, but for what a program has put after results (`remarks.ts`): that
 * is a unit of the running turn, and is trimmed as a step.
 *
 * A unit is a user message, or an assistant message with all results of its calls in whatever order
 * they come, and is never split. A result that comes after the model was asked again is a unit of
 * its own, bound to its call (`bonds.ts`), so the units before a request point never change.
 * Where the upstream runs a tool, its result may come in a later answer, after results of the
 * caller's: all answers from its use to that one are bound likewise.
 * A unit that has loaded a tool stays as long as the request defers that tool, and the result that
 * has loaded it is no output.
 * Results that no assistant message has followed yet are never edited or dropped, with or without a
 * call. Messages of unknown roles count as preamble and are never edited.
 */

import { elementAt } from '../../lib/elements.ts';
import { InvariantError } from '../../lib/invariant-error.ts';
import type { Message, ToolCall } from './message.ts';
import { beginsAsObservation } from './refs.ts';
import { isRemark } from './remarks.ts';
import type { Echo } from './session-summary.ts';

/**
 * The smallest part that is never split: one user message, or one assistant message with the
 * results of its calls, and with the messages that continue it. A summary that comes back with its
 * shadow line is a unit too, but no turn.
 * A result that comes after the model was asked again is its own unit (`late`), so that earlier
 * units stay as they were in that request; a bond links it to its call.
 */
export interface Unit {
  readonly kind: 'user' | 'remark' | 'assistant' | 'late' | 'orphan' | 'summary';
  /** Index of the first message. */
  readonly first: number;
  /** Index of the last message, inclusive. Preamble messages in between belong to no unit. */
  readonly last: number;
  /** The tool outputs of an assistant or late unit, but for those that have loaded a tool. */
  readonly outputs: readonly Output[];
  /** Whether the assistant message calls tools, or a text observation answers it. */
  readonly step: boolean;
  /** The number of calls without a result. */
  readonly unanswered: number;
  /** Whether a tool of the upstream has run from it, or until it, while other units came. */
  readonly spans?: boolean;
}

/**
 * A unit with late or missing results. It leaves the view together with all of them, or not at all.
 */
export interface Bond {
  /** The index of that unit. */
  readonly caller: number;
  /**
   * Its late results, ascending. If it uses a tool of the upstream whose result has come in a later
   * answer, all answers up to that one.
   */
  readonly results: readonly BoundUnit[];
  /** Whether a call still waits for its result, or a loaded tool needs one of the units. */
  readonly open: boolean;
  /** Whether its thinking must be the first of what the model says in a turn (`turn-heads.ts`). */
  readonly leads?: boolean;
}

interface BoundUnit {
  /** Its index. */
  readonly unit: number;
  /** The message that binds it. */
  readonly message: number;
  /** Whether its call already had a result, so that this one was not expected. */
  readonly further: boolean;
}

/** A run of steps in which words after results have begun turns. */
interface Run {
  /** The index of the user unit that it began with. */
  readonly request: number;
  /** The first unit of the first such turn. */
  readonly from: number;
  /** Inclusive. */
  readonly last: number;
}

/** A tool output and its call. A text observation has none. */
export interface Output {
  readonly message: number;
  readonly call?: ToolCall;
}

/** Where a request was or is made: the array up to `messages`, exclusive. */
export interface RequestPoint {
  readonly messages: number;
  /** The number of units that begin before it. */
  readonly units: number;
  /** The number of turns that begin before it. */
  readonly turns: number;
}

export interface History {
  readonly messages: readonly Message[];
  readonly units: readonly Unit[];
  /** The index of each turn's user unit. Units before the first one belong to no turn. */
  readonly turns: readonly number[];
  /** The summary that the caller has sent back. */
  readonly echo: Echo | undefined;
  /** Ascending. Empty if all results directly follow their calls. */
  readonly bonds: readonly Bond[];
  /** Ascending. */
  readonly runs: readonly Run[];
  /** Messages that load tools which the request does not defer. Their results are outputs. */
  readonly idle: readonly number[];
  /** Ascending; the last one is the array's end. */
  readonly requestPoints: readonly RequestPoint[];
}

/** A unit as it is read. */
interface OpenUnit extends Writable<Unit> {
  /** The unit that this one was merged into. */
  within?: OpenUnit;
  outputs: Output[];
  /** Its late results; for a late unit, the unit with the call. */
  late?: { readonly unit: OpenUnit; readonly message: number; readonly further: boolean }[];
  caller?: OpenUnit;
  /** Whether the model can't call a tool without it. */
  loads?: boolean;
}

type Writable<Read> = { -readonly [Member in keyof Read]: Read[Member] };

/** Answers from the use of a tool of the upstream to its result. */
interface HostedRun {
  readonly first: OpenUnit;
  last: OpenUnit;
  /** Ids of the uses that wait for their results. */
  readonly waiting: Set<string>;
}

/** A run as it is read. It ends before a unit, or goes on. */
interface OpenRun {
  readonly request: OpenUnit;
  readonly from: OpenUnit;
  readonly end?: OpenUnit;
}

/**
 * Reads the shape of a conversation. Linear in the number of messages.
 *
 * @param observationPrefixes user messages that begin with one of these (leading white space
 *   ignored) are tool outputs of the assistant message before them, not turns
 *   (docs/design.md#2-words-use-these-in-code-docs-and-tests, `text_observation_prefixes`)
 * @param echo a summary that came back (see `findEcho`)
 */
export function readHistory(
  messages: readonly Message[],
  observationPrefixes: readonly string[] = [],
  echo?: Echo,
): History {
  const reader = new Reader(observationPrefixes);
  for (const [index, message] of messages.entries()) {
    if (!isEchoPair(echo, index)) reader.read(index, message);
    else if (index === echo?.first) reader.units.push({ ...openUnit('summary', index, 0), last: echo.last });
  }
  const { units, asks, hosted, runs, idle } = reader;
  const turns = units.flatMap(({ kind }, unit) => (kind === 'user' ? [unit] : []));
  return {
    messages,
    units,
    turns,
    echo,
    bonds: bondsOf(units, hosted),
    runs: runsIn(units, runs),
    idle,
    requestPoints: pointsAt([...asks, messages.length], units, turns),
  };
}

class Reader {
  readonly units: OpenUnit[] = [];
  /** Assistant messages that follow a user or tool message. */
  readonly asks: number[] = [];
  /** Ascending. Only the last one may still wait. */
  readonly hosted: HostedRun[] = [];
  /** Ascending. Only the last one may go on. */
  readonly runs: OpenRun[] = [];
  readonly idle: number[] = [];
  private readonly prefixes: readonly string[];
  private spoke: Message['role'] | undefined;
  /** Whether nothing but user messages has come since results. */
  private isAfterResults = false;
  /** Whether one of these results loads a tool. */
  private isAfterLoading = false;
  /** The user unit of the turn. */
  private asked: OpenUnit | undefined;
  /**
   * Units that begin before this message are closed: the model has been asked about them, or a late
   * result is bound to one.
   */
  private closed = -1;
  /** Unanswered calls by id, the nearest last, so that `pop` pairs by position. */
  private readonly waiting = new Map<string, { unit: OpenUnit; call: ToolCall }[]>();
  /** The units of answered calls in this turn, by id. */
  private readonly answered = new Map<string, OpenUnit>();

  constructor(prefixes: readonly string[]) {
    this.prefixes = prefixes;
  }

  read(index: number, message: Message): void {
    if (message.role === 'preamble') return;
    if (message.role === 'assistant') this.assistant(index, message);
    else if (message.role === 'tool') this.result(index, message);
    else this.user(index, message);
    if (message.role !== 'user') this.isAfterResults = message.role === 'tool' && this.isAnswered;
    if (message.role === 'assistant') this.isAfterLoading = false;
    if (message.loads === 'idle') this.idle.push(index);
    this.spoke = message.role;
  }

  /** Whether the last answer has all its results. Late ones may belong to a run that is over. */
  private get isAnswered(): boolean {
    const last = this.units.at(-1);
    return last?.kind === 'assistant' && last.unanswered === 0;
  }

  private assistant(index: number, message: Message): void {
    if (this.spoke === 'user' || this.spoke === 'tool') {
      this.asks.push(index);
      this.closed = index;
    }
    const before = this.units.at(-1);
    const unit = openUnit('assistant', index, message.calls.length);
    this.units.push(unit);
    if (message.continues && before?.kind === 'assistant' && this.spoke === 'assistant')
      closeOver(this.units, before).last = index;
    this.serve(outermost(unit), message);
    if (message.loads === 'needed') outermost(unit).loads = true;
    // Calls of one message are answered in order, so the first one must be popped first.
    for (const call of message.calls.toReversed()) {
      const same = this.waiting.get(call.id);
      if (same) same.push({ unit, call });
      else this.waiting.set(call.id, [{ unit, call }]);
    }
  }

  /**
   * Follows the uses of tools of the upstream. One whose result does not come with an answer that
   * ends its turn is no longer waited for.
   */
  private serve(unit: OpenUnit, message: Message): void {
    const { hostedUses = [], hostedResults = [] } = message;
    const run = this.hosted.at(-1);
    const waiting = run?.waiting;
    if (!run || !waiting || waiting.size === 0) {
      if (hostedUses.length > 0) this.hosted.push({ first: unit, last: unit, waiting: new Set(hostedUses) });
      return;
    }
    run.last = unit;
    const first = outermost(run.first);
    if (unit !== first) for (const end of [first, unit]) end.spans = true;
    const came = hostedResults.filter((id) => waiting.delete(id));
    if (came.length === 0 && message.calls.length === 0 && !message.continues) waiting.clear();
    for (const id of hostedUses) waiting.add(id);
  }

  private result(index: number, message: Message): void {
    const id = message.answers ?? '';
    const pair = this.waiting.get(id)?.pop();
    const called = pair?.unit ?? this.answered.get(id);
    if (!called) {
      this.units.push(openUnit('orphan', index, 0));
      return;
    }
    const caller = outermost(called);
    const unit = this.unitFor(caller, index, pair === undefined);
    unit.last = index;
    this.isAfterLoading ||= message.loads !== undefined;
    if (message.loads === 'needed') caller.loads = true;
    if (!pair) return;
    if (message.loads !== 'needed') unit.outputs.push({ message: index, call: pair.call });
    caller.unanswered--;
    this.answered.set(id, pair.unit);
  }

  /**
   * The unit of a result. All calls of one answer, their results and everything in between are one
   * unit.
   */
  private unitFor(caller: OpenUnit, message: number, further: boolean): OpenUnit {
    const last = this.units.at(-1);
    if (last === caller) return caller;
    if (caller.first >= this.closed) return closeOver(this.units, caller);
    const unit = last?.caller === caller ? last : { ...openUnit('late', message, 0), caller };
    if (unit !== last) this.units.push(unit);
    caller.late ??= [];
    caller.late.push({ unit, message, further });
    this.closed = message;
    return unit;
  }

  private user(index: number, message: Message): void {
    const previous = this.units.at(-1);
    const answers = previous?.kind === 'assistant' || previous?.kind === 'late';
    if (previous && answers && isObservation(message, this.prefixes)) {
      previous.outputs.push({ message: index });
      previous.step = previous.kind === 'assistant';
      previous.last = index;
      return;
    }
    this.answered.clear();
    if (this.isAfterResults && isRemark(message, this.isAfterLoading)) {
      this.units.push(openUnit('remark', index, 0));
      return;
    }
    const unit = openUnit('user', index, 0);
    this.units.push(unit);
    this.run(unit);
    this.asked = unit;
  }

  /** Follows the runs: a turn that begins after results continues the run before it. */
  private run(unit: OpenUnit): void {
    const last = this.runs.at(-1);
    const isOpen = last !== undefined && last.end === undefined;
    if (!this.isAfterResults) {
      if (isOpen) this.runs[this.runs.length - 1] = { ...last, end: unit };
    } else if (!isOpen && this.asked) this.runs.push({ request: this.asked, from: unit });
  }
}

function runsIn(units: readonly OpenUnit[], runs: readonly OpenRun[]): Run[] {
  if (runs.length === 0) return [];
  const indices = new Map(units.map((unit, index) => [unit, index]));
  return runs.flatMap(({ request: asked, from: began, end }) => {
    // A result that came late may have put one of them into a unit of calls.
    const [request, from] = [indices.get(asked), indices.get(began)];
    const next = end && indices.get(outermost(end));
    return request === undefined || from === undefined
      ? []
      : [{ request, from, last: (next ?? units.length + 1) - 1 }];
  });
}

/** The units with late or missing results. */
function bondsOf(units: readonly OpenUnit[], hosted: readonly HostedRun[]): Bond[] {
  const indices = new Map<OpenUnit, number>();
  for (const [index, unit] of units.entries()) if (unit.kind === 'late') indices.set(unit, index);
  const ofHosted = hosted.length === 0 ? [] : bondsOfHosted(units, hosted);
  const inRun = new Set(
    ofHosted.flatMap(({ caller, results }) => [caller, ...results.map(({ unit }) => unit)]),
  );
  const ofCalls = units.flatMap(({ late = [], unanswered, loads = false }, caller) => {
    const open = unanswered > 0 || (loads && !inRun.has(caller));
    if (late.length === 0 && !open) return [];
    const results = late.map(({ unit, ...result }) => ({ ...result, unit: indices.get(unit) ?? caller }));
    return [{ caller, results, open }];
  });
  if (hosted.length === 0) return ofCalls;
  return [...ofCalls, ...ofHosted].sort((one, other) => one.caller - other.caller);
}

function bondsOfHosted(units: readonly OpenUnit[], hosted: readonly HostedRun[]): Bond[] {
  const indices = new Map(units.map((unit, index) => [unit, index]));
  const indexOf = (unit: OpenUnit): number => indices.get(outermost(unit)) ?? 0;
  return hosted.flatMap(({ first, last, waiting }) => {
    const caller = indexOf(first);
    let open = waiting.size > 0 || elementAt(units, caller).loads === true;
    const results: BoundUnit[] = [];
    for (let unit = caller + 1; unit <= indexOf(last); unit++) {
      const { kind, first: message, loads } = elementAt(units, unit);
      open ||= loads === true;
      if (kind !== 'user' && kind !== 'remark') results.push({ unit, message, further: false });
    }
    return results.length > 0 || open ? [{ caller, results, open }] : [];
  });
}

/** Whether a message is an echo's shadow line or the summary after it. */
function isEchoPair(echo: Echo | undefined, index: number): boolean {
  return echo !== undefined && echo.first !== echo.last && index >= echo.first && index <= echo.last;
}

/** The messages of a unit, without preamble messages among them. */
export function messagesOf(history: History, unit: Unit): number[] {
  const indices: number[] = [];
  for (let index = unit.first; index <= unit.last; index++)
    if (history.messages[index]?.role !== 'preamble') indices.push(index);
  return indices;
}

/** The messages before this index were in a request that has been answered. */
export function answeredBefore({ requestPoints }: Pick<History, 'requestPoints'>): number {
  return requestPoints.at(-2)?.messages ?? 0;
}

/** Whether a unit is trimmed as a step of a turn that stays. */
export function goesWithSteps({ step, kind, spans = false }: Unit): boolean {
  return step || spans || kind === 'late' || kind === 'remark';
}

function openUnit(kind: Unit['kind'], index: number, calls: number): OpenUnit {
  return { kind, first: index, last: index, outputs: [], step: calls > 0, unanswered: calls };
}

/**
 * Merges all units after one into it. Sorts its outputs only if a merged unit has brought some:
 * a unit may have thousands of results, each with words before it.
 */
function closeOver(units: OpenUnit[], unit: OpenUnit): OpenUnit {
  let isSorted = true;
  while (units.at(-1) !== unit) {
    const swallowed = units.pop();
    if (!swallowed) throw new InvariantError('a result was paired with a call of an unknown unit');
    unit.outputs.push(...swallowed.outputs);
    isSorted &&= swallowed.outputs.length === 0;
    unit.unanswered += swallowed.unanswered;
    unit.step ||= swallowed.step;
    if (swallowed.loads) unit.loads = true;
    swallowed.within = unit;
  }
  if (!isSorted) unit.outputs.sort((a, b) => a.message - b.message);
  return unit;
}

function outermost(unit: OpenUnit): OpenUnit {
  let outer = unit;
  while (outer.within) outer = outer.within;
  return outer;
}

function isObservation(message: Message, prefixes: readonly string[]): boolean {
  if (prefixes.length === 0) return false;
  const text = message.content().text.trimStart();
  return beginsAsObservation(text) || prefixes.some((prefix) => text.startsWith(prefix));
}

/** The points at which a request was or is made. @param ends ascending */
function pointsAt(ends: readonly number[], units: readonly Unit[], turns: readonly number[]): RequestPoint[] {
  let unit = 0;
  let turn = 0;
  return ends.map((end) => {
    while (unit < units.length && (units[unit]?.first ?? end) < end) unit++;
    while (turn < turns.length && (turns[turn] ?? unit) < unit) turn++;
    return { messages: end, units: unit, turns: turn };
  });
}
