import { expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, type Said, Talk } from '../../support/deployment/rolling-summarizer.ts';

// This summarizer states in each summary which ones it was made of.
const deployment = deploy({ summarizer: true });

const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0 };

let named = 0;

/**
 * A conversation of five rounds, and the summary of all five that its caller holds, with words that
 * occur nowhere else.
 */
async function held() {
  const token = `kenning-90000${++named}`;
  const to = new Talk(deployment, { conversation_id: `held-${named}`, memory_strategy: ROLLING });
  await to.rounds(1, 5);
  const messages = [...to.messages];
  const { memory } = await to.ask(question(6));
  const text = memory.summary?.text ?? '';
  expect(memory.summary?.covers).toEqual([1, 10]);
  const longer = text.replace('## Current State\n', `## Current State\n${token} `);
  expect(longer).not.toBe(text);
  return {
    token,
    messages,
    memory_summary: { ...memory.summary, text: `${longer}\n- path: /held/${token}.txt` },
  };
}

/** A conversation with another id that begins with these messages. */
function goingOn(messages: readonly object[], strategy: object): Talk {
  const to = new Talk(deployment, {
    conversation_id: `goes on ${++named}`,
    memory_strategy: { ...ROLLING, ...strategy },
  });
  to.messages.splice(0, 1, ...(messages as Record<string, unknown>[]));
  return to;
}

const shownIn = ({ view }: Said) => JSON.stringify(view);

overProtocols('a memory_summary that covers more than the memory that is due', deployment, () => {
  it('is shown to its caller, and never gets into what is kept', async () => {
    const { token, messages, memory_summary } = await held();
    const to = goingOn(messages, { full_zone_turns: 2 });

    const said = await to.ask(question(6), { memory_summary });
    await to.remembered(1);
    const next = await to.ask(question(7), { memory_summary });
    await to.remembered(2);

    expect([said, next].map(({ memory }) => memory.summary?.covers)).toEqual([
      [1, 10],
      [1, 10],
    ]);
    expect(shownIn(said)).toContain(token);
    const stored = await to.stored();
    expect(stored.memories.map(({ end_sequence }: { end_sequence: number }) => end_sequence)).toEqual([9, 7]);
    expect(JSON.stringify(stored)).not.toContain(token);
    expect(JSON.stringify(deployment.summarizer.readings)).not.toContain(token);
  });

  it('does not reach a fork of the conversation that never heard of it', async () => {
    const { token, messages, memory_summary } = await held();
    const to = goingOn(messages, { full_zone_turns: 2 });
    await to.ask(question(6), { memory_summary });
    await to.remembered(1);
    // The first four rounds, and then another one.
    to.messages.splice(9);

    const fork = await to.ask('Something else: what have I told you?');

    expect(fork.memory.summary).toMatchObject({ covers: [1, 8], memory_id: 1 });
    expect(shownIn(fork)).toContain('<session_summary');
    expect(shownIn(fork)).not.toContain(token);
  });
});

overProtocols('a memory_summary that covers less than the memory that is due', deployment, () => {
  it('is its caller’s alone as well', async () => {
    const { token, messages, memory_summary } = await held();
    const to = goingOn(messages, {});

    const said = await to.ask(question(6), { memory_summary });
    await to.remembered(1);
    const next = await to.ask(question(7));

    expect(shownIn(said)).toContain(token);
    expect(next.memory.summary?.covers).toEqual([1, 12]);
    expect(shownIn(next)).not.toContain(token);
    expect(JSON.stringify(await to.stored())).not.toContain(token);
  });
});
