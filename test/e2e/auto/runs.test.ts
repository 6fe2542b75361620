/** Long runs through the client. `unit/memory/modes/auto-runs.test.ts` has their rules. */
import { describe, expect, it } from 'vitest';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import {
  AgentCaller,
  brokenPrefixes,
  lostContents,
  refsIn,
  type Sent,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, tools } from '../../support/clients/agent-run.ts';
import { lastSteps } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { CHAT, RESPONSES } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

describe.each([
  { protocol: CHAT, token_budget: 12_000, min_reclaim_tokens: 2_000, stream: true },
  { protocol: RESPONSES, token_budget: 8_000, min_reclaim_tokens: 0, stream: false },
])('a run in mode auto over $protocol.name (stream: $stream)', ({ protocol, stream, ...budgets }) => {
  deployment.over(protocol);
  it('is answered at every request, and loses nothing', async () => {
    const messages = agentRun(`budgets over ${protocol.name}`, 7);
    const caller = new AgentCaller(deployment, { memory_strategy: { mode: 'auto', ...budgets }, stream });
    const all: Sent[] = [];
    const lost: string[] = [];
    const known = new Set<string>();
    for (const length of lengthsOf(messages)) {
      const sent = await caller.send(messages.slice(0, length));
      lost.push(...(await lostContents(sent, deployment, known)));
      all.push(sent);
    }

    expect(new Set(all.map(({ answer }) => answer))).toEqual(
      new Set(['This is what the upstream has to say.']),
    );
    expect(lost).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    const applied = all.flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type));
    expect(applied).toEqual(expect.arrayContaining(['offload', 'compact', 'summarize']));
    for (const { seen, view, messages: sent, memory } of all) {
      expect(violations({ ...seen.body, tools }, { jsonArguments: true })).toEqual([]);
      expect(seen.body.tools).toEqual(protocol.body({ tools }).tools);
      expect(view[0]).toEqual(messages[0]);
      const { tail, seen: kept } = lastSteps(sent, view);
      expect(kept).toEqual(tail);
      expect(memory.warnings.filter((warning) => !['over_budget', 'waiting'].includes(warning))).toEqual([]);
    }
    const response = await deployment.fetch('/v1/refs?limit=1000');
    const { data } = (await response.json()) as { data: { id: string }[] };
    const listed = new Set(data.map(({ id }) => id));
    expect(all.flatMap(({ view }) => refsIn(view)).filter((ref) => !listed.has(ref))).toEqual([]);
  });
});
