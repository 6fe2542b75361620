/** What `auto` can remove from the units of a conversation, computed on demand. */
import { once } from '../../lib/once.ts';
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History, Output, Unit } from '../conversation/history.ts';
import { type CompactContext, clearedInputs, compactInputs, compactOutput } from '../edits/compact.ts';
import { compactHosted } from '../edits/hosted.ts';
import { removeMedia } from '../edits/media.ts';
import { offloadOutput } from '../edits/offload.ts';
import type { OldReasoning } from '../edits/old-reasoning.ts';
import { LEAST_PURGED, mayBePurged, purgesIn } from '../edits/purge.ts';
import { type Removal, unusedBy } from '../edits/removal.ts';
import { type Recall, type Repeat, repeatsIn } from '../edits/repeats.ts';
import type { Recalling } from '../replay/misses.ts';
import type { LargeOutput } from '../replay/seen-outputs.ts';
import { type AutoStrategy, SMALLEST_OFFLOAD } from './auto-settings.ts';
import { range } from './compact.ts';

/** Tokens over which arguments are cleared (docs/design.md#the-strategy). */
const LARGE_INPUT = 500;

export class AutoEdits implements Recalling {
  /** Removed wherever the frontier is. */
  readonly atSight: readonly Removal[];
  private readonly history: History;
  private readonly strategy: AutoStrategy;
  private readonly context: CompactContext;
  private readonly first: number | undefined;
  private readonly offloaded: ReadonlyMap<number, Removal>;
  private readonly offloadedAtSight: ReadonlySet<number>;
  readonly old: OldReasoning | undefined;
  private readonly compacted: (readonly Removal[])[] = [];
  private readonly replaced = new Map<number, Removal | undefined>();
  private readonly repeated = once(() => repeatsIn(this.history, this.context));
  private readonly purges = once(() => purgesIn(this.history));

  /**
   * @param mostAtSight tokens of the largest output that the model first sees whole; absent if it
   *   sees all of them so
   * @param isWhole whether the model first sees an output whole, however large it is
   * @param first the first request, if it stays unchanged
   * @param old absent if all reasoning stays
   */
  constructor(
    history: History,
    strategy: AutoStrategy,
    context: CompactContext,
    mostAtSight: number | undefined,
    first: number | undefined,
    old: OldReasoning | undefined,
    isWhole: (output: Output) => boolean,
  ) {
    this.history = history;
    this.strategy = strategy;
    this.context = context;
    this.first = first;
    this.old = old;
    const outputs = history.units.flatMap((unit) => unit.outputs);
    const over = (most: number, some: readonly Output[]) =>
      some.flatMap((output) => offloadOutput(history, output, strategy, context, most) ?? []);
    const atSight = outputs.filter((output) => !isWhole(output));
    const tooLarge = mostAtSight === undefined ? [] : over(mostAtSight, atSight);
    this.offloadedAtSight = new Set(tooLarge.map(({ message }) => message));
    const others = outputs.filter(({ message }) => !this.offloadedAtSight.has(message));
    const large = [...tooLarge, ...over(strategy.offload_min_tokens, others)];
    this.offloaded = new Map(large.map((removal) => [removal.message, removal]));
    this.atSight = tooLarge;
  }

  readonly light = (index: number, until: number): readonly Removal[] => {
    const unit = this.history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs.flatMap((output) => {
      const offloaded = this.offloaded.get(output.message);
      if (this.offloadedAtSight.has(output.message)) return [];
      if (offloaded) return offloaded;
      const repeat = this.repeated().repeats.get(output.message);
      if (!repeat || repeat.by >= until) return [];
      return this.repeatedOutput(output, repeat) ?? [];
    });
    return [...this.purged(unit, until), ...outputs];
  };

  readonly heavy = (index: number, light: readonly Removal[]): readonly Removal[] => {
    this.compacted[index] ??= this.compact(index);
    if (light.length === 0) return this.compacted[index];
    const nameOf = ({ kind, message, call }: Removal): string => `${kind}:${message}:${call}`;
    const gone = new Set(light.map(nameOf));
    return this.compacted[index].filter((removal) => !gone.has(nameOf(removal)));
  };

  readonly media = (index: number): readonly Removal[] => {
    const unit = this.history.units[index];
    return unit && unit.first !== this.first
      ? removeMedia(this.history, unit, this.strategy, this.context)
      : [];
  };

  /** Those over `offload_min_tokens` that the model first sees whole. */
  largeOutputs(): readonly LargeOutput[] {
    return this.history.units.flatMap(({ outputs }, unit) =>
      outputs.flatMap(({ message }) => {
        const removal = this.offloadedAtSight.has(message) ? undefined : this.offloaded.get(message);
        return removal ? [{ unit, removal }] : [];
      }),
    );
  }

  readonly shortened = (output: Output): Removal | undefined => {
    const { history, strategy, context, offloaded } = this;
    if (this.offloadedAtSight.has(output.message)) return undefined;
    return (
      offloaded.get(output.message) ?? offloadOutput(history, output, strategy, context, SMALLEST_OFFLOAD)
    );
  };

  /** Per unit, the tokens counted for digests at sight that may not come. */
  unsure(): PrefixSums {
    const atSight = new Map(this.atSight.map((removal) => [removal.message, removal]));
    const of = ({ outputs }: Unit): number =>
      unusedBy(outputs.flatMap(({ message }) => atSight.get(message) ?? []));
    return new PrefixSums(this.history.units.map(of));
  }

  /** What the next move would remove in these units. */
  between(from: number, to: number): Removal[] {
    return range(from, to).flatMap((unit) => {
      const light = this.light(unit, this.history.messages.length);
      return [...light, ...this.heavy(unit, light)];
    });
  }

  /** Of these units, the reasoning that is old by now. */
  reasoningBetween(from: number, to: number): Removal[] {
    const { history, old } = this;
    if (!old) return [];
    return range(from, Math.min(to, old.staysFrom(history.turns.length))).flatMap((unit) => old.in(unit));
  }

  private compact(index: number): readonly Removal[] {
    const { history, strategy, context } = this;
    const unit = history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs
      .filter(({ message }) => !this.offloaded.has(message))
      .flatMap((output) => compactOutput(history, output, strategy, context) ?? []);
    return [
      ...compactInputs(history, unit, strategy, context, LARGE_INPUT + 1),
      ...compactHosted(history, unit, strategy, context),
      ...outputs,
    ];
  }

  /** Of arguments that are of no more use among the messages before `until`. */
  private purged(unit: Unit, until: number): readonly Removal[] {
    const { history, strategy, context } = this;
    const calls = history.messages[unit.first]?.calls ?? [];
    if (!strategy.compact_purge || !calls.some(mayBePurged)) return [];
    const purges = this.purges();
    const purged = calls.map((call) => (purges.get(call) ?? until) < until);
    if (!purged.includes(true)) return [];
    return clearedInputs(history, unit, strategy, context, LEAST_PURGED).filter(({ call }) => purged[call]);
  }

  private repeatedOutput(output: Output, { reason }: Repeat): Removal | undefined {
    const { history, strategy, context, replaced } = this;
    if (!replaced.has(output.message))
      replaced.set(output.message, compactOutput(history, output, strategy, context, reason, 0));
    return replaced.get(output.message);
  }

  recalls(): ReadonlyMap<number, Recall> {
    return this.repeated().recalls;
  }
}
