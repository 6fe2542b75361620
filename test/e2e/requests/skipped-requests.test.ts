/** Callers that send their array only every few steps. */
import { expect, it } from 'vitest';
import { calls, result, user } from '../../support/conversations/chat.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

type Message = Record<string, unknown>;

const model = 'gpt-4.1';
const STRATEGY = { mode: 'auto', token_budget: 6_000, compact_retrieval: 'off', min_reclaim_tokens: 0 };

const step = (at: number): Message[] => [
  calls([`call_${at}`, 'read_file']),
  result(`call_${at}`, linesAbout(`topic ${at}`, 60)),
];
const steps = (count: number): Message[] => [
  user('Read all files.'),
  ...Array.from({ length: count }, (_, at) => step(at)).flat(),
];

overProtocols('a caller that sends its array every few steps', deployment, (protocol) => {
  const send = async (conversation: string | undefined, count: number, stream: boolean, more = {}) => {
    const fields = { ...(conversation && { conversation_id: conversation }), stream, ...more };
    const { memory, headers } = await deployment.ask({
      model,
      messages: steps(count),
      memory_strategy: STRATEGY,
      ...fields,
    });
    return { memory, frontier: headers.get('x-memory-frontier') };
  };
  const eventsOf = async (conversation: string) => {
    const path = `/v1/conversations/${encodeURIComponent(conversation)}/requests`;
    const response = await deployment.fetch(path);
    if (!response.ok) return [];
    return ((await response.json()) as { data: { frontier: { moved: boolean }; messages: number }[] }).data;
  };

  /** How many steps there are when the frontier has just moved, and the last has not moved it. */
  const movedBefore = async (): Promise<number> => {
    let moved = Number.NEGATIVE_INFINITY;
    for (let count = 1; count < 20; count++) {
      const { frontier } = await send(undefined, count, false);
      if (frontier === 'moved') moved = count;
      if (frontier === 'kept' && count - moved <= 2) return count;
    }
    throw new Error('the frontier has never stayed');
  };

  it.each(ofTurn(1, [false, true]))(
    'learns of a move that a skipped request would have made, streamed: %s',
    async (stream) => {
      const count = await movedBefore();
      const conversation = `skips ${protocol.name} ${stream}`;
      await send(conversation, count - 3, stream);
      const { frontier, memory } = await send(conversation, count, stream);

      expect([frontier, memory.frontier.moved]).toEqual(['moved', true]);
      expect(memory.applied_edits).not.toEqual([]);
      await until('the event is kept', async () => (await eventsOf(conversation)).length === 2);
      expect((await eventsOf(conversation))[0]?.frontier.moved).toBe(true);

      const again = await send(conversation, count, stream);
      expect([again.frontier, again.memory.frontier.moved]).toEqual(['kept', false]);
    },
  );

  it('has the word of its own array where the conversation has no name, or no request before', async () => {
    const count = await movedBefore();
    await send(undefined, count - 3, false);

    expect((await send(undefined, count, false)).frontier).toBe('kept');
    expect((await send(`first ${protocol.name}`, count, false)).frontier).toBe('kept');
  });
});
