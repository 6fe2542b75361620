import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { result, step, system, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { PROTOCOLS } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const deployment = deploy({ vars: summarizer.vars });

const ALL = { mode: 'rolling_summary', full_zone_turns: 0 };

let talks = 0;

/** A new conversation. */
function talk(strategy: object = ALL, fields: object = {}): Talk {
  return new Talk(deployment, {
    conversation_id: `rolling-${++talks}`,
    memory_strategy: strategy,
    ...fields,
  });
}

const frontierOf = ({ response }: { response: Response }) => response.headers.get('x-memory-frontier');

const calling: Behaviour = {
  type: 'answer',
  toolCalls: [{ id: 'call_1', name: 'search', arguments: '{"q":"x"}' }],
};
const outcome = (content: string) => result('call_1', content);

/** A round with one tool call. */
async function roundWithStep(to: Talk, n: number) {
  deployment.upstream.next(calling);
  const first = await to.send([user(question(n))]);
  const second = await to.send([first.answer, outcome(`Found ${n}.`)]);
  to.messages.push(second.answer);
  return [first, second] as const;
}

describe.each(ofTurn(1, PROTOCOLS))('a memory that is ready, over $name', (protocol) => {
  deployment.over(protocol);
  it('holds for all requests of a round, though a newer one is made meanwhile', async () => {
    const to = talk();
    await to.rounds(1, 3);
    const release = summarizer.hold();
    await to.ask(question(4));
    deployment.upstream.next(calling);
    const first = await to.send([user(question(5))]);
    release();
    await to.remembered(2);
    const second = await to.send([first.answer, outcome('Found it.')]);

    expect(second.view.slice(0, first.view.length)).toEqual(first.view);
    expect(second.view.slice(first.view.length)).toEqual(to.messages.slice(-2));
    expect([first, second].map(({ memory }) => memory.summary?.memory_id)).toEqual([
      first.memory.summary?.memory_id,
      first.memory.summary?.memory_id,
    ]);
    expect([first, second].map(frontierOf)).toEqual(['kept', 'kept']);
  });

  it('is not taken up within a round that began without one', async () => {
    const to = talk();
    const release = summarizer.hold();
    await to.rounds(1, 3, 99);
    await until('the summarizer is asked', () => summarizer.requests.length > 0);
    deployment.upstream.next(calling);
    const first = await to.send([user(question(4))]);
    release();
    await to.remembered(1);

    const second = await to.send([first.answer, outcome('Found it.')]);

    expect(first.view).toEqual(to.messages.slice(0, -2));
    expect(second.view).toEqual(to.messages);
  });

  it('moves the frontier with the first request of a round, and not with its later ones', async () => {
    const to = talk();
    await to.rounds(1, 3);

    const said = await roundWithStep(to, 4);

    expect(said.map(({ memory }) => memory.summary?.covers)).toEqual([
      [1, 6],
      [1, 6],
    ]);
    expect(said.map(frontierOf)).toEqual(['moved', 'kept']);
  });

  it('moves the frontier within a round, if the last request was before the memory', async () => {
    const to = talk();
    await to.rounds(1, 4);
    await to.remembered(2);
    // The first request of the round is not sent.
    to.messages.push(user(question(5)), ...step('call_0', 'search', 'Found elsewhere.'));

    const first = await to.send([]);
    const second = await to.send([]);

    expect(first.memory.summary?.covers).toEqual([1, 8]);
    expect([first, second].map(frontierOf)).toEqual(['moved', 'kept']);
  });

  it('covers the steps of its rounds, which have no numbers of their own', async () => {
    const to = talk();
    for (const n of [1, 2, 3]) await roundWithStep(to, n);
    await to.remembered(1);

    const rows = await to.memories();
    const { view, memory } = await to.ask(question(4));

    expect(rows.map(({ start_sequence, end_sequence }) => [start_sequence, end_sequence])).toEqual([[0, 5]]);
    expect(memory.summary?.covers).toEqual([1, 12]);
    expect(view.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(summarizer.prompts()).toContainEqual(expect.stringContaining('Found 3.'));
  });

  it('is named by what it covers: an array that was edited before that place gets its own words', async () => {
    const to = talk();
    await to.rounds(1, 3);
    to.messages[1] = user(`${question(1)} And something else.`);

    const { view, response } = await to.ask(question(4));

    expect(view).toEqual(to.messages.slice(0, -1));
    expect(response.headers.get('x-memory-applied')).toBe('none');
  });

  it('survives another preamble', async () => {
    const to = talk();
    await to.rounds(1, 3);
    to.messages.splice(0, 1, system('It is Monday.'), { role: 'developer', content: 'Go.' });

    const { view, memory } = await to.ask(question(4));

    expect(view.slice(0, 2)).toEqual(to.messages.slice(0, 2));
    expect(memory.summary?.covers).toEqual([2, 7]);
  });

  it('leaves a later message of the system where it is', async () => {
    const to = talk();
    await to.rounds(1, 2, 99);
    const later = system('From now on, answer in French.');
    to.messages.push(later);
    await to.rounds(3, 3);

    const { view, memory } = await to.ask(question(4));

    expect(memory.summary?.covers).toEqual([1, 7]);
    expect(view.filter(({ role }) => role === 'system')).toEqual([to.messages[0], later]);
    expect(view).toHaveLength(5);
  });

  it('needs no id: the conversation is known by its beginning', async () => {
    const to = new Talk(deployment, { memory_strategy: ALL });
    to.messages[0] = system('Without an id.');
    const made = () => deployment.worker.output().split('Summarized messages 0-5').length;
    const before = made();
    for (const n of [101, 102, 103]) await to.ask(question(n));
    await until('the memory is made', () => made() > before);

    const { view, memory } = await to.ask(question(104));

    expect(memory.summary?.text).toContain('This is summary number');
    expect(view).toHaveLength(4);
  });

  it('is used without a report in the body too', async () => {
    const to = talk(ALL, { memory_report: false });
    await to.rounds(1, 3);

    const { view, response, memory } = await to.ask(question(4));

    expect(memory).toBeUndefined();
    expect(response.headers.get('x-memory-applied')).toBe('summarize');
    expect(view).toHaveLength(4);
  });

  it('names a transcript that can be fetched', async () => {
    const to = talk();
    await to.rounds(1, 4);
    const { memory, response } = await to.ask(question(5));

    const kept = await deployment.fetch(`/v1/refs/${memory.summary?.ref}`);
    const text = await kept.text();

    expect(response.headers.get('x-memory-refs')).toBe('1');
    expect(kept.status).toBe(200);
    expect(text).toContain('Question 4:');
    // Earlier content is kept under the ref of the previous version.
    const earlier = /kept under (ref_[a-z2-7]{26})/.exec(text)?.[1];
    expect(await (await deployment.fetch(`/v1/refs/${earlier}`)).text()).toContain('Question 1:');
  });
});

describe.each(ofTurn(0, PROTOCOLS))('an answer that the caller appends, over $name', (protocol) => {
  deployment.over(protocol);
  type Form = [string, (message: Record<string, unknown>) => Record<string, unknown>];
  const NAMED: Form = ['with a name', ({ role, content }) => ({ name: 'helper', role, content })];
  const forms: Form[] = [
    ['as it came, with refusal and annotations', (message) => message],
    ['as role and content', ({ role, content }) => ({ role, content })],
    [
      'with its content as a part',
      ({ role, content }) => ({ role, content: [{ type: 'text', text: content }] }),
    ],
    // Items have no names.
    ...(protocol.name === 'chat' ? [NAMED] : []),
  ];

  it.each(forms)('%s is the one that its memory was made with', async (_, append) => {
    const to = talk();
    for (const n of [1, 2, 3]) await to.ask(question(n), {}, append);
    await to.remembered(1);

    const { memory, view } = await to.ask(question(4), {}, append);

    expect(memory.summary?.covers).toEqual([1, 6]);
    expect(view).toHaveLength(4);
  });

  it('may have come as a stream', async () => {
    const to = talk(ALL, { stream: true });
    await to.rounds(1, 3);

    const { response, view, memory } = await to.ask(question(4));

    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(memory.summary?.covers).toEqual([1, 6]);
    expect(view).toHaveLength(4);
    expect(summarizer.prompts()).toContainEqual(
      expect.stringContaining('This is what the upstream has to say.'),
    );
    await to.remembered(2);
  });

  it('in other words than it came is covered one round later', async () => {
    const to = talk();
    const rewritten = ({ role }: Record<string, unknown>) => ({ role, content: 'In other words.' });
    for (const n of [1, 2, 3]) await to.ask(question(n), {}, rewritten);
    await to.remembered(1);
    const before = await to.ask(question(4), {}, rewritten);
    await to.remembered(2);

    const { memory } = await to.ask(question(5), {}, rewritten);

    expect(before.memory.summary).toBeUndefined();
    expect(memory.summary?.covers).toEqual([1, 6]);
  });

  it('may have come compressed', async () => {
    const to = talk(ALL, { memory_report: false });
    for (const n of [1, 2, 3]) {
      deployment.upstream.next({ type: 'gzip' });
      await to.ask(question(n));
    }
    await to.remembered(1);

    const { view } = await to.ask(question(4));

    expect(view).toHaveLength(4);
    // Waits for this round's background work, which must not count in the next test.
    await to.remembered(2);
  });

  it('is not remembered when it broke off', async () => {
    const to = talk(ALL, { stream: true });
    await to.rounds(1, 2);
    deployment.upstream.next({ type: 'die-mid-stream' });
    await to.send([user(question(3))]).catch(() => undefined);
    to.messages.pop();
    await to.ask(question(3), { stream: false });
    await to.remembered(1);

    expect(summarizer.prompts()).toHaveLength(1);
    expect(summarizer.prompts()[0]).toContain('This is what the upstream has to say.');
  });
});
