import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/memory/report.ts';
import { deploy } from '../support/deployment.ts';
import { violations } from '../support/strict-chat.ts';
import { conversation, type Message, question, turn, work } from '../support/summarizer.ts';

const deployment = deploy({ summarizer: true });

const [system = { role: 'system' }] = conversation('', 1);
const apples = turn('apples', 1);
const [, ...steps] = work('', 'steps', 8).slice(1);

/** Arrays of unusual shapes, all of which the upstream accepts. */
const ODD: [name: string, messages: Message[]][] = [
  ['only a system message', [system]],
  ['only one question', [question('apples', 1)]],
  ['only an answer', apples.slice(1)],
  ['no question at all', [system, ...apples.slice(1), ...turn('pears', 2).slice(1)]],
  [
    'answers before the first question',
    [...apples.slice(1), ...apples.slice(1), ...apples, question('figs', 2)],
  ],
  ['steps before the first question', [...steps, ...apples, question('figs', 2)]],
  ['steps and no question', [system, ...steps]],
  ['questions alone', [1, 2, 3, 4, 5].map((number) => question('plums', number))],
  ['a system message at the end', [...conversation('figs', 4), { role: 'system', content: 'Be brief.' }]],
  ['system messages between all others', conversation('figs', 4).flatMap((message) => [message, system])],
  [
    'a question without content',
    [...apples, { role: 'user', content: '' }, ...turn('a', 2), question('b', 3)],
  ],
  [
    'an answer that is null',
    [
      ...apples,
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '' },
      ...turn('a', 2),
      question('b', 3),
    ],
  ],
  [
    'names of users',
    conversation('figs', 5).map((message) =>
      message.role === 'user' ? { ...message, name: 'Ann' } : message,
    ),
  ],
  [
    'parts of text',
    conversation('figs', 5).map((message) => ({
      ...message,
      content: [{ type: 'text', text: message.content }],
    })),
  ],
  ['a request and its steps, and a system message among them', [...work('Go.', 'pots', 6), system, ...steps]],
];

/** Strategies at the edges of what may be said. */
const STRATEGIES: object[] = [
  { context_limit: 0, keep_last_n_turns: 0 },
  { context_limit: 1, keep_last_n_turns: 0 },
  { context_limit: 2, keep_last_n_turns: 1 },
  { context_limit: 2, keep_last_n_turns: 2 },
  { token_budget: 1 },
  { token_budget: 1, keep_last_n_turns: 0 },
  { token_budget: 1_500, low_watermark_pct: 0.5 },
  { keep_last_n_turns: 1_000 },
  { context_limit: 2, keep_last_n_turns: 1, frontier: 'slide' },
  { context_limit: 2, keep_last_n_turns: 1, summary_max_tokens: 64 },
];

/** Whether one array's items all stand in another, in that order. */
function isPart(part: readonly string[], whole: readonly string[]): boolean {
  let from = 0;
  return part.every((item) => {
    from = whole.indexOf(item, from) + 1;
    return from > 0;
  });
}

/** Some arrays are too short for a summary to be shorter. */
const TOO_SHORT = 4;

async function compact(messages: Message[], strategy: object, force: boolean): Promise<Response> {
  const memory_strategy = { mode: 'summarize', ...strategy };
  const body = JSON.stringify({ model: 'gpt-4.1', memory_strategy, force, messages });
  return deployment.fetch('/v1/compact', { method: 'POST', body });
}

describe('whatever the strategy, the upstream accepts the view of', () => {
  it.each(ODD)('%s', async (_, messages) => {
    let summaries = 0;
    for (const strategy of STRATEGIES)
      for (const force of [false, true]) {
        const what = JSON.stringify({ ...strategy, force });
        const response = await compact(messages, strategy, force);

        expect(response.status, what).toBe(200);
        const answer = (await response.json()) as { messages: Message[]; memory: Report };
        const view = answer.messages.map(({ compacted, ...message }) => message);
        expect(violations({ model: 'gpt-4.1', messages: view }), what).toEqual([]);
        const own = answer.messages.filter(({ compacted }) => !compacted).map((one) => JSON.stringify(one));
        const given = messages.map((message) => JSON.stringify(message));
        expect(isPart(own, given), what).toBe(true);
        const preamble = given.filter((one) => one.includes('"system"'));
        expect(isPart(preamble, own), what).toBe(true);
        const { tokens, summary } = answer.memory;
        expect(tokens?.after, what).toBeLessThanOrEqual(tokens?.before ?? 0);
        const asked = messages.findLast(({ role }) => role === 'user')?.content;
        if (asked) expect(JSON.stringify(view), what).toContain(JSON.stringify(asked).slice(1, -1));
        if (summary) summaries++;
      }
    if (messages.length > TOO_SHORT) expect(summaries).toBeGreaterThan(0);
  });
});
