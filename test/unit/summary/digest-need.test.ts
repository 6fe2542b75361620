import { describe, expect, it } from 'vitest';
import type { SummarizingStrategy } from '../../../src/memory/modes/table.ts';
import { digestNeed } from '../../../src/summary/digest-need.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  result,
  user,
} from '../../support/conversations/chat.ts';
import { counter, strategyOf, viewOf } from '../../support/laws/view-of.ts';

const DIGESTED = {
  mode: 'auto',
  offload_min_tokens: 1_000,
  offload_fresh_tokens: 1_000,
  offload_digest: 'model',
} as const;
const TARGET = { baseUrl: 'http://s.test/v1', headers: {}, model: 'a-model', window: 128_000, timeoutMs: 1 };

interface Given {
  readonly request?: string;
  readonly input?: string;
  readonly output?: string;
  readonly before?: Message[];
  readonly more?: object;
  readonly target?: Partial<typeof TARGET>;
}

/** The need of the one large output of a conversation. */
function needOf({ request = 'Which is the last?', input = '{"of":1}', ...given }: Given = {}) {
  const { before = [], output = lines(200), more = {}, target = {} } = given;
  const messages = [...before, user(request), calls(['call_1', 'logs', input]), result('call_1', output)];
  const strategy = { ...DIGESTED, ...more };
  const { plan } = viewOf(body(messages), strategy, { retrieval: true });
  const [removal] = plan.segments.flat();
  if (!removal) throw new Error('nothing is offloaded');
  return digestNeed(removal, true, {
    history: plan.history,
    strategy: strategyOf(strategy) as SummarizingStrategy,
    target: { ...TARGET, ...target },
    encoding: 'o200k_base',
    counter,
  });
}

const EARLIER = [user('Hello.'), assistant('Good day.')];

describe('the key of a digest', () => {
  it.each<[string, Given]>([
    ['what was said before the turn', { before: EARLIER }],
    ['the window of the summarizer, which may shrink', { target: { window: 64_000 } }],
    ['the budget', { more: { token_budget: 50_000 } }],
  ])('does not depend on %s', (_, given) => {
    expect(needOf(given).key).toBe(needOf().key);
  });

  it.each<[string, Given]>([
    ['the request', { request: 'Which is the first?' }],
    ['the arguments', { input: '{"of":2}' }],
    ['the output', { output: lines(201) }],
    ["the summarizer's model", { target: { model: 'another-model' } }],
    ['the focus', { more: { summary_focus: 'prices' } }],
    ['the instructions', { more: { summary_instructions: 'In cents.' } }],
  ])('depends on %s', (_, given) => {
    expect(needOf(given).key).not.toBe(needOf().key);
  });
});

describe('the prompt of a digest', () => {
  it('shows the request of the turn, the call and all of the output', () => {
    const { user: text = '' } = needOf({ before: EARLIER }).promptOf() ?? {};

    expect(text).toContain('Which is the last?');
    expect(text).toContain('logs {"of":1}');
    expect(text).toContain(lines(200));
    expect(text).not.toContain('Hello.');
  });

  it.each([4_000, 8_000, 32_000])('fits a window of %d tokens', (window) => {
    const prompt = needOf({ output: lines(9_000), target: { window } }).promptOf();
    const tokens = counter.text(`${prompt?.system}${prompt?.user}`);

    expect(prompt?.user).toContain('line 0: value 0\n');
    expect(prompt?.user).toContain('line 8999:');
    expect(tokens).toBeGreaterThan(window / 4);
    expect(tokens).toBeLessThan(window * 0.75);
  });

  it('is not written for a window that holds hardly anything', () => {
    expect(needOf({ target: { window: 1_000 } }).promptOf()).toBeUndefined();
  });
});
