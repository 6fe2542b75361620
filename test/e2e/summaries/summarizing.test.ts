import { expect, it } from 'vitest';
import { prompts } from '../../../src/agents.ts';
import { type Asked, deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  conversation,
  type Message,
  question,
  readSummary,
  tokensIn,
  turn,
  work,
} from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const SHADOW_LINE = 'Please recall what has happened in our conversation so far.';
const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

function ask(messages: Message[], fields: object = {}): Promise<Asked> {
  return deployment.ask({ memory_strategy: strategy, ...fields, messages });
}

/** The body without its closing brackets. The messages are last in it. */
function open({ seen }: Asked): string {
  return seen.rawBody.toString().slice(0, -2);
}

overProtocols('below the limit', deployment, (protocol) => {
  it('the body is sent byte for byte, and nobody is asked for a summary', async () => {
    const messages = JSON.stringify(protocol.elements(conversation('pears', 3)));
    const body = `{ "model":"gpt-4.1", "metadata":{"n":12345678901234567},\n"messages":${messages} }`;

    const response = await deployment.chat(body, { 'x-memory-strategy': JSON.stringify(strategy) });

    expect(response.status).toBe(200);
    expect(deployment.lastChat().rawBody.toString()).toBe(protocol.text(body));
    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(deployment.summarizer.requests).toEqual([]);
  });

  it('nothing changes where a summary would not be shorter than what it replaces', async () => {
    const messages = Array.from({ length: 6 }, (_, at): Message[] => [
      { role: 'user', content: `Hello ${at}` },
      { role: 'assistant', content: `Hello to you, ${at}` },
    ]).flat();

    const { seen, headers } = await ask([...messages, { role: 'user', content: 'Bye' }]);

    expect(seen.body.messages).toEqual([...messages, { role: 'user', content: 'Bye' }]);
    expect(headers.get('x-memory-applied')).toBe('none');
    expect(deployment.summarizer.requests).toEqual([]);
  });
});

