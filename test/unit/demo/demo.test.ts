/** The parts of the demo that decide what it prints. */
import { describe, expect, it } from 'vitest';
import { Bill } from '../../../demo/bill.ts';
import { isDemoMode, STRATEGIES } from '../../../demo/strategies.ts';
import { asksForSummary, summaryOf } from '../../../demo/summarizer.ts';
import { startDemoUpstream } from '../../../demo/upstream.ts';
import { recording } from '../../../fixtures/recording.ts';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import { definitionOf } from '../../../src/retrieval/tool.ts';
import { readSections, writeSections } from '../../../src/summary/text/headings.ts';
import { writePrompt } from '../../../src/summary/text/prompt.ts';

const part = (text: string, tokens: number) => ({ text, tokens });

describe('the counts of the upstream', () => {
  it('has the longest prefix that an earlier request began with as cached input', () => {
    const bill = new Bill();
    bill.add([part('tools', 10), part('a', 100), part('b', 200)]);
    bill.add([part('tools', 10), part('a', 100), part('c', 50), part('b', 200)]);
    bill.add([part('tools', 10), part('a', 100), part('b', 200), part('d', 5)]);

    expect(bill.tokens).toBe(310 + 360 + 315);
    expect(bill.cached).toBe(0 + 110 + 310);
  });
});

describe("the demo's summarizer", () => {
  const transcript = '### 1 user\nWhy do orders fail?\n\n### 2 assistant\nI look.\n-> search (call_1) {}\n';
  const prompt = (priorText: string) => writePrompt({ transcript, priorText, maxTokens: 500 });

  it('knows a request for a summary', () => {
    expect(asksForSummary(prompt('').system)).toBe(true);
    expect(asksForSummary("You are the on-call engineer's agent.")).toBe(false);
  });

  it('writes all headings, and continues the summary before', () => {
    const prior = writeSections(new Map([['## Progress', '- Began.']]));
    const sections = readSections(summaryOf(prompt(prior).user));

    expect(sections.get('## User Intent')).toBe('- Why do orders fail?');
    expect(sections.get('## Progress')).toBe('- Began.\n- I look.');
    expect(writeSections(sections)).toBe(summaryOf(prompt(prior).user));
  });
});

describe('the modes of the demo', () => {
  it('are valid strategies, by their name', () => {
    for (const [mode, strategy] of Object.entries(STRATEGIES)) {
      expect(parseStrategy(strategy)).toMatchObject({ ok: true, value: { mode } });
      expect(isDemoMode(mode)).toBe(true);
    }
    expect(isDemoMode('bogus')).toBe(false);
    expect(isDemoMode('toString')).toBe(false);
  });
});

describe("the demo's model", () => {
  it('fetches what a summary covers, by the ref that it names', async () => {
    const ref = `ref_${'a'.repeat(26)}`;
    const question = recording.messages.findLast(({ role }) => role === 'user');
    const summary = `<session_summary ref="${ref}" covers="1-9">\nDone.\n</session_summary>`;
    const messages = [{ role: 'user', content: 'go' }, { role: 'assistant', content: summary }, question];
    const body = { model: 'gpt-4.1-mini', messages, tools: [definitionOf('retrieve_ref')] };
    const upstream = await startDemoUpstream();
    try {
      const headers = { authorization: 'Bearer sk-of-the-demo', 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = (await (await fetch(`${upstream.url}/chat/completions`, init)).json()) as {
        choices: { message: { tool_calls?: { function: { arguments: string } }[] } }[];
      };

      const calls = answer.choices[0]?.message.tool_calls ?? [];
      expect(calls.map((call) => JSON.parse(call.function.arguments).ref)).toEqual([ref, ref]);
    } finally {
      await upstream.close();
    }
  });
});
