import { describe, expect, it } from 'vitest';
import { KNOBS, type Knob, strategyOf, TRIED_MODES } from '../../../inspector/read/strategies.ts';
import { mostAtSight } from '../../../src/memory/modes/auto-settings.ts';
import { knownFields, MODES, parseStrategy } from '../../../src/memory/modes/strategy.ts';

describe('the strategies that can be tried', () => {
  it('are all modes but the upstream’s own', () => {
    expect(TRIED_MODES.toSorted()).toEqual(MODES.filter((mode) => mode !== 'native').toSorted());
  });

  it.each(TRIED_MODES)('are valid over the whole range of each slider (%s)', (mode) => {
    const knobs: readonly Knob[] = KNOBS[mode];
    for (const { field, min, max, initial } of knobs) {
      expect(knownFields(mode)).toContain(field);
      for (const value of [min, initial, max]) {
        const parsed = parseStrategy(strategyOf(mode, { [field]: value }));
        expect(parsed, `${field} ${value}`).toMatchObject({ ok: true });
      }
    }
    const all = (end: 'min' | 'max') => Object.fromEntries(knobs.map((knob) => [knob.field, knob[end]]));
    expect(parseStrategy(strategyOf(mode, all('min')))).toMatchObject({ ok: true });
    expect(parseStrategy(strategyOf(mode, all('max')))).toMatchObject({ ok: true });
  });

  it.each(TRIED_MODES.filter((mode) => mode !== 'none'))('begin at the defaults of the mode (%s)', (mode) => {
    const parsed = parseStrategy(mode);
    if (!parsed.ok) throw new Error(parsed.reason.message);
    const defaults: Readonly<Record<string, unknown>> = parsed.value;
    const knobs: readonly Knob[] = KNOBS[mode].slice(1);
    const other = knobs.filter(
      ({ field, initial }) => defaults[field] !== undefined && defaults[field] !== initial,
    );

    expect(other.map(({ field }) => [field, defaults[field]])).toEqual([]);
  });

  it('show from when on auto truncates a new output, which follows from two fields', () => {
    const parsed = parseStrategy('auto');
    if (!parsed.ok || parsed.value.mode !== 'auto') throw new Error('auto is not valid');
    const knob = KNOBS.auto.find(({ field }) => field === 'offload_fresh_tokens');

    expect(knob?.initial).toBe(mostAtSight(parsed.value, 1_000_000));
  });

  it('leave out what was not moved, so that defaults hold', () => {
    expect(strategyOf('auto', {})).toEqual({ mode: 'auto', token_budget: 32_000 });
    expect(strategyOf('none', { token_budget: 1 })).toEqual({ mode: 'none' });
  });
});
