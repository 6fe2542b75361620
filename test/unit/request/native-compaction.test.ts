import { describe, expect, it } from 'vitest';
import { actingStrategy, parseStrategy } from '../../../src/memory/modes/strategy.ts';
import type { MemoryStrategy } from '../../../src/memory/modes/table.ts';
import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import type { ChosenStrategy } from '../../../src/request/choose-strategy.ts';
import { compactionOf, upstreamCompacts, withCompaction } from '../../../src/request/native-compaction.ts';

const encoder = new TextEncoder();

function requestOf(fields: object): ModelRequest {
  const read = readResponsesRequest(encoder.encode(JSON.stringify({ input: 'Hello', ...fields })));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

function strategyOf(input: unknown): MemoryStrategy {
  const parsed = parseStrategy(input);
  if (!parsed.ok) throw new Error(parsed.reason.message);
  return parsed.value;
}

const chosenAs = (strategy: unknown, source: ChosenStrategy['source']): ChosenStrategy => ({
  strategy: strategyOf(strategy),
  source,
  injection: Promise.resolve({ injection: undefined, warnings: [] }),
  blocks: undefined,
  report: false,
  archives: false,
  warnings: [],
});

/** The forwarded `context_management`. */
function sent(fields: object, strategy: unknown, nativeCompaction: boolean): unknown {
  const request = requestOf(fields);
  const compaction = compactionOf(strategyOf(strategy), request, { nativeCompaction });
  return JSON.parse(new TextDecoder().decode(request.write(undefined, { compaction }))).context_management;
}

const asked = { context_management: [{ type: 'compaction', compact_threshold: 9_000 }] };
const other = { type: 'something_new', x: 1 };

describe('an upstream that compacts', () => {
  it('gets the wish unchanged, whatever the strategy', () => {
    expect(sent(asked, 'none', true)).toEqual(asked.context_management);
    expect(sent(asked, 'auto', true)).toEqual(asked.context_management);
    expect(sent(asked, { mode: 'native', compact_threshold: 5 }, true)).toEqual(asked.context_management);
  });

  it('gets the wish of the mode native', () => {
    const native = { mode: 'native', compact_threshold: 5_000 };
    expect(sent({}, native, true)).toEqual([{ type: 'compaction', compact_threshold: 5_000 }]);
    expect(sent({}, 'native', true)).toEqual([{ type: 'compaction' }]);
    expect(sent({ context_management: [other] }, native, true)).toEqual([
      other,
      { type: 'compaction', compact_threshold: 5_000 },
    ]);
    expect(sent({}, 'auto', true)).toBeUndefined();
  });

  it('is not asked for a model whose API ignores such a wish', () => {
    const native = { mode: 'native', compact_threshold: 5_000 };
    for (const model of ['grok-4.7', 'x-ai/grok-4.6']) {
      expect(sent({ model }, native, true)).toBeUndefined();
      expect(upstreamCompacts(requestOf({ model }), { nativeCompaction: true })).toBe(false);
      expect(sent({ model, ...asked }, native, true)).toBeUndefined();
    }
    expect(upstreamCompacts(requestOf({ model: 'gpt-6.2-sol' }), { nativeCompaction: true })).toBe(true);
  });

  it('leaves the view as it is', () => {
    expect(actingStrategy(strategyOf('native'), true)).toEqual({ mode: 'none' });
    const chosen = chosenAs('none', 'default');
    expect(withCompaction(chosen, requestOf(asked), { nativeCompaction: true })).toBe(chosen);
  });
});

describe('an upstream that does not', () => {
  it('gets no such wish, but every other', () => {
    expect(sent(asked, 'native', false)).toBeUndefined();
    expect(sent(asked, 'auto', false)).toBeUndefined();
    expect(sent({ context_management: [...asked.context_management, other] }, 'auto', false)).toEqual([
      other,
    ]);
    expect(sent({ context_management: [other] }, 'auto', false)).toEqual([other]);
    expect(sent({ context_management: 7 }, 'auto', false)).toBe(7);
  });

  it('gets the body unchanged where the mode is none', () => {
    expect(sent(asked, 'none', false)).toEqual(asked.context_management);
  });

  it('has it done here, where nothing else says what to do', () => {
    const by = (strategy: unknown, source: ChosenStrategy['source']) =>
      withCompaction(chosenAs(strategy, source), requestOf(asked), { nativeCompaction: false });
    expect(by('none', 'default')).toMatchObject({
      source: 'request',
      strategy: { mode: 'native', compact_threshold: 9_000 },
    });
    expect(by('none', 'request').strategy).toEqual({ mode: 'none' });
    expect(by('auto', 'agent').strategy.mode).toBe('auto');
    expect(actingStrategy(strategyOf({ mode: 'native', compact_threshold: 9_000 }), false)).toMatchObject({
      mode: 'summarize',
      token_budget: 9_000,
    });
  });

  it.each([
    [1e300, Number.MAX_SAFE_INTEGER],
    [9_000.5, 9_000],
    [0.5, undefined],
    [-1, undefined],
    ['9000', undefined],
  ])('has it done here by a threshold of %j too', (compact_threshold, token_budget) => {
    const request = requestOf({ context_management: [{ type: 'compaction', compact_threshold }] });
    const { strategy } = withCompaction(chosenAs('none', 'default'), request, { nativeCompaction: false });
    expect(actingStrategy(strategy, false)).toMatchObject({ mode: 'summarize', token_budget });
  });
});
