/** Names that callers know from other libraries, or from another mode: the error names Precis's. */
import { describe, expect, it } from 'vitest';
import { knownFields, MODES, parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import { MODE_NAMES, SETTINGS } from '../../../../src/memory/strategy/other-names.ts';

function faultOf(input: unknown): { field: string; message: string } {
  const parsed = parseStrategy(input);
  if (parsed.ok) throw new Error('the strategy is valid');
  return parsed.reason;
}

const FIELDS = new Set(MODES.flatMap(knownFields));

describe('an unknown field of a strategy', () => {
  it.each([
    [{ mode: 'trim', max_history_turns: 4 }, "it is called 'max_turns' here"],
    [{ mode: 'summarize', max_history_turns: 4 }, "it is called 'context_limit' here"],
    [{ mode: 'compact', max_user_turns: 4 }, "it is called 'compact_trigger_turns' here"],
    [{ mode: 'trim', window_size: 4 }, "it is called 'keep_last_n_turns' here"],
    [{ mode: 'rolling_summary', window_size: 4 }, "it is called 'rolling_window_size' here"],
    [{ mode: 'compact', keep_recent: 4 }, "it is called 'compact_keep' here"],
    [{ mode: 'rolling_summary', keepRecent: 4 }, "it is called 'full_zone_turns' here"],
    [{ mode: 'trim', HISTORY_MAX_TURNS: 4 }, "it is called 'max_turns' here"],
    [{ mode: 'summarize', HISTORY_MAX_MESSAGES: 4 }, "it is called 'max_messages' here"],
    [{ mode: 'auto', HISTORY_MAX_TOKENS: 4 }, "it is called 'token_budget' here"],
    [{ mode: 'summarize', 'history-keep-recent': 4 }, "it is called 'keep_last_n_turns' here"],
    [{ mode: 'rolling_summary', memory_summarize_after_seq: 4 }, "it is called 'summarize_after_seq' here"],
    [{ mode: 'summarize', summary_max_chars: 4_000 }, "it is called 'summary_max_tokens' here"],
    [{ mode: 'compact', exclude_tools: [] }, "it is called 'compact_exclude_tools' here"],
    [{ mode: 'trim', strategy: 'x' }, "it is called 'mode' here"],
    [
      { mode: 'compact', HISTORY_MAX_MESSAGES: 4 },
      "it is called 'max_messages' in trim, summarize, auto; compact has mode, token_budget, ",
    ],
  ])('is reported under its name here: %j', (strategy, hint) => {
    const [, field = ''] = Object.keys(strategy);
    expect(faultOf(strategy)).toEqual({ field, message: expect.stringContaining(hint) });
  });

  it.each([
    [{ mode: 'trim', compact_keep: 2 }, "it is a field of compact, auto; trim has 'keep_last_n_turns'."],
    [{ mode: 'compact', max_turns: 2 }, "it is a field of trim; compact has 'compact_trigger_turns'."],
    [{ mode: 'trim', condense: true }, 'it is a field of auto; trim has mode, token_budget, '],
    [{ mode: 'none', token_budget: 1 }, 'it is a field of trim, compact, '],
    [{ mode: 'native', token_budget: 1 }, "; native has 'compact_threshold'."],
  ])('that another mode has is said to be of that mode: %j', (strategy, hint) => {
    expect(faultOf(strategy).message).toContain(hint);
  });

  it.each([
    [
      { mode: 'rolling_summary', budget: { full_zone_turns: 5 } },
      'its members are fields of memory_strategy',
    ],
    [{ mode: 'rolling_summary', isolation: {} }, 'ISOLATION'],
    [{ mode: 'trim', memory_injection: true }, 'a field of the body'],
    [{ mode: 'rolling_summary', on_turn_added: 'x' }, 'WEBHOOK_URL'],
  ])('that is set elsewhere is sent there: %j', (strategy, hint) => {
    expect(faultOf(strategy).message).toContain(hint);
  });

  it('is never of a name that is a property of all objects', () => {
    for (const field of ['constructor', 'toString', 'hasOwnProperty', `${'x'.repeat(100_000)}_turns`])
      expect(faultOf({ mode: 'trim', [field]: 1 }).message).toContain("the mode's fields are ");
  });
});

describe('the table of other names', () => {
  it('leads to fields that there are, and gives none of them another name', () => {
    for (const { ours, elsewhere } of SETTINGS) {
      expect(ours.filter((name) => !FIELDS.has(name))).toEqual([]);
      expect(elsewhere.filter((name) => FIELDS.has(name))).toEqual([]);
    }
    expect(Object.values(MODE_NAMES).filter((mode) => !MODES.some((each) => each === mode))).toEqual([]);
  });

  it('has each name once', () => {
    const names = SETTINGS.flatMap(({ elsewhere }) => elsewhere);
    expect(names.length).toBe(new Set(names).size);
  });

  it.each(MODES)('names a field that mode %s has wherever it has one', (mode) => {
    for (const { ours, elsewhere } of SETTINGS)
      for (const name of elsewhere) {
        const here = ours.filter((field) => knownFields(mode).includes(field));
        const { message } = faultOf({ mode, [name]: 1 });
        expect(here.length === 0 || here.some((field) => message.includes(`'${field}' here`))).toBe(true);
      }
  });
});

describe('an unknown mode', () => {
  it.each(Object.entries(MODE_NAMES))('%s is said to be %s', (name, mode) => {
    expect(faultOf({ mode: name })).toEqual({
      field: 'mode',
      message: expect.stringContaining(`it is called '${mode}' here, one of none, trim, compact`),
    });
    expect(faultOf(name.toUpperCase()).message).toContain(`it is called '${mode}' here`);
  });
});
