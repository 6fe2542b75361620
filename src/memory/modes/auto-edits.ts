/** What `auto` can remove from the units of a conversation, computed on demand. */
import { once } from '../../lib/once.ts';
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { Output, Unit } from '../conversation/history.ts';
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

/** Tokens over which arguments are cleared (docs/modes.md#auto). */
const LARGE_INPUT = 500;

export class AutoEdits implements Recalling {
  /** Removed wherever the frontier is. */
  readonly atSight: readonly Removal[];
  private readonly context: CompactContext<AutoStrategy>;
  private readonly first: number | undefined;
  /** By message, in the order of units: those that leave at sight, and all others. */
  private readonly offloadedAtSight: ReadonlyMap<number, Removal>;
  private readonly offloaded: ReadonlyMap<number, Removal>;
  readonly old: OldReasoning | undefined;
  private readonly compacted: (readonly Removal[])[] = [];
  private readonly replaced = new Map<number, Removal | undefined>();
  private readonly repeated = once(() => repeatsIn(this.context));
  private readonly purges = once(() => purgesIn(this.context.history));

  /**
   * @param mostAtSight tokens of the largest output that the model first sees whole; absent if it
   *   sees all of them so
   * @param isWhole whether the model first sees an output whole, however large it is
   * @param first the first request, if it stays unchanged
   * @param old absent if all reasoning stays
   */
  constructor(
    context: CompactContext<AutoStrategy>,
    mostAtSight: number | undefined,
    first: number | undefined,
    old: OldReasoning | undefined,
    isWhole: (output: Output) => boolean,
  ) {
    this.context = context;
    this.first = first;
    this.old = old;
    const { history, strategy } = context;
    const outputs = history.units.flatMap((unit) => unit.outputs);
    const over = (most: number, some: readonly Output[]) =>
      some.flatMap((output) => offloadOutput(output, context, most) ?? []);
    const byMessage = (removals: readonly Removal[]) => new Map(removals.map((one) => [one.message, one]));
    const shownCut = mostAtSight === undefined ? [] : outputs.filter((output) => !isWhole(output));
    this.atSight = over(mostAtSight ?? 0, shownCut);
    this.offloadedAtSight = byMessage(this.atSight);
    const shownWhole = outputs.filter(({ message }) => !this.offloadedAtSight.has(message));
    this.offloaded = byMessage(over(strategy.offload_min_tokens, shownWhole));
  }

  readonly light = (index: number, until: number): readonly Removal[] => {
    const unit = this.context.history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs.flatMap((output) => {
      if (this.offloadedAtSight.has(output.message)) return [];
      const offloaded = this.offloaded.get(output.message);
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
    const unit = this.context.history.units[index];
    return unit && unit.first !== this.first ? removeMedia(unit, this.context) : [];
  };

  /** Those over `offload_min_tokens` that the model first sees whole. */
  largeOutputs(): readonly LargeOutput[] {
    return this.context.history.units.flatMap(({ outputs }, unit) =>
      outputs.flatMap(({ message }) => {
        const removal = this.offloaded.get(message);
        return removal ? [{ unit, removal }] : [];
      }),
    );
  }

  readonly shortened = (output: Output): Removal | undefined => {
    if (this.offloadedAtSight.has(output.message)) return undefined;
    return this.offloaded.get(output.message) ?? offloadOutput(output, this.context, SMALLEST_OFFLOAD);
  };

  /** Per unit, the tokens counted for digests at sight that may not come. */
  unsure(): PrefixSums {
    const of = ({ outputs }: Unit): number =>
      unusedBy(outputs.flatMap(({ message }) => this.offloadedAtSight.get(message) ?? []));
    return new PrefixSums(this.context.history.units.map(of));
  }

  /** What the next move would remove in these units. */
  between(from: number, to: number): Removal[] {
    return range(from, to).flatMap((unit) => {
      const light = this.light(unit, this.context.history.messages.length);
      return [...light, ...this.heavy(unit, light)];
    });
  }

  /** Of these units, the reasoning that is old by now. */
  reasoningBetween(from: number, to: number): Removal[] {
    const { context, old } = this;
    const { length } = context.history.turns;
    return old ? range(from, Math.min(to, old.staysFrom(length))).flatMap((unit) => old.in(unit)) : [];
  }

  private compact(index: number): readonly Removal[] {
    const { context, offloaded, offloadedAtSight } = this;
    const unit = context.history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs
      .filter(({ message }) => !offloaded.has(message) && !offloadedAtSight.has(message))
      .flatMap((output) => compactOutput(output, context) ?? []);
    return [...compactInputs(unit, context, LARGE_INPUT + 1), ...compactHosted(unit, context), ...outputs];
  }

  /** Of arguments that are of no more use among the messages before `until`. */
  private purged(unit: Unit, until: number): readonly Removal[] {
    const { history, strategy } = this.context;
    const calls = history.messages[unit.first]?.calls ?? [];
    if (!strategy.compact_purge || !calls.some(mayBePurged)) return [];
    const purges = this.purges();
    const purged = calls.map((call) => (purges.get(call) ?? until) < until);
    if (!purged.includes(true)) return [];
    return clearedInputs(unit, this.context, LEAST_PURGED).filter(({ call }) => purged[call]);
  }

  private repeatedOutput(output: Output, { reason }: Repeat): Removal | undefined {
    const { context, replaced } = this;
    if (!replaced.has(output.message))
      replaced.set(output.message, compactOutput(output, context, reason, 0));
    return replaced.get(output.message);
  }

  recalls(): ReadonlyMap<number, Recall> {
    return this.repeated().recalls;
  }
}
