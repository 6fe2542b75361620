/**
 * Clients that keep a window of their newest messages, and send it alone under one session id
 * (memory nodes of workflow tools, window memories of frameworks).
 */
import { expect, it } from 'vitest';
import { system } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { type Message, question, turn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const REQUESTS = 18;
/** Those whose array holds no earlier one, before a conversation rests. */
const MOST_SUMMARIES = 5;

const STRATEGIES = {
  summarize: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 },
  auto: { mode: 'auto', context_limit: 4, keep_last_n_turns: 2, min_reclaim_tokens: 0 },
  rolling_summary: { mode: 'rolling_summary', full_zone_turns: 1, summarize_after_seq: 3 },
};

/** Turns that are over, and a question. */
const arrayOf = (topic: string, over: number): Message[] => [
  ...Array.from({ length: over }, (_, at) => turn(topic, at + 1)).flat(),
  question(topic, over + 1),
];

/** A conversation of a number of requests. @param newest of the messages that each of them sends */
async function talk(conversation_id: string, memory_strategy: object, newest: number) {
  const warnings: (readonly string[])[] = [];
  /** How many summaries were bought, after each request. */
  const bought: number[] = [];
  for (let over = 0; over < REQUESTS; over++) {
    const messages = [system('You weigh things.'), ...arrayOf(conversation_id, over).slice(-newest)];
    const { memory } = await deployment.ask({ conversation_id, memory_strategy, messages });
    warnings.push(memory.warnings);
    const path = `/v1/conversations/${encodeURIComponent(conversation_id)}/memory/flush`;
    await deployment.fetch(path, { method: 'POST' });
    bought.push(deployment.summarizer.requests.length);
  }
  return { warnings, bought };
}

overProtocols('a client that sends its newest messages alone', deployment, () => {
  it.each([
    ['summarize', 9, STRATEGIES.summarize],
    ['summarize', 13, STRATEGIES.summarize],
    ['auto', 13, STRATEGIES.auto],
    ['rolling_summary', 9, STRATEGIES.rolling_summary],
  ] as const)(
    'buys a few summaries under %s with %i of them, and learns why',
    async (mode, newest, strategy) => {
      const { warnings, bought } = await talk(`${mode} of ${newest}`, strategy, newest);

      // Up to there an array holds all that was said, and each summary is used again.
      const whole = (newest + 1) / 2;
      const cut = (bought.at(-1) ?? 0) - (bought[whole - 1] ?? 0);
      expect(bought.at(-1)).toBeGreaterThan(0);
      expect(cut).toBeLessThanOrEqual(MOST_SUMMARIES);
      const rest = warnings.slice(warnings.findIndex((some) => some.includes('history_cut')));
      expect(rest.length).toBeGreaterThanOrEqual(REQUESTS - whole - MOST_SUMMARIES - 1);
      for (const some of rest) {
        expect(some).toContain('history_cut');
        expect(some).not.toContain('summary_pending');
      }
    },
  );

  it('is not taken for one that sends all of them', async () => {
    const { warnings, bought } = await talk('whole', STRATEGIES.summarize, Number.POSITIVE_INFINITY);

    expect(bought.at(-1)).toBeGreaterThan(MOST_SUMMARIES);
    expect(new Set(warnings.flat())).toEqual(new Set());
  });
});
