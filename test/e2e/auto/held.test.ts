import { expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes, type Sent, wrongReport } from '../../support/clients/agent-caller.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { withoutKey } from '../../support/deployment/cache-key.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { tokensIn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const strategy = { mode: 'auto', token_budget: 8_000, min_reclaim_tokens: 0, summary_max_tokens: 300 };
const NOTHING_SPENT = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** With this many turns, the last request gets a summary. */
const TURNS = 12;

const caller = (conversation_id: string) =>
  new AgentCaller(deployment, { memory_strategy: strategy, conversation_id });

function summaryOf({ memory }: Sent): object {
  if (!memory.summary) throw new Error('nothing was summarised');
  return memory.summary;
}

overProtocols('a summary that the caller of mode auto holds', deployment, () => {
  it('serves it without a model and without stored state', async () => {
    const messages = toolTalk('apples', TURNS);
    const made = await caller('lost').send(messages);
    const memory_summary = summaryOf(made);
    const asked = deployment.summarizer.requests.length;

    const served = await caller('found').send(messages, { memory_summary });

    expect(withoutKey(served.seen)).toBe(withoutKey(made.seen));
    expect(served.memory.summary).toMatchObject({ status: 'completed', usage: NOTHING_SPENT });
    expect(served.memory.warnings).toEqual([]);
    expect(wrongReport(served)).toEqual([]);
    expect(deployment.summarizer.requests).toHaveLength(asked);
  });

  it('serves it as long as the frontier stays, and is the base of the next one', async () => {
    const messages = toolTalk('pears', TURNS + 6);
    const first = await caller('held').send(messages.slice(0, 4 * TURNS - 2));
    const memory_summary = summaryOf(first);
    const before = deployment.summarizer.readings.length;
    const all = [first];
    for (const length of requestsIn(messages).filter((one) => one > 4 * TURNS - 2))
      all.push(await caller('held elsewhere').send(messages.slice(0, length), { memory_summary }));

    // Each of both conversations has its own key.
    expect(brokenPrefixes(all, withoutKey)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    const [held] = tokensIn(first.seen.rawBody.toString());
    const readings = deployment.summarizer.readings.slice(before);
    const own = readings.filter(({ after }) => after.includes(held ?? ''));
    expect(own.length).toBeGreaterThan(0);
    for (const { memory } of all) expect(memory.warnings).toEqual([]);
  });

  it('is ignored, with a warning, when it is of another array', async () => {
    const memory_summary = summaryOf(await caller('figs').send(toolTalk('figs', TURNS)));

    const sent = await caller('dates').send(toolTalk('dates', TURNS), { memory_summary });

    expect(sent.memory.warnings).toEqual(['stale_summary']);
    expect(sent.memory.summary?.status).toBe('completed');
    expect(tokensIn(sent.seen.rawBody.toString())).toEqual([deployment.summarizer.lastReading().token]);
  });

  it('is refused when it is none', async () => {
    const response = await deployment.chat({
      model: 'gpt-4.1',
      memory_strategy: strategy,
      memory_summary: { text: 'All is well.' },
      messages: toolTalk('limes', 2),
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'memory_summary' } });
  });
});
