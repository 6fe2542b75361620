import { describe, expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes, type Sent, wrongReport } from '../../support/clients/agent-caller.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { requestsIn, toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { prepared } from '../../support/deployment/prepared.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  conversation,
  type Message,
  readSummary,
  tokensIn,
  turn,
  work,
} from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const SHADOW_LINE = 'Please recall what has happened in our conversation so far.';
const CONTINUE_LINE = 'Please continue where this leaves off.';
const TURNS = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };
const TOKENS = { mode: 'summarize', token_budget: 4_000 };
const AUTO = {
  mode: 'auto',
  compact_retrieval: 'off',
  token_budget: 5_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
};

/** The bytes of a body up to the end of its first request. */
function upToFirst({ seen }: Pick<Sent, 'seen'>, first: Message): string {
  const body = seen.rawBody.toString();
  const text = JSON.stringify(first.content);
  const at = body.indexOf(text);
  expect(at).toBeGreaterThan(0);
  return body.slice(0, at + text.length);
}

overProtocols('the first request', deployment, (protocol) => {
  it.each(ofTurn(0, [false, true]))('stays before the summary that answers it: stream %s', async (stream) => {
    const messages = conversation(`apples ${stream}`, 4);

    const { seen, memory, headers } = await deployment.ask({ memory_strategy: TURNS, stream, messages });

    const { token, messages: read } = deployment.summarizer.lastReading();
    const [preamble, first, recap, ...tail] = seen.body.messages;
    expect([preamble, first, ...tail]).toEqual([messages[0], messages[1], ...messages.slice(5)]);
    expect(recap.role).toBe('assistant');
    expect(readSummary(recap.content)).toMatchObject({ covers: '1-4', ref: memory.summary?.ref, rest: '' });
    expect(tokensIn(recap.content)).toEqual([token]);
    expect(read.map(({ index }) => index)).toEqual([1, 2, 3, 4]);
    expect(headers.get('x-memory-frontier')).toBe('moved');
    expect(memory.warnings).toEqual([]);
  });

  it('begins every view with the same bytes, also where the frontier moves', async () => {
    const messages = conversation('figs', 10);
    const caller = new AgentCaller(deployment, { memory_strategy: TURNS });

    const all = await caller.play(messages, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);

    expect(all.filter(({ headers }) => headers.get('x-memory-frontier') === 'moved')).toHaveLength(4);
    expect(new Set(all.map((sent) => upToFirst(sent, messages[1] as Message))).size).toBe(1);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
  });

  it.each(ofTurn(1, [false, true]))(
    'stays in auto through summaries and trimming: stream %s',
    async (stream) => {
      const messages = toolTalk(`plums ${stream}`, 10);
      const fields = { memory_strategy: AUTO, conversation_id: `plums ${stream}` };
      const caller = new AgentCaller(deployment, { ...fields, stream });

      const all: Sent[] = [];
      for (const length of requestsIn(messages)) {
        const sent = await caller.send(messages.slice(0, length));
        all.push(sent);
        await prepared(deployment, sent, fields.conversation_id, AUTO as never);
      }

      const summarized = all.filter(({ memory }) => memory.summary);
      expect(summarized.length).toBeGreaterThan(4);
      for (const { view } of all) expect(view[1]).toEqual(messages[1]);
      for (const { view } of summarized) expect(readSummary(view[2]?.content).text).not.toBe('');
      expect(new Set(all.map((sent) => upToFirst(sent, messages[1] as Message))).size).toBe(1);
      expect(brokenPrefixes(all)).toEqual([]);
      expect(all.flatMap(wrongReport)).toEqual([]);
    },
  );

  it.each(ofTurn(0, [false, true]))(
    'is followed by a fixed line where its turn goes on: stream %s',
    async (stream) => {
      const messages = work('Weigh everything, and never round.', `melons ${stream}`, 14);

      const { seen, memory } = await deployment.ask({ memory_strategy: TOKENS, stream, messages });

      const [preamble, first, recap, line, ...tail] = seen.body.messages;
      expect([preamble, first, line]).toEqual([messages[0], messages[1], user(CONTINUE_LINE)]);
      expect(readSummary(recap.content)).toMatchObject({ ref: memory.summary?.ref, rest: '' });
      expect(tail).toEqual(protocol.read(messages.slice(-tail.length)));
      expect(memory.tokens?.after).toBeLessThanOrEqual(4_000);
    },
  );

  it('precedes the request that is worked on, which stays unchanged', async () => {
    const [, ...later] = work('Now weigh these.', 'quinces', 14);
    const messages = [...conversation('pears', 2).slice(0, 3), ...later];

    const { seen } = await deployment.ask({ memory_strategy: TOKENS, messages });

    const [preamble, first, recap, request, ...tail] = seen.body.messages;
    expect([preamble, first, request]).toEqual([messages[0], messages[1], messages[3]]);
    expect(readSummary(recap.content).rest).toBe('');
    expect(tail).toEqual(protocol.read(messages.slice(-tail.length)));
  });

  it('keeps the bytes of its parts', async () => {
    const [preamble, , ...rest] = conversation('dates', 4);
    const parts = [
      { type: 'text', text: 'Weigh it.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
    ];
    const messages = [preamble, user(parts), ...rest] as Message[];

    const { seen } = await deployment.ask({ memory_strategy: TURNS, messages });

    const [sent] = protocol.elements([messages[1] as Message]);
    expect(seen.rawBody.toString()).toContain(JSON.stringify(sent));
    expect(readSummary(seen.body.messages[2].content).covers).toBe('1-4');
  });

  it('goes into the summary with keep_first_user: false, in the forms without it', async () => {
    const memory_strategy = { ...TURNS, keep_first_user: false };
    const messages = conversation('limes', 4);
    const turns = await deployment.ask({ memory_strategy, messages });
    const working = work('Weigh everything.', 'lemons', 14);
    const steps = await deployment.ask({
      memory_strategy: { ...TOKENS, keep_first_user: false },
      messages: working,
    });

    expect(turns.seen.body.messages[1]).toEqual(user(SHADOW_LINE));
    expect(turns.seen.body.messages.slice(3)).toEqual(messages.slice(5));
    expect(readSummary(steps.seen.body.messages[1].content).rest).toBe('Weigh everything.');
  });

  it('goes into the summary if it is larger than half of the hard budget', async () => {
    const messages = conversation('olives', 6);
    const memory_strategy = { mode: 'summarize', token_budget: 600, keep_last_n_turns: 1 };

    const { seen } = await deployment.ask({ memory_strategy, messages });

    expect(seen.body.messages[1]).toEqual(user(SHADOW_LINE));
  });

  it.each(['yes', 1, { always: true }])('can’t be kept by %j', async (keep_first_user) => {
    for (const strategy of [TURNS, AUTO]) {
      const memory_strategy = { ...strategy, keep_first_user };
      const response = await deployment.chat({
        model: 'gpt-4.1',
        messages: conversation('cherries', 1),
        memory_strategy,
      });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { param: string; code: string } };
      expect(error).toMatchObject({
        param: 'memory_strategy.keep_first_user',
        code: 'invalid_memory_strategy',
      });
    }
  });

  it.each(['trim', 'compact', 'rolling_summary'])('has no field in mode %s', async (mode) => {
    const response = await deployment.chat({
      model: 'gpt-4.1',
      messages: conversation('cherries', 1),
      memory_strategy: { mode, keep_first_user: true },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'memory_strategy.keep_first_user' } });
  });

  it.each([
    ['between turns', TURNS, () => conversation('medlars', 4)],
    ['inside its own turn', TOKENS, () => work('Weigh everything.', 'sloes', 14)],
  ])(
    'stays when the view %s comes back as the array, and so does the base of the next summary',
    async (_, memory_strategy, make) => {
      const messages = make();
      const first = await deployment.ask({ memory_strategy, messages });
      const { token } = deployment.summarizer.lastReading();
      const back = [
        ...first.seen.body.messages,
        assistant('Weighed.'),
        ...[1, 2, 3, 4, 5].flatMap((at) => turn('rowans', at)).slice(0, -1),
      ];

      const { seen, memory } = await deployment.ask({ memory_strategy, messages: back });

      const reading = deployment.summarizer.lastReading();
      expect(reading.after).toEqual([token]);
      expect(seen.body.messages.slice(0, 2)).toEqual(messages.slice(0, 2));
      expect(tokensIn(readSummary(seen.body.messages[2].content).text)).toEqual([token, reading.token]);
      expect(JSON.stringify(seen.body.messages).match(/<session_summary/g)).toHaveLength(1);
      expect(memory.warnings).toEqual([]);
    },
  );
});

describe('the first request in POST /v1/compact', () => {
  const compact = async (fields: object) => {
    const response = await deployment.postTo('/v1/compact', {
      model: 'gpt-4.1',
      memory_strategy: TURNS,
      ...fields,
    });
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, never> & { messages: Message[] };
  };

  it('is not marked, and what answers it is', async () => {
    const messages = conversation('apples', 4);
    const { messages: view } = await compact({ messages });
    expect(view.map(({ compacted }) => compacted)).toEqual([
      undefined,
      undefined,
      true,
      undefined,
      undefined,
      undefined,
    ]);
    expect(view[1]).toEqual(messages[1]);
  });

  it('is a field of its own in conversation_memory', async () => {
    const messages = conversation('pears', 4);
    const memory = await compact({ messages, format: 'conversation_memory' });
    expect(memory).toMatchObject({ first_user: messages[1]?.content });
    const idle = await compact({ messages: messages.slice(0, 3), format: 'conversation_memory' });
    expect(idle).toMatchObject({ first_user: null, recent_turns: [{ user: messages[1]?.content }] });
  });
});