overProtocols('at the limit of turns', deployment, () => {
  it('the view is the preamble, the shadow line, the summary, and the unchanged tail', async () => {
    const messages = conversation('apples', 4);
    const memory_strategy = { ...strategy, keep_first_user: false };

    const { seen, headers, memory } = await ask(messages, { memory_strategy });

    const { token, messages: read } = deployment.summarizer.lastReading();
    const [preamble, shadow, answer, ...tail] = seen.body.messages;
    expect(preamble).toEqual(messages[0]);
    expect(shadow).toEqual({ role: 'user', content: SHADOW_LINE });
    expect(answer).toEqual({ role: 'assistant', content: expect.any(String) });
    expect(readSummary(answer.content)).toMatchObject({ ref: memory.summary?.ref, covers: '1-4', rest: '' });
    expect(tokensIn(answer.content)).toEqual([token]);
    expect(tail).toEqual(messages.slice(5));
    expect(read.map(({ index, role }) => `${index} ${role}`)).toEqual([
      '1 user',
      '2 assistant',
      '3 user',
      '4 assistant',
    ]);
    expect(read.map(({ text }) => text)).toEqual(messages.slice(1, 5).map(({ content }) => content));
    expect(headers.get('x-memory-applied')).toBe('summarize');
    expect(headers.get('x-memory-trigger')).toBe('turns');
    expect(headers.get('x-memory-frontier')).toBe('moved');
    expect(headers.get('server-timing')).toMatch(/summary;dur=\d+.*upstream;dur=\d+/);
  });

  it('later system and developer messages stay where they are', async () => {
    const messages = conversation('plums', 4);
    messages.splice(3, 0, { role: 'developer', content: 'Weigh in grams.' });

    const { seen } = await ask(messages);

    expect(seen.body.messages.filter(({ role }: Message) => role === 'developer')).toEqual([messages[3]]);
    expect(seen.body.messages.slice(-3)).toEqual(messages.slice(-3));
    expect(deployment.summarizer.lastReading().messages).toHaveLength(4);
  });

  it('a date in the preamble makes no other summary necessary', async () => {
    const [, ...messages] = conversation('dates', 4);
    await ask([{ role: 'system', content: 'Today is Monday.' }, ...messages]);
    const { seen } = await ask([{ role: 'system', content: 'Today is Tuesday.' }, ...messages]);

    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(seen.body.messages[0].content).toBe('Today is Tuesday.');
  });

  it('an array that comes again reaches the upstream as the same bytes, without a call', async () => {
    const messages = conversation('cherries', 4);

    const first = await ask(messages);
    const second = await ask(messages);

    expect(second.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(second.memory.summary?.usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  });

  it('each view is the opening of the next one until the frontier moves', async () => {
    const frontiers: (string | null)[] = [];
    let former = '';
    for (let turns = 3; turns <= 11; turns++) {
      const asked = await ask(conversation('figs', turns));
      const frontier = asked.headers.get('x-memory-frontier');
      if (frontier !== 'moved') expect(open(asked).startsWith(former)).toBe(true);
      frontiers.push(frontier);
      former = open(asked);
    }

    expect(frontiers).toEqual(['none', 'moved', 'kept', 'moved', 'kept', 'moved', 'kept', 'moved', 'kept']);
    expect(deployment.summarizer.requests).toHaveLength(4);
  });

  it('the next summary is made of the one before and of what is new', async () => {
    await ask(conversation('quinces', 4));
    const { token } = deployment.summarizer.lastReading();
    const { memory, seen } = await ask(conversation('quinces', 6));

    const { prior, messages, token: next } = deployment.summarizer.lastReading();
    expect(prior).toContain(token);
    expect(prior).not.toContain('## Ledger');
    expect(messages.map(({ index }) => index)).toEqual([5, 6, 7, 8]);
    expect(tokensIn(seen.body.messages[2].content)).toEqual([token, next]);
    expect(memory.summary).toMatchObject({ covers: [1, 8], memory_id: 2, base_memory_id: 1 });
  });

  it('incremental: false reads everything again', async () => {
    const memory_strategy = { ...strategy, incremental: false };
    await ask(conversation('medlars', 4), { memory_strategy });
    await ask(conversation('medlars', 6), { memory_strategy });

    const { prior, messages } = deployment.summarizer.lastReading();
    expect(prior).toBe('');
    expect(messages.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('summary_focus reaches the summarizer, and makes another summary', async () => {
    await ask(conversation('limes', 4));
    const memory_strategy = { ...strategy, summary_focus: 'What the heaviest lime weighs' };
    const { seen } = await ask(conversation('limes', 4), { memory_strategy });

    const { focus, token } = deployment.summarizer.lastReading();
    expect(focus).toBe('What the heaviest lime weighs');
    expect(tokensIn(seen.body.messages[2].content)).toEqual([token]);
  });

  it('summary_instructions reach the summarizer after the prompt of the deployer, and make another summary', async () => {
    await ask(conversation('lemons', 4));
    const own = 'Leave out the heading ## Progress.';
    const named = { ...strategy, summary_prompt: 'handover', summary_instructions: own };
    const { seen } = await ask(conversation('lemons', 4), { memory_strategy: named });

    const { instructions, token } = deployment.summarizer.lastReading();
    expect(instructions).toBe(`${prompts.handover}\n\n${own}`);
    expect(tokensIn(seen.body.messages[2].content)).toEqual([token]);
    expect(seen.body.messages[2].content).toContain('## Progress');
    // What counts is the text, wherever it comes from.
    const asked = deployment.summarizer.readings.length;
    const summary_instructions = `${prompts.handover}\n\n${own}`;
    await ask(conversation('lemons', 4), { memory_strategy: { ...strategy, summary_instructions } });
    expect(deployment.summarizer.readings).toHaveLength(asked);
  });

  it.each([
    ['summary_prompt', 'nobody-has-written-this', 'handover'],
    ['summary_instructions', 'x'.repeat(4_001), '4000'],
  ])('refuses a wrong %s', async (field, value, message) => {
    const memory_strategy = { ...strategy, [field]: value };
    const response = await deployment.chat({
      model: 'gpt-4.1',
      messages: conversation('limes', 1),
      memory_strategy,
    });

    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect(error.param).toBe(`memory_strategy.${field}`);
    expect(error.message).toContain(message);
  });
});

overProtocols('over a budget of tokens', deployment, () => {
  it('whole turns are summarized, and the view fits the budget', async () => {
    const memory_strategy = { mode: 'summarize', token_budget: 2_500, keep_last_n_turns: 2 };
    const messages = conversation('olives', 5);

    const { memory, seen, headers } = await ask(messages, { memory_strategy });

    expect(headers.get('x-memory-trigger')).toBe('token_budget');
    expect(memory.tokens?.before).toBeGreaterThan(2_500);
    expect(memory.tokens?.after).toBeLessThanOrEqual(2_500);
    expect(seen.body.messages.slice(3)).toEqual(messages.slice(7));
    expect(memory.warnings).toEqual([]);
  });

  const memory_strategy = { mode: 'summarize', token_budget: 4_000, keep_first_user: false };
  const image = {
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
  };

  it('inside a turn, one user message holds the summary and the request that is worked on', async () => {
    const messages = work('Weigh everything, and never round.', 'melons', 14);

    const { seen, memory } = await ask(messages, { memory_strategy });

    const [preamble, request, ...tail] = seen.body.messages;
    const { rest, ref } = readSummary(request.content);
    expect([preamble, request.role]).toEqual([messages[0], 'user']);
    expect(rest).toBe('Weigh everything, and never round.');
    expect(ref).toBe(memory.summary?.ref);
    expect(tail.length).toBeGreaterThan(0);
    expect(tail).toEqual(messages.slice(-tail.length));
    expect(memory.tokens?.after).toBeLessThanOrEqual(4_000);
  });

  it.each([
    ['text', 'Weigh what the list names.'],
    ['parts', [{ type: 'text', text: 'Weigh what the picture shows.' }, image]],
    ['a picture alone', [image]],
  ])('a request of %s stays after the summary while the steps go on', async (form, content) => {
    let former = '';
    let moves = 0;
    for (let steps = 6; steps <= 20; steps++) {
      const messages = work(content, `loaves (${form})`, steps);
      const asked = await ask(messages, { memory_strategy });
      const { seen, headers } = asked;

      if (headers.get('x-memory-frontier') === 'moved') moves++;
      else expect(open(asked).startsWith(former)).toBe(true);
      former = open(asked);
      if (headers.get('x-memory-applied') === 'none') continue;
      const [, request, ...tail] = seen.body.messages;
      if (Array.isArray(content)) expect(request.content.slice(1)).toEqual(content);
      else expect(readSummary(request.content).rest).toBe(content);
      expect(tail).toEqual(messages.slice(-tail.length));
    }

    expect(moves).toBeGreaterThan(1);
    const read = deployment.summarizer.readings.flatMap(({ messages }) => messages.map(({ index }) => index));
    expect(deployment.summarizer.readings).toHaveLength(moves);
    expect(read).toEqual(read.map((_, at) => at + 1));
  });

  it('calls and results stay together where the cut falls among parallel calls', async () => {
    const [system, request, ...steps] = work('Weigh in pairs.', 'nuts', 16);
    const pairs = [0, 4, 8, 12, 16, 20, 24, 28].flatMap((at) => {
      const [first, one, second, other] = steps.slice(at, at + 4);
      const tool_calls = [first, second].flatMap((message) => message?.tool_calls ?? []);
      return [{ ...first, tool_calls }, other, one];
    });

    const response = await ask([system, request, ...pairs] as Message[], { memory_strategy });

    const tail = response.seen.body.messages.slice(2);
    expect(tail[0].tool_calls).toHaveLength(2);
    expect(tail).toEqual(pairs.slice(-tail.length));
  });
});

overProtocols('a conversation that changes its tail', deployment, () => {
  it('may end with an assistant message, or go on with two questions at once', async () => {
    const messages = conversation('sloes', 4);
    const answered = [...messages.slice(0, -1), ...turn('sloes', 4)];

    const ended = await ask(answered);
    const doubled = await ask([...answered, question('sloes', 5), { role: 'user', content: 'Well?' }]);

    expect(ended.seen.body.messages.slice(3)).toEqual(answered.slice(5));
    expect(doubled.seen.body.messages.at(-1)).toEqual({ role: 'user', content: 'Well?' });
  });
});
