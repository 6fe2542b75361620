/**
 * Explains a plan: what becomes of each message and why, how the frontier has moved, and what the
 * next move would remove.
 */
import { heldMessages } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { fateOf } from '../edits/fates.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import type { Move } from '../replay/frontier.ts';
import { frontierUnit } from '../replay/rule.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type {
  ExplainedEdit,
  ExplainedMessage,
  ExplainedMove,
  Explanation,
  KeptBecause,
  ShownEdit,
} from './explanation-schema.ts';
import type { Plan } from './plan.ts';
import type { View } from './view.ts';

/** @param view as rendered from the plan */
export function explain(plan: Plan, view: View, counter: TokenCounter): Explanation {
  const { history, replay } = plan;
  const next = nextOf(plan);
  return {
    messages: explainMessages(plan, view, counter),
    ...(view.summary ? { summary: { covers: view.summary.covers, tokens: view.summary.tokens } } : {}),
    moves: replay.moves.map((move) => moveOf(move, history)),
    ...(next ? { next } : {}),
  };
}

/** Of a request that no plan edits. */
export function explainUnedited(messages: readonly Message[], counter: TokenCounter): Explanation {
  const kept = messages.map((message, index): ExplainedMessage => {
    const { role } = message;
    const tokens = counter.message(message);
    const because = role === 'preamble' ? 'preamble' : 'unedited';
    return { index, role, before: tokens, after: tokens, fate: 'kept', because };
  });
  return { messages: kept, moves: [] };
}

function explainMessages(plan: Plan, view: View, counter: TokenCounter): readonly ExplainedMessage[] {
  const { history, replay } = plan;
  const { messages, units } = history;
  const frontier = frontierUnit(replay.cuts);
  const tail = units[frontier]?.first ?? messages.length;
  const fresh = 1 + messages.findLastIndex(({ role }) => role === 'assistant');
  const held = heldMessages(history, frontier);
  const first = view.recap?.after;
  const prefix = plan.trimmed?.prefix ?? plan.prefix;
  const running = prefix?.running;
  const request = view.trim?.request?.message ?? view.summary?.request?.message ?? prefix?.request;
  // User messages between the two cuts stay with the steps after the frontier.
  const { turn, step } = replay.cuts;
  const asked = new Set(
    units.slice(turn, step).flatMap((unit) => (unit.kind === 'user' ? [unit.first] : [])),
  );
  const because = (index: number, role: Message['role']): KeptBecause => {
    if (role === 'preamble') return 'preamble';
    if (index === first) return 'first_request';
    if (index === request || index === running || asked.has(index)) return 'request';
    if (index >= fresh && role === 'tool') return 'fresh';
    if (index >= tail) return 'tail';
    return held.has(index) ? 'held' : 'unedited';
  };
  return messages.map((message, index): ExplainedMessage => {
    const { role } = message;
    const before = counter.message(message);
    if (view.dropped.has(index)) {
      const isCovered = index <= (view.summary?.covers[1] ?? -1);
      return { index, role, before, after: 0, fate: isCovered ? 'summarized' : 'trimmed' };
    }
    const removals = view.removals.get(index) ?? [];
    const shown = view.rounds?.get(index);
    const more = shown ? { kept_rounds: { rounds: shown.rounds, tokens: shown.tokens } } : {};
    if (removals.length === 0)
      return { index, role, before, after: before, fate: 'kept', because: because(index, role), ...more };
    const fate = fateOf(removals);
    const edits = removals.map(shownEditOf);
    return { index, role, before, after: before - freedBy(removals), fate, edits, ...more };
  });
}

function shownEditOf(removal: Removal): ShownEdit {
  const { message: _, ...edit } = editOf(removal);
  return removal.kind === 'reasoning' ? edit : { ...edit, text: removal.replacement };
}

function editOf({ message, kind, reason, tool, callId, ref, tokens, freed }: Removal): ExplainedEdit {
  return {
    message,
    kind,
    reason,
    tool_name: tool,
    tool_call_id: callId,
    ...(ref === undefined ? {} : { ref }),
    tokens,
    freed,
  };
}

function moveOf({ cuts, settled: _, ...move }: Move, { messages, units }: History): ExplainedMove {
  return { ...move, frontier: units[frontierUnit(cuts)]?.first ?? messages.length };
}

function nextOf({ ahead, history }: Plan): Explanation['next'] {
  const needs = ahead?.();
  if (!needs || (needs.upcoming.length === 0 && !needs.next)) return undefined;
  const first = history.messages.findIndex(({ role }) => role !== 'preamble');
  return {
    edits: needs.upcoming.map(editOf),
    ...(needs.next ? { summarizes: [first, needs.next.end - 1] } : {}),
  };
}
