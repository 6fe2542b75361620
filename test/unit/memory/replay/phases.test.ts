import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { USUAL_PRICES } from '../../../../src/memory/models/schedules.ts';
import { Floor } from '../../../../src/memory/replay/floor.ts';
import { replay } from '../../../../src/memory/replay/frontier.ts';
import { RoundsInView } from '../../../../src/memory/replay/kept-rounds.ts';
import { PhaseView } from '../../../../src/memory/replay/phase-view.ts';
import { PhaseMover } from '../../../../src/memory/replay/phases.ts';
import type { ReplayRule } from '../../../../src/memory/replay/rule.ts';
import { tokenSums } from '../../../../src/memory/tokens/sums.ts';
import { lines, read, step, user } from '../../../support/conversations/chat.ts';
import { removalOf } from '../../../support/laws/edits.ts';
import { runs } from '../../../support/laws/runs.ts';
import { counter } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

describe('the phases of auto', () => {
  const RULE: ReplayRule = {
    frontier: 'jump',
    keepTurns: 2,
    keepSteps: 3,
    turnsDue: undefined,
    hard: 500,
    soft: undefined,
    watermark: 0.6,
    minReclaim: 0,
    window: 1_000_000_000,
    learned: false,
    answer: 0,
    stops: 'unit',
    force: false,
  };
  const SOFT = { hard: undefined, soft: 500 };

  interface Setting {
    readonly rule?: Partial<ReplayRule>;
    readonly minReclaim?: number;
    /** Tokens that each unit frees in a phase. */
    readonly light?: number;
    readonly heavy?: number;
    /** Whether each step is a turn of its own. */
    readonly turns?: boolean;
  }

  /** How often a unit's edits are asked for, on average over an array of a number of steps. */
  function callsPerUnit(
    n: number,
    { rule, minReclaim, light = 0, heavy = 0, turns = false }: Setting,
  ): number {
    const asked = (at: number): Message[] => [
      ...(turns || at === 0 ? [user('go on')] : []),
      ...step(`${at}`, 'f', lines(6, `w${at % 7}`)),
    ];
    const history = readHistory(read(Array.from({ length: n }, (_, at) => asked(at)).flat()));
    const sums = tokenSums(history, 0, counter);
    let calls = 0;
    const frees = (unit: number, tokens: number) => {
      calls++;
      const output = history.units[unit]?.outputs[0];
      return tokens > 0 && output ? [removalOf(output.message, tokens)] : [];
    };
    const edits = {
      light: (unit: number) => frees(unit, light),
      heavy: (unit: number, gone: readonly unknown[]) => frees(unit, gone.length > 0 ? 0 : heavy),
      media: (unit: number) => frees(unit, 0),
      recalls: () => new Map(),
    };
    const full = { ...RULE, ...rule };
    const settings = {
      shrinks: true,
      minReclaim,
      summaryTokens: 2_048,
      outputPrice: 5,
      echo: undefined,
      first: undefined,
    };
    const view = new PhaseView(history, sums, settings, new RoundsInView(history, [], 0));
    replay(history, full, sums, new PhaseMover(view, new Floor(USUAL_PRICES, 3), edits));
    return calls / history.units.length;
  }

  const SIZES = [300, 600];
  const LONGEST = runs(600, 2_400);

  it.each<[what: string, setting: Setting]>([
    ['enough is freed', { heavy: 60 }],
    ['every move is made', { minReclaim: 0, light: 1, heavy: 1 }],
    ['nothing can be freed under the soft budget', { rule: SOFT }],
    ['the window is exceeded', { rule: { window: 600 }, light: 1 }],
    ['the window is exceeded, and nothing can be freed', { rule: { ...SOFT, window: 600 } }],
    ['the frontier slides', { rule: { frontier: 'slide' } }],
    ['the frontier slides, and nothing can be freed', { rule: { ...SOFT, frontier: 'slide' } }],
    ['the turn trigger is met', { rule: { hard: undefined, turnsDue: 4 }, turns: true }],
  ])('pass each unit a few times where %s', (_, setting) => {
    for (const n of SIZES) expect(callsPerUnit(n, setting)).toBeLessThan(16);
  });

  it.each<[what: string, setting: Setting]>([
    ['a caller asks to reclaim what can’t be freed', { minReclaim: 1_000_000, light: 5, heavy: 5 }],
    ['what a summary would cost', {}],
    ['the little that could be freed', { rule: SOFT, light: 1 }],
    [
      'the little that could be freed under the turn trigger',
      { rule: { hard: undefined, turnsDue: 4 }, light: 1, turns: true },
    ],
  ])('try a move that the floor forbids for %s seldom in a long array', (_, setting) => {
    // A try at every request would ask for half of all units each time.
    for (const n of new Set([...SIZES, LONGEST])) expect(callsPerUnit(n, setting)).toBeLessThan(512 + 16);
  });

  it('pass each unit a few times where the floor is off and nothing can be freed', () => {
    for (const n of SIZES) expect(callsPerUnit(n, { minReclaim: 0 })).toBeLessThan(16);
  });
});
