import { expect, it } from 'vitest';
import { AgentCaller, refsIn, type Sent } from '../../support/clients/agent-caller.ts';
import type { Message } from '../../support/clients/agent-run.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { prepared } from '../../support/deployment/prepared.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { tokensIn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const OTHER_KEY = 'sk-the-key-of-another-caller-0001';
const strategy = {
  mode: 'auto' as const,
  token_budget: 8_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
};

/** Turns of an array that is summarized by its last request. */
const TURNS = 12;

/**
 * Sends the requests of an array, the shortest first, and waits for background work after each.
 *
 * @param from the shortest length that is sent
 */
async function play(messages: Message[], conversation_id: string, from = 0): Promise<Sent[]> {
  const caller = new AgentCaller(deployment, { memory_strategy: strategy, conversation_id });
  const all: Sent[] = [];
  for (const length of requestsIn(messages).filter((one) => one >= from)) {
    const sent = await caller.send(messages.slice(0, length));
    all.push(sent);
    await prepared(deployment, sent, conversation_id, strategy);
  }
  return all;
}

const tokensOf = ({ seen }: Sent): string[] => tokensIn(seen.rawBody.toString());

/**
 * Errors in the sources of a view's summaries: the array must have each summarized message, or its
 * original, at the same index.
 */
function strangers(sent: Sent): string[] {
  return tokensOf(sent).flatMap((token) => {
    const reading = deployment.summarizer.readings.find((one) => one.token === token);
    if (!reading) return [`${token} is of another test`];
    return reading.messages.flatMap(({ index, role, text }) => {
      const message = sent.messages[index];
      const own =
        role === 'tool'
          ? text.includes(`call_id=${message?.tool_call_id}`)
          : text.startsWith(String(message?.content ?? ''));
      return own ? [] : [`${token} was made of another message ${index}`];
    });
  });
}

const indices = (from: number): number[] =>
  deployment.summarizer.readings.slice(from).flatMap(({ messages }) => messages.map(({ index }) => index));

overProtocols('an array that parts from another', deployment, () => {
  it('goes on from the summary of what they share, and from nothing else', async () => {
    const trunk = await play(toolTalk('crates', TURNS), 'forked');
    const before = deployment.summarizer.readings.length;
    const shared = trunk.at(-1)?.memory.summary?.covers[1] ?? 0;
    const start = 4 * Math.ceil(shared / 4) + 1;
    const other = toolTalk('tins', TURNS + 8).map((message, index) =>
      index < start ? toolTalk('crates', TURNS)[index] : message,
    ) as Message[];

    const forked = await play(other, 'forked', start + 1);

    expect(shared).toBeGreaterThan(8);
    expect(forked.flatMap(strangers)).toEqual([]);
    expect(Math.min(...indices(before))).toBeGreaterThan(shared);
    expect(forked.some((sent) => tokensOf(sent).length > tokensOf(trunk.at(-1) as Sent).length)).toBe(true);
  });

  it.each([
    ['under one id', 'edited'],
    ['without an id', undefined],
  ])('by an edit at its beginning gets none of its summaries: %s', async (name, conversation_id) => {
    const messages = toolTalk(`jars ${name}`, TURNS);
    const fields = { memory_strategy: strategy, ...(conversation_id ? { conversation_id } : {}) };
    const caller = new AgentCaller(deployment, fields);
    const first = await caller.send(messages);
    const before = deployment.summarizer.readings.length;
    const edited = messages.with(1, { role: 'user', content: `${messages[1]?.content} Or so.` });

    const second = await caller.send(edited);
    const third = await caller.send(messages);

    expect([first, second].map(({ memory }) => memory.summary?.status)).toEqual(['completed', 'completed']);
    expect(strangers(second)).toEqual([]);
    expect(tokensOf(second).filter((token) => tokensOf(first).includes(token))).toEqual([]);
    expect(deployment.summarizer.readings.slice(before).every(({ prior }) => prior === '')).toBe(true);
    expect(third.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
  });

  it('by an edit of what a placeholder replaces gets another placeholder, and another summary', async () => {
    const messages = toolTalk('urns', TURNS);
    const caller = new AgentCaller(deployment, { memory_strategy: strategy });
    const first = await caller.send(messages);
    const edited = messages.with(3, {
      ...messages[3],
      role: 'tool',
      content: `${messages[3]?.content}\nOne more.`,
    });

    const second = await caller.send(edited);

    expect(tokensOf(second).filter((token) => tokensOf(first).includes(token))).toEqual([]);
  });
});

overProtocols('equal arrays', deployment, () => {
  it('of two tenants share neither summaries nor refs', async () => {
    const messages = toolTalk('vats', TURNS);
    const fields = { memory_strategy: strategy, conversation_id: 'ours', user: 'u' };
    const ours = await new AgentCaller(deployment, fields).send(messages);
    const theirs = await new AgentCaller(deployment, fields, OTHER_KEY).send(messages);
    const again = await new AgentCaller(deployment, fields, KEY).send(messages);

    expect([ours, theirs].map(({ memory }) => memory.summary?.status)).toEqual(['completed', 'completed']);
    expect(tokensOf(ours).filter((token) => tokensOf(theirs).includes(token))).toEqual([]);
    expect(again.seen.rawBody.equals(ours.seen.rawBody)).toBe(true);
    const refs = refsIn(ours.view);
    expect(refs.length).toBeGreaterThan(0);
    expect(refsIn(theirs.view).filter((ref) => refs.includes(ref))).toEqual([]);
    for (const ref of refs) {
      const headers = { authorization: `Bearer ${OTHER_KEY}` };
      expect((await deployment.fetch(`/v1/refs/${ref}`, { headers })).status).toBe(404);
    }
  });

  it('of two users of one tenant share refs, and no summaries', async () => {
    const messages = toolTalk('bins', TURNS);
    const one = await new AgentCaller(deployment, { memory_strategy: strategy, user: 'one' }).send(messages);
    const other = await new AgentCaller(deployment, { memory_strategy: strategy, user: 'other' }).send(
      messages,
    );

    expect(tokensOf(one).filter((token) => tokensOf(other).includes(token))).toEqual([]);
    expect(other.memory.refs).toEqual(one.memory.refs);
  });

  it('that come twenty at once ask for one summary, and are all answered with the same view', async () => {
    deployment.summarizer.always('slow');
    const messages = toolTalk('sacks', TURNS);
    const caller = new AgentCaller(deployment, { memory_strategy: strategy });

    const all = await Promise.all(Array.from({ length: 20 }, () => caller.send(messages)));

    expect(new Set(deployment.chats().map(({ rawBody }) => rawBody.toString())).size).toBe(1);
    expect(new Set(all.map(({ memory }) => memory.summary?.status))).toEqual(new Set(['completed']));
    const spent = all.filter(({ memory }) => (memory.summary?.usage.total_tokens ?? 0) > 0);
    expect(spent).toHaveLength(1);
  });
});
