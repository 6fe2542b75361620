/** Odd arrays through `/v1/compact`. A unit test of the same name tries all strategies. */
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { type Message, tools } from '../../support/clients/agent-run.ts';
import { ATTEMPTS, type Attempt, ODD, requestIn } from '../../support/conversations/odd-conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';

const deployment = deploy({ summarizer: true });

/** Of each array this many strategies, other ones than of the arrays before. */
const SHARE = 3;

interface Compaction {
  messages: Message[];
  memory: Report;
}

async function compact(messages: readonly Message[], attempt: Attempt): Promise<Compaction> {
  const { strategy: memory_strategy, force } = attempt;
  const body = JSON.stringify({ model: 'gpt-4.1', tools, memory_strategy, force, messages });
  const response = await deployment.fetch('/v1/compact', { method: 'POST', body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} for ${JSON.stringify(attempt)}: ${text}`);
  return JSON.parse(text) as Compaction;
}

/** Whether another array has all items of this one, in the same order. */
function isPart(part: readonly string[], whole: readonly string[]): boolean {
  let from = 0;
  return part.every((item) => {
    from = whole.indexOf(item, from) + 1;
    return from > 0;
  });
}

describe('whatever the strategy, the upstream accepts the view of', () => {
  it.each(ODD.map(([name, messages], at) => ({ name, messages, at })))('$name', async ({ messages, at }) => {
    const given = messages.map((message) => JSON.stringify(message));
    const preamble = given.filter((one) => one.includes('"system"'));
    const refs = new Set<string>();
    const attempts = Array.from(
      { length: SHARE },
      (_, one) => ATTEMPTS[(at * SHARE + one) % ATTEMPTS.length],
    );
    for (const attempt of attempts as Attempt[]) {
      const what = JSON.stringify(attempt);
      const { messages: view, memory } = await compact(messages, attempt);

      const sent = view.map(({ compacted, ...message }) => message);
      expect(violations({ model: 'gpt-4.1', tools, messages: sent }), what).toEqual([]);
      const own = view.filter(({ compacted }) => !compacted).map((one) => JSON.stringify(one));
      expect(isPart(own, given), what).toBe(true);
      expect(isPart(preamble, own), what).toBe(true);
      expect(memory.tokens?.after, what).toBeLessThanOrEqual(memory.tokens?.before ?? 0);
      expect(JSON.stringify(sent).length, what).toBeLessThanOrEqual(JSON.stringify(messages).length + 400);
      // Before the first answer, a conversation without an id has no object of its own.
      if (given.some((one) => one.includes('"assistant"')))
        expect(memory.warnings, what).not.toContain('store_failed');
      expect(JSON.stringify(sent), what).toContain(requestIn(messages) ?? '');
      for (const ref of refsIn(sent)) refs.add(ref);
    }
    for (const ref of refs) expect((await deployment.fetch(`/v1/refs/${ref}`)).status).toBe(200);
  });
});
