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
import type { History } from '../conversation/history.ts';
import type { KeptReasoning } from '../conversation/kept-reasoning.ts';
import type { Message, Reasoning } from '../conversation/message.ts';
import type { ReasoningForm, ReasoningTerms } from '../models/past-reasoning.ts';
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

/**
 * The removals of old reasoning; undefined if it stays in every form.
 *
 * @param kept by message
 */
export function oldReasoning(
  history: History,
  { clear_reasoning: setting, keep_reasoning_turns: turns }: ReasoningSettings,
  terms: ReasoningTerms,
  context: CompactContext,
  kept?: ReadonlyMap<number, KeptReasoning>,
): OldReasoning | undefined {
  if (setting === false) return undefined;
  const forms = (['items', 'fields'] as const).filter(
    (form) => terms[form] === 'billed' || (setting === true && terms[form] === undefined),
  );
  return forms.length > 0 ? new OldReasoning(history, turns, forms, context, kept) : undefined;
}

/** The removals of old reasoning in the units of a history. */
export class OldReasoning {
  private readonly history: History;
  private readonly keepTurns: number;
  private readonly forms: readonly ReasoningForm[];
  private readonly context: CompactContext;
  private readonly kept: ReadonlyMap<number, KeptReasoning>;

  /**
   * @param keepTurns the newest turns whose reasoning stays
   * @param forms that are cleared
   * @param kept what is kept of reasoning, by message: over its API it is an item
   */
  constructor(
    history: History,
    keepTurns: number,
    forms: readonly ReasoningForm[],
    context: CompactContext,
    kept: ReadonlyMap<number, KeptReasoning> = new Map(),
  ) {
    this.history = history;
    this.keepTurns = keepTurns;
    this.forms = forms;
    this.context = context;
    this.kept = kept;
  }

  /** The first unit whose reasoning stays in a request with this many turns. */
  staysFrom(turns: number): number {
    return this.history.turns[turns - this.keepTurns] ?? 0;
  }

  /** The removal of a unit's reasoning: at most one. */
  in(index: number): readonly Removal[] {
    const unit = this.history.units[index];
    const removal = unit?.kind === 'assistant' ? this.of(unit.first) : undefined;
    return removal && !this.goesOn(removal.message) ? [removal] : [];
  }

  private of(index: number): Removal | undefined {
    const message = elementAt(this.history.messages, index);
    const kept = this.kept.get(index);
    if (kept && kept.tokens > 0)
      return this.forms.includes('items')
        ? reasoningRemoval('old_reasoning', index, kept, kept.tokens)
        : undefined;
    return remembered(`reasoning ${this.forms}`, message, this.context, () => this.make(index, message));
  }

  private make(index: number, message: Message): Removal | undefined {
    const reasoning = message.reasoning();
    if (!reasoning || !this.forms.includes(reasoning.form)) return undefined;
    const tokens = this.context.counter.weight(`reasoning:${message.digest}`, () => reasoning.weight);
    // The size of reasoning that is only referred to is not known.
    return tokens === 0 ? undefined : reasoningRemoval('old_reasoning', index, reasoning, tokens);
  }

  /**
   * Whether the next message continues the answer without reasoning of its own. Its ids would refer
   * to this one's.
   */
  private goesOn(index: number): boolean {
    return this.history.messages[index + 1]?.role === 'assistant' && this.of(index + 1) === undefined;
  }
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
