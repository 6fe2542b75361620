/**
 * Replays that go on where the one of an earlier array has come to.
 *
 * The state of a replay before a request point follows from the messages before it, under all else
 * that the replay depends on. So it holds where the facts about the last of them (`MessageFacts`)
 * do: in every array that begins with the same messages. Of an array and its terms the newest state
 * is kept, and few of all arrays with one first request. A plan is the same with it and without, as
 * `known-replay.test.ts` shows.
 *
 * Later messages and the tools of a request may change what earlier request points hold back
 * (`bonds.ts`). A state goes on where the bonds are those that its last request has known.
 */
import { textBytes } from '../../lib/copy.ts';
import { bondsKnownAt } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import { type KeptReasonings, reasoningBefore } from '../conversation/kept-reasoning.ts';
import type { MessageFacts } from '../conversation/message.ts';
import type { LiteralFacts } from '../edits/earlier-literals.ts';
import type { FirstRequest } from '../edits/first-request.ts';
import { isSame, type RemovalFacts, type RemovalSettings } from '../edits/removal.ts';
import type { ModelTerms } from '../models/terms.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { type Replay, type ReplayState, replay } from './frontier.ts';
import type { JournalEntry } from './journal.ts';
import type { RoundsInView, RoundsState } from './kept-rounds.ts';
import type { Mover } from './mover.ts';
import type { ReplayRule } from './rule.ts';

/** All that a replay depends on, beside the array and the rounds in it. */
interface ReplayTerms {
  /** The strategy, the tokenizer and the refs. */
  readonly settings: RemovalSettings;
  /** The rule and the model, as JSON. */
  readonly others: string;
}

/** What is the same in the states of all movers. */
interface MoverState {
  readonly rounds: RoundsState;
  /** Of a journal. */
  readonly entries?: readonly Pick<JournalEntry, 'removals'>[];
  readonly light?: readonly Pick<JournalEntry, 'removals'>[];
}

/** The state of a replay, under its terms. */
interface KnownReplay {
  readonly terms: ReplayTerms;
  readonly state: ReplayState<MoverState>;
  /** See `requestsBefore`. */
  readonly requests: string;
  /** As the last request has known them. */
  readonly bonds: string;
  /** The facts about the last message before its request point. */
  readonly holder: MessageFacts;
  /** An upper estimate of its memory. */
  readonly bytes: number;
}

/**
 * The most states of arrays with one first request: forks, sub-agents with the same question, and
 * terms that change with each request. Requests whose arrays are not kept leave states, too.
 */
const MOST_STATES = 16;

/** By the facts about the last message of the first request. The newest state is the last one. */
const known = new WeakMap<MessageFacts, readonly KnownReplay[]>();

interface Replayed {
  readonly history: History;
  readonly rule: ReplayRule;
  readonly terms: ModelTerms;
  /** Whether the model can fetch removed contents. */
  readonly retrieval?: boolean;
  /** See `PlanRequest`. */
  readonly closed?: readonly number[] | undefined;
  /** See `PlanRequest`. */
  readonly reasoning?: KeptReasonings | undefined;
  readonly inView: RoundsInView;
}

/**
 * Finds the frontier, and leaves the state from which the replay of a longer array goes on.
 *
 * @param settings of the removals that the mover makes
 * @param first the first request, if it stays
 */
export function replayOn<State extends MoverState>(
  replayed: Replayed,
  sums: TokenSums,
  mover: Mover<State>,
  settings: RemovalSettings,
  first?: FirstRequest,
): Replay {
  const { history, rule } = replayed;
  const terms = { settings, others: othersOf(replayed, sums, first) };
  const found = findState(replayed, terms);
  // The settings name the mode, so the state is one of its mover.
  const from = found?.state as ReplayState<State> | undefined;
  const reached = (state: ReplayState<State>): void => {
    const holder = holderOf(history, state.point);
    const root = holderOf(history, 0);
    if (!holder || !root) return;
    const others = knownReplays(root).filter((one) => !areSame(one.terms, terms) || !isOf(one, history));
    const requests = requestsBefore(replayed, state.point);
    const bonds = bondsBefore(history, state.point);
    const bytes = bytesOf(terms, state) + textBytes(bonds) + textBytes(requests);
    const made = { terms, state, requests, bonds, holder, bytes };
    known.set(root, [...others, made].slice(-MOST_STATES));
  };
  return replay(history, rule, sums, mover, { from, reached });
}

