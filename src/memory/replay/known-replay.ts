/**
 * Replays that go on where the one of an earlier array has come to.
 *
 * The state of a replay before a request point follows from the messages before it. So it belongs
 * to the facts about the last of them (`MessageFacts`), which hold in every array that begins with
 * the same messages, under all else that the replay depends on. Of an array the newest state is
 * kept. A plan is the same with it and without, as `known-replay.test.ts` shows.
 *
 * A late result changes what earlier request points hold back (`bonds.ts`), so an array that has
 * one, or a call without its result, is replayed from its beginning.
 */
import type { History } from '../conversation/history.ts';
import type { MessageFacts } from '../conversation/message.ts';
import type { FirstRequest } from '../edits/first-request.ts';
import { isSame, type RemovalSettings } from '../edits/known-removal.ts';
import type { ModelTerms } from '../models/terms.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { type Mover, type Replay, type ReplayState, replay } from './frontier.ts';
import type { RoundsInView, RoundsState } from './kept-rounds.ts';
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
  readonly entries?: readonly unknown[];
  readonly light?: readonly unknown[];
}

/** The state of a replay, under its terms. */
export interface KnownReplay {
  readonly terms: ReplayTerms;
  readonly state: ReplayState<MoverState>;
}

/** By the facts about the last message before the request point of a state. */
const known = new WeakMap<MessageFacts, KnownReplay>();

/** What is replayed. */
interface Replayed {
  readonly history: History;
  readonly rule: ReplayRule;
  readonly terms: ModelTerms;
  /** Whether the model can fetch removed contents. */
  readonly retrieval?: boolean;
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
  if (history.bonds.length > 0) return replay(history, rule, sums, mover);
  const terms = { settings, others: othersOf(replayed, sums, first) };
  const holder = findState(replayed, terms);
  // The settings name the mode, so the state is one of its mover.
  const from = holder && (known.get(holder)?.state as ReplayState<State> | undefined);
  const reached = (state: ReplayState<State>): void => {
    if (holder) known.delete(holder);
    const next = holderOf(history, state.point);
    if (next) known.set(next, { terms, state });
  };
  return replay(history, rule, sums, mover, { from, reached });
}

/** The holder of the newest state that the replay may go on from. */
function findState({ history, inView }: Replayed, terms: ReplayTerms): MessageFacts | undefined {
  const { requestPoints } = history;
  for (let point = requestPoints.length - 2; point > 0; point--) {
    const holder = holderOf(history, point);
    const found = holder && known.get(holder);
    if (found?.state.point !== point || !areSame(found.terms, terms)) continue;
    const arrived = requestPoints[point - 1]?.messages ?? 0;
    if (inView.isSameBefore(arrived, found.state.mover.rounds)) return holder;
  }
  return undefined;
}

/** The facts that hold the state before a request point. */
function holderOf({ messages, requestPoints }: History, point: number): MessageFacts | undefined {
  return messages[(requestPoints[point]?.messages ?? 0) - 1]?.facts;
}

function areSame(one: ReplayTerms, other: ReplayTerms): boolean {
  return one.others === other.others && isSame(one.settings, other.settings);
}

function othersOf(
  { history: { echo }, rule, terms, retrieval = false }: Replayed,
  sums: TokenSums,
  first: FirstRequest | undefined,
): string {
  // These count at the last request point alone.
  const { answer: _, force: __, still: ___, thinking, ...lasting } = rule;
  const late = thinking && [thinking.late ?? null];
  const summary = echo && [echo.first, echo.last, echo.message, echo.request, echo.ref];
  return JSON.stringify([lasting, late, terms, retrieval, sums.before(0), first, summary]);
}

/** The state that belongs to the facts about a message; undefined if there is none. */
export function knownReplayAt(facts: MessageFacts): KnownReplay | undefined {
  return known.get(facts);
}

/** Bytes of an entry of a journal, a move or a round. */
const ENTRY_BYTES = 300;

/** Bytes of the state that belongs to facts, as an upper estimate; 0 without one. */
export function knownReplayBytes(facts: MessageFacts): number {
  const found = known.get(facts);
  if (!found) return 0;
  const { moves, mover } = found.state;
  const { rounds, entries = [], light = [] } = mover;
  const all = 1 + moves.length + entries.length + light.length + rounds.came.length;
  return found.terms.others.length + ENTRY_BYTES * all;
}
