import { expect, it } from 'vitest';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { calls, result } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

/** Over the soft budget nothing is summarized. */
const memory_strategy = {
  mode: 'auto',
  token_soft_budget: 2_500,
  min_reclaim_tokens: 0,
  compact_min_tokens: 50,
  compact_keep_steps: 1,
  compact_retrieval: 'off',
};

const MISSED = 'a.md';
/** The files that are read, in order. */
const FILES = [MISSED, ...others(0, 8), MISSED, ...others(8, 14)];
const AGAIN = FILES.lastIndexOf(MISSED);

function others(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, at) => `other-${from + at}.md`);
}

function reading(count: number, topic: string): Message[] {
  const steps = FILES.slice(0, count).flatMap((path, at): Message[] => [
    calls([`call_${at}`, 'read', JSON.stringify({ path })]),
    result(`call_${at}`, rows(`${topic}, ${path}`, 15)),
  ]);
  return [{ role: 'user', content: `Read all about ${topic}.` }, ...steps];
}

overProtocols('a file that is read again as soon as it is gone', deployment, () => {
  it.each(ofTurn(0, [false, true]))(
    'is reported, and stays in every later view (stream: %s)',
    async (stream) => {
      const topic = `apples ${stream}`;
      const ask = (count: number) =>
        deployment.ask({ messages: reading(count, topic), memory_strategy, stream });
      const before = await ask(AGAIN);
      expect(before.memory).not.toHaveProperty('misses');
      const gone = before.memory.refs.find(({ tool_call_id }) => tool_call_id === 'call_0');

      for (let count = AGAIN + 1; count <= FILES.length; count++) {
        const { memory, seen } = await ask(count);
        expect(memory.misses).toEqual([
          {
            how: 'repeated',
            message: 2 * (AGAIN + 1),
            tool_name: 'read',
            tool_call_id: `call_${AGAIN}`,
            ref: gone?.ref,
          },
        ]);
        const output = seen.body.messages.find(
          ({ tool_call_id }: Message) => tool_call_id === `call_${AGAIN}`,
        );
        expect(output?.content).toBe(rows(`${topic}, ${MISSED}`, 15));
      }
      const { memory } = await ask(FILES.length);
      const removed = new Set(memory.refs.map(({ tool_call_id }) => tool_call_id));
      expect([AGAIN - 1, AGAIN, AGAIN + 1].map((at) => removed.has(`call_${at}`))).toEqual([
        true,
        false,
        true,
      ]);
    },
  );
});