/** The newest state that the replay may go on from. */
function findState(replayed: Replayed, terms: ReplayTerms): KnownReplay | undefined {
  const { history, inView } = replayed;
  const { requestPoints } = history;
  const root = holderOf(history, 0);
  let newest: KnownReplay | undefined;
  for (const one of root ? knownReplays(root) : []) {
    const { point, mover } = one.state;
    if (point <= (newest?.state.point ?? 0) || point > requestPoints.length - 2) continue;
    if (!isOf(one, history) || !areSame(one.terms, terms)) continue;
    const arrived = requestPoints[point - 1]?.messages ?? 0;
    if (requestsBefore(replayed, point) !== one.requests) continue;
    if (bondsBefore(history, point) !== one.bonds) continue;
    if (inView.isSameBefore(arrived, mover.rounds)) newest = one;
  }
  return newest;
}

/**
 * What is known of the requests before a request point: closed ones, cold returns, and the
 * reasoning that is kept of their answers.
 */
function requestsBefore({ history, closed = [], rule, reasoning }: Replayed, point: number): string {
  const arrived = history.requestPoints[point - 1]?.messages ?? 0;
  const before = (all: Iterable<number>): string => [...all].filter((length) => length <= arrived).join();
  return `${before(closed)};${before(rule.cold ?? [])};${reasoningBefore(reasoning, arrived)}`;
}

/** Those that the request before a request point has known. */
function bondsBefore(history: History, point: number): string {
  const before = history.requestPoints[point - 1];
  return before ? bondsKnownAt(history, before) : '';
}

/** Whether an array begins with the messages that a state follows from. */
function isOf({ state, holder }: KnownReplay, history: History): boolean {
  return holderOf(history, state.point) === holder;
}

/** The facts that hold the state before a request point. */
function holderOf({ messages, requestPoints }: History, point: number): MessageFacts | undefined {
  return messages[(requestPoints[point]?.messages ?? 0) - 1]?.facts;
}

function areSame(one: ReplayTerms, other: ReplayTerms): boolean {
  return one.others === other.others && isSame(one.settings, other.settings);
}

function othersOf(
  { history: { echo }, rule, terms, retrieval = false, inView }: Replayed,
  sums: TokenSums,
  first: FirstRequest | undefined,
): string {
  // These count at the last request point alone.
  const { answer: _, force: __, still: ___, cold, thinking, ...lasting } = rule;
  const late = thinking && [thinking.late ?? null];
  const summary = echo && [echo.first, echo.last, echo.message, echo.request, echo.ref];
  const weighs = [terms, retrieval, cold !== undefined];
  return JSON.stringify([lasting, late, ...weighs, inView.most, sums.before(0), first, summary]);
}

/** The states of arrays with one first request, by the facts about its last message. */
export function knownReplays(root: MessageFacts): readonly KnownReplay[] {
  return known.get(root) ?? [];
}

/** Bytes of an entry of a journal, a move or a round. */
const ENTRY_BYTES = 300;
const NUMBER_BYTES = 8;

function bytesOf({ others }: ReplayTerms, { moves, waited, mover }: ReplayState<MoverState>): number {
  const { rounds, entries = [], light = [] } = mover;
  const removals = [...entries, ...light].flatMap((one) => one.removals);
  const texts = removals.reduce((sum, { replacement }) => sum + textBytes(replacement), 0);
  const all = 1 + moves.length + entries.length + light.length + removals.length + rounds.inView.length;
  return (
    textBytes(others) + textBytes(rounds.came) + ENTRY_BYTES * all + NUMBER_BYTES * waited.length + texts
  );
}

/** The object, its hashes, and its share of the states that are kept with it. */
const FIXED_BYTES = 1_000;
/** A call or a removal, without its texts. */
const OBJECT_BYTES = 200;

/** The memory that facts about a message take, in bytes, as an upper estimate. */
export function factsBytes(facts: RemovalFacts & LiteralFacts): number {
  const { calls = [], removals, origins, written = [] } = facts;
  let bytes = FIXED_BYTES + (origins?.bytes ?? 0);
  for (const state of knownReplays(facts)) bytes += state.bytes;
  for (const { id, name, input } of calls)
    bytes += OBJECT_BYTES + textBytes(id) + textBytes(name) + textBytes(input);
  for (const file of written) bytes += textBytes(file ?? '');
  for (const removal of removals?.byName.values() ?? [])
    bytes += OBJECT_BYTES + (removal ? textBytes(removal.replacement) : 0);
  return bytes;
}
