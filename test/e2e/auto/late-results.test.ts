import { describe, expect, it } from 'vitest';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import {
  AgentCaller,
  brokenPrefixes,
  lostContents,
  markersIn,
  type Sent,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, type Message, rows } from '../../support/clients/agent-run.ts';
import { deploy } from '../../support/deployment/deployment.ts';

// Chat's alone: items of the Responses API do not say where an answer with calls ends, so calls
// that follow each other are one message. OpenAI refuses a result that does not follow its call;
// other upstreams take it, and so must Precis.
const deployment = deploy({ summarizer: true, upstream: { strict: false } });

const strategy = { mode: 'auto', token_budget: 8_000, min_reclaim_tokens: 2_000, summary_max_tokens: 300 };

/** The run, with the result of one call moved after the steps that follow it. */
function late(messages: Message[], call: string, behind: number): Message[] {
  const at = messages.findIndex(({ tool_call_id }) => tool_call_id === call);
  const [result] = messages.slice(at, at + 1);
  const others = messages.toSpliced(at, 1);
  return result ? others.toSpliced(at + behind, 0, result) : others;
}

/** The ids that only calls or only results in a view have. */
function unpaired(view: Message[]): string[] {
  const calls = view.flatMap(({ tool_calls }) =>
    ((tool_calls ?? []) as { id: string }[]).map(({ id }) => id),
  );
  const results = view.flatMap(({ tool_call_id }) =>
    tool_call_id === undefined ? [] : [String(tool_call_id)],
  );
  return [...calls.filter((id) => !results.includes(id)), ...results.filter((id) => !calls.includes(id))];
}

describe('a result that comes late in a run of mode auto', () => {
  it('leaves no call without its result, and no result without its call', async () => {
    const messages = late(late(agentRun('late results', 7), 'call_9_0', 2), 'call_13_1', 12);
    const caller = new AgentCaller(deployment, { memory_strategy: strategy });
    const known = new Set<string>();
    const all: Sent[] = [];
    const lost: string[] = [];
    for (const length of lengthsOf(messages)) {
      const sent = await caller.send(messages.slice(0, length));
      lost.push(...(await lostContents(sent, deployment, known)));
      all.push(sent);
    }

    for (const { view, messages: sent } of all) {
      const open = unpaired([...sent]);
      expect(unpaired(view).filter((id) => !open.includes(id))).toEqual([]);
      expect(view[0]).toEqual(messages[0]);
    }
    expect(lost).toEqual([]);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    expect(all.at(-1)?.memory.applied_edits.length).toBeGreaterThan(0);
  });

  it('makes nothing invalid that was valid: what follows it is as the caller wrote it, or a placeholder', async () => {
    const messages = late(agentRun('valid', 7), 'call_9_0', 5);
    const { view, seen } = await new AgentCaller(deployment, {
      memory_strategy: { mode: 'auto', token_soft_budget: 8_000, min_reclaim_tokens: 0 },
    }).send(messages);

    const before = violations({ ...seen.body, messages });
    expect(before.length).toBeGreaterThan(0);
    expect(violations(seen.body)).toEqual(before);
    expect(markersIn(view).length).toBeGreaterThan(10);
  });

  it('never edits the calls that still wait for one', async () => {
    const call = (id: string) => ({
      id,
      type: 'function',
      function: { name: 'search', arguments: `{"id":"${id}"}` },
    });
    const messages: Message[] = [
      { role: 'user', content: 'Go.' },
      ...[1, 2, 3, 4, 5, 6].flatMap((at): Message[] => [
        { role: 'assistant', content: null, tool_calls: [call(`call_${at}`)] },
        { role: 'tool', tool_call_id: `call_${at}`, content: rows(`result ${at}`, 60) },
      ]),
      { role: 'assistant', content: null, tool_calls: [call('call_7'), call('call_8')] },
      { role: 'tool', tool_call_id: 'call_8', content: rows('the second one', 60) },
    ];

    const { view } = await new AgentCaller(deployment, {
      memory_strategy: { ...strategy, token_budget: 5_000, compact_keep_steps: 0, compact_keep: 0 },
    }).send(messages);

    expect(view.slice(-2)).toEqual(messages.slice(-2));
    expect(markersIn(view).length).toBeGreaterThan(0);
  });
});
