/** A model that finds, with `list_refs`, an output that a summary covers. */
import { expect, it } from 'vitest';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { AgentCaller } from '../../support/clients/agent-caller.ts';
import { rows, tools } from '../../support/clients/agent-run.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

const STRATEGY = {
  mode: 'auto',
  context_limit: 5,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
  compact_retrieval: 'tool',
};

/** A tool, in either protocol. */
interface Named {
  readonly name: string;
  readonly function?: Named;
}

/** The text of the last message, as chat. */
const lastOf = (body: { messages: { content: string }[] }): string => body.messages.at(-1)?.content ?? '';

/** A call with arguments that may depend on the result before it. */
const calls =
  (name: string, args: (last: string) => object): Behaviour =>
  (request, response, recorded) => {
    const last = lastOf(deployment.protocol.seen(recorded).body);
    const call = { id: `call_of_the_model_${name}`, name, arguments: JSON.stringify(args(last)) };
    void behave({ type: 'answer', toolCalls: [call] }, request, response, recorded);
  };

overProtocols('list_refs', deployment, (protocol) => {
  it.each(ofTurn(0, [false, true]))(
    'finds what a summary covers, and it can be fetched (stream: %s)',
    async (stream) => {
      const topic = `listed ${protocol.name} ${stream}`;
      const messages = toolTalk(topic, 9);
      const caller = new AgentCaller(deployment, { memory_strategy: STRATEGY, stream });
      await caller.play(messages, requestsIn(messages).slice(0, -1));
      const before = deployment.chats().length;
      deployment.upstream.next(
        calls('list_refs', () => ({ query: `row 7 of ${topic} 1` })),
        calls('retrieve_ref', (last) => ({ ref: last.split(' ', 1)[0] })),
        { type: 'answer', content: 'Found.' },
      );

      const { answer, memory } = await caller.send(messages);

      const [sent, , fetched] = deployment
        .chats()
        .slice(before)
        .map(({ body }) => body);
      const listed = lastOf(deployment.chats()[before + 1]?.body);
      expect(answer).toBe('Found.');
      expect(JSON.stringify(sent.messages)).toContain('<session_summary');
      expect(JSON.stringify(sent.messages)).not.toContain('call_id=call_1)');
      expect(listed).toMatch(/^ref_[a-z2-7]{26} search \(call_id=call_1\), \d+ tokens: .+$/);
      expect(lastOf(fetched)).toContain(rows(`${topic} 1`, 40).slice(0, 200));
      expect(memory.retrieval).toMatchObject({ rounds: 2, refs: [listed.split(' ', 1)[0]] });
    },
  );

  it.each([{}, { name: 'search' }])(
    'finds what only the transcript of a summary holds: %o',
    async (named) => {
      const topic = `in a transcript ${protocol.name} ${Object.keys(named)}`;
      // Too short for a placeholder, so it has no ref of its own.
      const short = `Order 7 of ${topic} is paid.`;
      const messages = toolTalk(topic, 9).map((message) =>
        'tool_call_id' in message && message.tool_call_id === 'call_1'
          ? { ...message, ...named, content: short }
          : message,
      );
      const before = deployment.chats().length;
      const grep = '(call_1)';
      deployment.upstream.next(
        calls('list_refs', () => ({ query: 'is PAID' })),
        calls('retrieve_ref', (last) => ({ ref: last.split(' ', 1)[0], grep })),
        { type: 'answer', content: 'Found.' },
      );

      const caller = new AgentCaller(deployment, { memory_strategy: STRATEGY });
      const { memory } = await caller.send(messages);

      const listed = lastOf(deployment.chats()[before + 1]?.body);
      expect(listed).toMatch(
        /^ref_[a-z2-7]{26} search \(call_id=call_1\), \d+ tokens, inside this transcript \(use grep\): .+$/,
      );
      expect(memory.summary?.ref).toBe(listed.split(' ', 1)[0]);
      const fetched = lastOf(deployment.lastChat().body);
      expect(fetched).toContain('tool search (call_1)');
      expect(fetched).toContain(short);
    },
  );

  it('names the transcript to look in where nothing of the request matches', async () => {
    const topic = `not there ${protocol.name}`;
    deployment.upstream.next(
      calls('list_refs', () => ({ query: 'what no output holds' })),
      { type: 'answer', content: 'Nothing.' },
    );
    await new AgentCaller(deployment, { memory_strategy: STRATEGY }).send(toolTalk(topic, 9));
    expect(lastOf(deployment.lastChat().body)).toMatch(
      /^Nothing of the kind was removed from the messages of this request\. Earlier ones are in the transcript ref_/,
    );
  });

  it('lists nothing that the view shows, and says so', async () => {
    const messages = toolTalk(`shown ${protocol.name}`, 3);
    deployment.upstream.next(
      calls('list_refs', () => ({})),
      { type: 'answer', content: 'Nothing.' },
    );

    await new AgentCaller(deployment, { memory_strategy: STRATEGY }).send(messages);

    expect(lastOf(deployment.lastChat().body)).toContain('Nothing of the kind was removed.');
  });

  it('is offered where refs can leave the view, under a name that is free', async () => {
    const own = { type: 'function', function: { name: 'list_refs', parameters: { type: 'object' } } };
    const ask = async (strategy: object, more: object[] = []): Promise<string[]> => {
      const caller = new AgentCaller(deployment, { memory_strategy: strategy, tools: [...tools, ...more] });
      await caller.send(toolTalk('any', 2));
      const sent: Named[] = deployment.lastChat().body.tools;
      return sent.slice(tools.length + more.length).map((tool) => (tool.function ?? tool).name);
    };

    expect(await ask(STRATEGY)).toEqual(['retrieve_ref', 'list_refs']);
    expect(await ask(STRATEGY, [own])).toEqual(['retrieve_ref', 'precis_list_refs']);
    expect(await ask({ mode: 'compact', compact_retrieval: 'tool' })).toEqual(['retrieve_ref']);
  });
});
