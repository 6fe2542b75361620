import { describe, expect, it } from 'vitest';
import type { Memory } from '../../../src/storage/conversation/memories.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const deployment = deploy({ vars: { ...summarizer.vars, LOG_LEVEL: 'debug' } });

const ALL = { mode: 'rolling_summary', full_zone_turns: 0 };

let talks = 0;

/** A new conversation. */
function talk(strategy: object = ALL, fields: object = {}): Talk {
  return new Talk(deployment, {
    conversation_id: `rolling-${++talks}`,
    memory_strategy: strategy,
    ...fields,
  });
}

const windowOf = ({ start_sequence, end_sequence }: Memory) => [start_sequence, end_sequence];
const frontierOf = ({ response }: { response: Response }) => response.headers.get('x-memory-frontier');
const textOf = (messages: readonly unknown[]) => JSON.stringify(messages);

overProtocols('the window of a rolling memory', deployment, () => {
  it('grows with the rounds up to its size, and then starts later with each one', async () => {
    const to = talk();

    const said = await to.rounds(1, 10);

    const rows = await to.memories();
    const windows = [
      [0, 5],
      [0, 7],
      [0, 9],
      [0, 11],
      [0, 13],
      [2, 15],
      [4, 17],
      [6, 19],
    ];
    expect(rows.map(windowOf)).toEqual(windows);
    expect(rows.map(({ base_end_seq }) => base_end_seq)).toEqual([null, 5, 7, 9, 11, 13, 15, 17]);
    expect(rows.map(({ window_size }) => window_size)).toEqual([6, 8, 10, 12, 14, 14, 14, 14]);
    expect(said.map(frontierOf)).toEqual(['none', 'none', 'none', ...Array(7).fill('moved')]);
  });

  it('ends before the full zone, whose rounds stay as they were said', async () => {
    const to = talk({ ...ALL, full_zone_turns: 2, rolling_window_size: 4 });

    await to.rounds(1, 6);
    const rows = await to.memories();
    const { view, memory } = await to.ask(question(7));

    expect(rows.map(windowOf)).toEqual([
      [0, 1],
      [0, 3],
      [2, 5],
      [4, 7],
    ]);
    // Rounds 1 to 4 are the messages 1 to 8; the window starts with round 3.
    expect(memory.summary?.covers).toEqual([5, 8]);
    expect(view.slice(3)).toEqual(to.messages.slice(9, -1));
    expect(textOf(view)).not.toContain('Question 4:');
  });

  it('is the only part that is shown, after the preamble: a line of the user, the memory, and what came after', async () => {
    const to = talk();
    await to.rounds(1, 3);

    const { view, memory, response } = await to.ask(question(4));

    expect(memory.summary?.covers).toEqual([1, 6]);
    expect(view.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(view[2]?.content).toMatch(
      /^<session_summary ref="ref_[a-z2-7]{26}" covers="1-6">\n## User Intent\n/,
    );
    expect(view[3]).toEqual(to.messages[7]);
    expect(response.headers.get('x-memory-applied')).toBe('summarize');
    expect(response.headers.get('x-memory-warning')).toBeNull();
  });
});

describe.each(ofTurn(0, PROTOCOLS))('the making of a rolling memory, over $name', (protocol) => {
  deployment.over(protocol);
  it('keeps nobody waiting: answers come while the summarizer has not answered, and later rounds stay verbatim', async () => {
    const to = talk();
    const release = summarizer.hold();
    await to.rounds(1, 3, 99);
    await until('the summarizer is asked', () => summarizer.requests.length > 0);

    const during = [await to.ask(question(4)), await to.ask(question(5))];

    expect(during.map(({ response }) => response.status)).toEqual([200, 200]);
    expect(during.map(({ memory }) => memory.warnings)).toEqual([['summary_pending'], ['summary_pending']]);
    expect(during[1]?.view).toEqual(to.messages.slice(0, -1));
    expect((await to.memories()).map(({ status }) => status)).toEqual(['processing']);
    release();
    await to.remembered(2);
    const { view } = await to.ask(question(6));
    expect(view.slice(3)).toEqual(to.messages.slice(-2, -1));
    await to.remembered(3);
  });

  it('has one writer at a time, and continues with all that arrived meanwhile', async () => {
    const to = talk();
    const release = summarizer.hold();
    await to.rounds(1, 3, 99);
    await until('the summarizer is asked', () => summarizer.requests.length > 0);
    const busy = 'Summarization already in progress for ';
    const met = () => deployment.worker.output().split(busy).length;
    const before = met();
    await to.rounds(4, 6, 99);
    // The first one that waits meets it once more.
    await until('the other writers are sent away', () => met() >= before + 4);

    expect(summarizer.requests).toHaveLength(1);
    release();
    await to.remembered(2);
    await to.rounds(7, 7, 5);

    const read = summarizer
      .prompts()
      .map((prompt) => [1, 2, 3, 4, 5, 6, 7].filter((n) => prompt.includes(`Question ${n}:`)));
    expect(read).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('reads the memory before and the new rounds only, and says where the window starts', async () => {
    const to = talk({ ...ALL, rolling_window_size: 6, summary_focus: 'the colour of the shoes' });

    await to.rounds(1, 4);

    const [first = '', second = ''] = summarizer.prompts();
    expect(first).toContain('There is no summary yet');
    expect(first).not.toContain('rolling window');
    expect([1, 2, 3, 4].filter((n) => first.includes(`Question ${n}:`))).toEqual([1, 2, 3]);
    expect(second).toContain('This is summary number');
    expect(second).toContain('a rolling window that starts at sequence number 2');
    expect(second).toContain('the colour of the shoes');
    expect([1, 2, 3, 4].filter((n) => second.includes(`Question ${n}:`))).toEqual([4]);
  });

  it("uses the deployment's summarizer and its key, and never the caller's", async () => {
    const to = talk();

    await to.rounds(1, 3);

    expect(summarizer.requests[0]?.headers.authorization).toBe(
      `Bearer ${summarizer.vars.SUMMARIZER_API_KEY}`,
    );
    expect(summarizer.requests[0]?.body.model).toBe('gpt-4.1-nano');
    expect(JSON.stringify(summarizer.requests.map(({ headers, body }) => [headers, body]))).not.toContain(
      'sk-the-key-of-a-test-caller',
    );
  });
});

/** Chat only: a memory of more than six rounds does not depend on the protocol. */
describe('a long rolling memory', () => {
  it('reads each of twenty rounds once, each version on top of the one before', async () => {
    const to = talk();

    const said = await to.rounds(1, 20);

    const rows = await to.memories();
    expect(rows).toHaveLength(18);
    expect(rows.slice(1).map(({ base_memory_id }) => base_memory_id)).toEqual(
      rows.slice(0, -1).map(({ memory_id }) => memory_id),
    );
    expect(rows.at(-1) && windowOf(rows.at(-1) as Memory)).toEqual([26, 39]);
    const prompts = summarizer.prompts();
    for (let n = 1; n <= 20; n++)
      expect(
        prompts.filter((prompt) => prompt.includes(`Question ${n}:`)),
        `round ${n}`,
      ).toHaveLength(1);
    // The view does not grow with the conversation.
    const sizes = said.slice(10).map(({ memory }) => memory.tokens?.after ?? 0);
    expect(Math.max(...sizes)).toBeLessThan(1.5 * Math.min(...sizes));
  });
});
