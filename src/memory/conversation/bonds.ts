/**
 * Units that stay although the frontier has passed them, since later ones need them.
 *
 * Most are calls whose results did not follow at once. Their unit stays in the view while a result
 * is missing, and until the frontier has passed the last result. So the view never has a result
 * without its call, nor an answered call without its result. Likewise the answers from the use of a
 * tool of the upstream to its result (`history.ts`), what has loaded a tool while the request
 * defers that tool (`protocol/loaded-tools.ts`), and thinking that a turn must begin with
 * (`turn-heads.ts`).
 *
 * Nothing that leaves the view comes back, with one exception: a further result of an answered call
 * that has left brings its call back. Nobody can know in advance that it will come, and upstreams
 * refuse it alone.
 *
 * The unit of such a call leaves together with the last of its results. A call that is brought back
 * comes with its results, and the report says `moved`.
 */
import { elementAt } from '../../lib/elements.ts';
import { ChangingSums } from '../../lib/prefix-sums.ts';
import { type Bond, type History, messagesOf, type RequestPoint } from './history.ts';

/**
 * Units before one that stay when all others before it leave, as they are known at a request.
 *
 * @param messages the request's array, exclusive; further results after it have not come yet
 */
export function heldUnits({ bonds }: History, unit: number, messages: number): ReadonlySet<number> {
  const held = new Set<number>();
  for (const { caller, results, open } of bonds) {
    if (caller >= unit) break;
    const known = results.filter(({ further, message }) => !further || message < messages);
    const last = known.reduce((latest, result) => Math.max(latest, result.unit), caller);
    if (!open && last < unit) continue;
    for (const member of [caller, ...known.map((result) => result.unit)]) if (member < unit) held.add(member);
  }
  return held;
}

/** Messages before a unit that stay when all others before it leave. */
export function heldMessages(history: History, unit: number): ReadonlySet<number> {
  const held = [...heldUnits(history, unit, history.messages.length)];
  return new Set(held.flatMap((index) => messagesOf(history, elementAt(history.units, index))));
}

/**
 * The bonds as a request has known them. Where they are the same in two arrays that begin with its
 * messages, all that a replay has come to by then is the same, too.
 */
export function bondsKnownAt({ bonds, units }: History, { messages, units: end }: RequestPoint): string {
  const known = bonds.flatMap(({ caller, results, open, leads }) => {
    const come = results.filter(({ unit, message }) => unit < end && message < messages);
    const waits = open || results.some(({ unit, further }) => !further && unit >= end);
    if (caller >= end || (come.length === 0 && !waits)) return [];
    const spans = [caller, ...come.map(({ unit }) => unit)].filter((unit) => units[unit]?.spans);
    return [[caller, come, waits, leads, spans]];
  });
  return known.length === 0 ? '' : JSON.stringify(known);
}

/** Units that stay before frontiers up to another unit, inclusive. */
interface Stay {
  until: number;
  /** Theirs together, in the view. */
  tokens: number;
}

/** A bond during a replay. */
interface GrowingBond {
  /** Of its units that are in no other bond: until the last unit that it waits for. */
  readonly stay: Stay;
  /** Its units that are in others, too. */
  readonly shared: number[];
}

interface HeldUnit {
  /** In the view. */
  tokens: number;
  stay: Stay;
  /** The bond that it is in. Absent: in several. */
  bond?: GrowingBond | undefined;
}

/**
 * Tokens of held units at successive request points. Updates and sums take logarithmic time in the
 * number of units; without bonds they are free.
 */
export class HeldTokens {
  /**
   * For each unit, the tokens held before it, relative to the unit before. Undefined if nothing can
   * be held.
   */
  private readonly sums: ChangingSums | undefined;
  private readonly held = new Map<number, HeldUnit>();
  private readonly tokensOf: (unit: number) => number;
  /** Further results, latest first. */
  private readonly toCome: { readonly unit: number; readonly message: number; readonly bond: GrowingBond }[];

  /** @param tokensOf the weight of a unit unchanged */
  constructor({ bonds, units }: History, tokensOf: (unit: number) => number) {
    this.tokensOf = tokensOf;
    this.sums = bonds.length === 0 ? undefined : new ChangingSums(units.length + 1);
    this.toCome = bonds
      .flatMap((bond) => this.begin(bond, units.length))
      .sort((a, b) => b.message - a.message);
  }

  /**
   * Adds the results before a message index. Call it for request points in order.
   *
   * @returns tokens that come back into the view when all units before `frontier` have left it
   */
  arrive(messages: number, frontier = 0): number {
    const before = this.before(frontier);
    for (let next = this.toCome.at(-1); next && next.message < messages; next = this.toCome.at(-1)) {
      this.toCome.pop();
      const { unit, bond } = next;
      this.extend(bond.stay, unit);
      for (const member of bond.shared) this.hold(member, unit);
      this.join(unit, bond);
    }
    return this.before(frontier) - before;
  }

  /** Tokens of the units before one that stay when all others before it leave. */
  before(unit: number): number {
    return this.sums?.before(unit + 1) ?? 0;
  }

  /** Changes the weight of a unit in the view by `more` tokens. */
  weigh(unit: number, more: number): void {
    const held = this.held.get(unit);
    if (!held) return;
    held.tokens += more;
    held.stay.tokens += more;
    this.add(unit + 1, held.stay.until, more);
  }

  /** First results are expected: the frontier does not pass their calls before they come. */
  private begin({ caller, results, open }: Bond, end: number): (typeof this.toCome)[number][] {
    const expected = results.filter(({ further }) => !further).map(({ unit }) => unit);
    const until = open ? end : expected.reduce((last, unit) => Math.max(last, unit), caller);
    const bond: GrowingBond = { stay: { until, tokens: 0 }, shared: [] };
    for (const unit of [caller, ...expected]) this.join(unit, bond);
    return results.filter(({ further }) => further).map(({ unit, message }) => ({ unit, message, bond }));
  }

  /** A unit of several bonds stays as long as the longest one. */
  private join(unit: number, bond: GrowingBond): void {
    const held = this.held.get(unit);
    if (!held) {
      const tokens = this.tokensOf(unit);
      const { stay } = bond;
      stay.tokens += tokens;
      this.held.set(unit, { tokens, stay, bond });
      this.add(unit + 1, stay.until, tokens);
      return;
    }
    if (held.bond === bond) return;
    if (held.bond) {
      held.stay.tokens -= held.tokens;
      held.stay = { until: held.stay.until, tokens: held.tokens };
      held.bond.shared.push(unit);
      held.bond = undefined;
    }
    bond.shared.push(unit);
    this.hold(unit, bond.stay.until);
  }

  private hold(unit: number, until: number): void {
    const held = this.held.get(unit);
    if (held) this.extend(held.stay, until);
  }

  private extend(stay: Stay, until: number): void {
    this.add(stay.until + 1, until, stay.tokens);
    stay.until = Math.max(stay.until, until);
  }

  /** Adds tokens that stay before any frontier between two units, inclusive. */
  private add(from: number, to: number, tokens: number): void {
    if (to < from) return;
    this.sums?.add(from, tokens);
    this.sums?.add(to + 1, -tokens);
  }
}
