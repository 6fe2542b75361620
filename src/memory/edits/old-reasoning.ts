/**
 * Clears the reasoning of old turns: whole items or whole fields, with the calls and texts that it
 * led to untouched. Nothing replaces it, and nothing is stored: what is encrypted can't be read by
 * anyone, and no placeholder could name a ref.
 *
 * A message says which reasoning it can do without (`Message.reasoning`), the terms of the model
 * whether its API takes a history without it (`memory/models/past-reasoning.ts`), and the request
 * point how many turns keep theirs. The phase passes units by its own count, as the one for media
 * does, since the frontier may have passed a unit before its reasoning is old.
 */
import { elementAt } from '../../lib/elements.ts';
import type { KeptReasoning } from '../conversation/kept-reasoning.ts';
import type { Message, Reasoning } from '../conversation/message.ts';
import type { ReasoningTerms } from '../models/past-reasoning.ts';
import { type CompactContext, remembered } from './compact.ts';
import { NO_CALL } from './placeholder.ts';
import type { Removal } from './removal.ts';

/** The name that is used instead of a tool's. */
const NO_TOOL = 'reasoning';

/** The settings of `auto` for reasoning. */
interface ReasoningSettings {
  /** Absent: where the API is known to bill reasoning, and to accept a history without it. */
  readonly clear_reasoning?: boolean | undefined;
  /** The newest turns whose reasoning stays, with the current one. At least 1. */
  readonly keep_reasoning_turns: number;
}

/** The removals of old reasoning in the units of a history. */
export interface OldReasoning {
  /** The first unit whose reasoning stays in a request with this many turns. */
  staysFrom(turns: number): number;
  /** The removal of a unit's reasoning: at most one. */
  in(index: number): readonly Removal[];
}

/**
 * The removals of old reasoning; undefined if it stays in every form.
 *
 * @param kept what is kept of reasoning, by message: over its API it is an item
 */
export function oldReasoning(
  { clear_reasoning: setting, keep_reasoning_turns: keepTurns }: ReasoningSettings,
  terms: ReasoningTerms,
  context: CompactContext,
  kept: ReadonlyMap<number, KeptReasoning>,
): OldReasoning | undefined {
  if (setting === false) return undefined;
  const { messages, turns, units } = context.history;
  const forms = (['items', 'fields'] as const).filter(
    (form) => terms[form] === 'billed' || (setting === true && terms[form] === undefined),
  );
  if (forms.length === 0) return undefined;
  const make = (index: number, message: Message): Removal | undefined => {
    const reasoning = message.reasoning();
    if (!reasoning || !forms.includes(reasoning.form)) return undefined;
    const tokens = context.counter.weight(`reasoning:${message.digest}`, () => reasoning.weight);
    // The size of reasoning that is only referred to is not known.
    return tokens === 0 ? undefined : reasoningRemoval('old_reasoning', index, reasoning, tokens);
  };
  const of = (index: number): Removal | undefined => {
    const message = elementAt(messages, index);
    const beside = kept.get(index);
    if (!beside || beside.tokens === 0)
      return remembered(`reasoning ${forms}`, message, context, () => make(index, message));
    return forms.includes('items')
      ? reasoningRemoval('old_reasoning', index, beside, beside.tokens)
      : undefined;
  };
  // If the next message continues the answer without reasoning of its own, its ids would refer to
  // this one's.
  const goesOn = (index: number): boolean =>
    messages[index + 1]?.role === 'assistant' && of(index + 1) === undefined;
  return {
    staysFrom: (newest) => turns[newest - keepTurns] ?? 0,
    in: (index) => {
      const unit = units[index];
      const removal = unit?.kind === 'assistant' ? of(unit.first) : undefined;
      return removal && !goesOn(removal.message) ? [removal] : [];
    },
  };
}

/**
 * The removal of what a message's model has thought. Nothing replaces it.
 *
 * @param message its index
 */
export function reasoningRemoval(
  reason: 'old_reasoning' | 'bound_thinking',
  message: number,
  { bytes }: Pick<Reasoning, 'bytes'>,
  tokens: number,
): Removal {
  return {
    kind: 'reasoning',
    reason,
    message,
    call: -1,
    tool: NO_TOOL,
    callId: NO_CALL,
    tokens,
    bytes,
    replacement: '',
    freed: tokens,
  };
}
