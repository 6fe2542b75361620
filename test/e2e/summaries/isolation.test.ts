import { expect, it } from 'vitest';
import { type Asked, deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, type Message, tokensIn, turn } from '../../support/deployment/summarizer.ts';

// Fifty callers at once may keep a busy machine from answering within the usual second.
const vars = { LOG_LEVEL: 'debug', SUMMARIZER_TIMEOUT_MS: '15000' };
const deployment = deploy({ summarizer: true, vars });

const strategy = { mode: 'summarize', context_limit: 8, keep_last_n_turns: 3 };
const soon = { ...strategy, context_limit: 4, keep_last_n_turns: 2 };
const OTHER_KEY = { authorization: 'Bearer sk-the-key-of-another-caller-0001' };

/** Asks, and expects that the view's summary was made of messages of this array only. */
async function ask(messages: Message[], fields: object = {}, headers = {}): Promise<Asked> {
  const asked = await deployment.ask({ memory_strategy: strategy, ...fields, messages }, headers);
  for (const token of tokensIn(asked.seen.rawBody.toString())) {
    const reading = deployment.summarizer.readings.find((one) => one.token === token);
    if (!reading) throw new Error(`${token} is of another test`);
    for (const { index, text } of reading.messages) expect(text).toBe(messages[index]?.content);
  }
  return asked;
}

/**
 * Asks as the caller would have done, turn by turn, or leaving out turns. By fives, each request
 * moves the frontier.
 */
async function replay(
  messagesOf: (turns: number) => Message[],
  { from = 5, to, by = 5 }: { readonly from?: number; readonly to: number; readonly by?: number },
  fields = {},
) {
  const all: Asked[] = [];
  for (let turns = from; turns <= to; turns += by) all.push(await ask(messagesOf(turns), fields));
  return all;
}

/** The first turns of one conversation, followed by the turns of another. */
function fork(topic: string, at: number, other: string, turns: number): Message[] {
  if (turns <= at) return conversation(topic, turns);
  return [
    ...conversation(topic, at).slice(0, -1),
    ...turn(topic, at),
    ...conversation(other, turns).slice(1 + 2 * at),
  ];
}

function read(from = 0): number[] {
  return deployment.summarizer.readings
    .slice(from)
    .flatMap(({ messages }) => messages.map(({ index }) => index));
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

overProtocols('a conversation of thirty turns', deployment, () => {
  it('is read once, in portions of one size, and each version is built upon the one before', async () => {
    const conversation_id = 'thirty turns';
    const range = { from: 1, to: 30, by: 1 };
    const all = await replay((turns) => conversation('crates', turns), range, { conversation_id });

    const { readings } = deployment.summarizer;
    expect(readings).toHaveLength(5);
    expect(read()).toEqual(upTo(50));
    expect(readings.map(({ messages }) => messages.length)).toEqual(Array(5).fill(10));
    const sizes = readings.map(({ request }) => request.rawBody.length);
    expect(Math.max(...sizes)).toBeLessThan(1.5 * (sizes[0] ?? 0));
    expect(readings.map(({ after }) => after)).toEqual(
      readings.map((_, at) => readings.slice(0, at).map(({ token }) => token)),
    );

    const moved = all.filter(({ headers }) => headers.get('x-memory-frontier') === 'moved');
    expect(moved.map(({ memory }) => [memory.summary?.memory_id, memory.summary?.base_memory_id])).toEqual(
      upTo(5).map((id) => [id, id === 1 ? null : id - 1]),
    );
    const stored = await deployment.fetch(`/v1/conversations/${encodeURIComponent(conversation_id)}/memory`);
    const { memories, health, stats, conversation_memory } = (await stored.json()) as {
      memories: { memory_id: number; base_memory_id: number | null; status: string; covers_end: number }[];
      health: string;
      stats: { total_summaries: number };
      conversation_memory: string;
    };
    expect(memories.map(({ memory_id, base_memory_id }) => [memory_id, base_memory_id])).toEqual(
      upTo(5).map((at) => [6 - at, at === 5 ? null : 5 - at]),
    );
    expect(new Set(memories.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect([health, stats.total_summaries]).toEqual(['healthy', 5]);
    expect(conversation_memory).toBe(all.at(-1)?.memory.summary?.text);
  });

  it('is read once, too, when it has no id', async () => {
    await replay((turns) => conversation('barrels', turns), { to: 30 });

    expect(read()).toEqual(upTo(50));
  });

  it('that comes all at once is read at once', async () => {
    const { memory } = await ask(conversation('boxes', 30));

    expect(read()).toEqual(upTo(50));
    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(memory.summary?.covers).toEqual([1, 50]);
  });
});

overProtocols('arrays that share a beginning', deployment, () => {
  it.each([
    ['under one id', { conversation_id: 'forked' }],
    ['without ids', {}],
  ])('go on from the summary of what they share, and from no other: %s', async (name, fields) => {
    const trunk = `crates ${name}`;
    await replay((turns) => conversation(trunk, turns), { to: 30 }, fields);
    const before = deployment.summarizer.readings.length;

    const [first] = await replay(
      (turns) => fork(trunk, 20, 'tins', turns),
      { from: 21, to: 30, by: 3 },
      fields,
    );

    expect(tokensIn(first?.seen.rawBody.toString() ?? '')).toHaveLength(3);
    expect(read(before)).toEqual(upTo(50, 41));
  });

  it('have nothing in common after an edit: all of it is read again', async () => {
    const fields = { conversation_id: 'edited' };
    await replay((turns) => conversation('jars', turns), { to: 30 }, fields);
    const before = deployment.summarizer.readings.length;
    const edited = conversation('jars', 30);
    edited[9] = { role: 'user', content: `${edited[9]?.content} Or so.` };

    const { seen } = await ask(edited, fields);

    const [only, ...more] = deployment.summarizer.readings.slice(before);
    expect(more).toEqual([]);
    expect(only?.prior).toBe('');
    expect(read(before)).toEqual(upTo(50));
    expect(tokensIn(seen.body.messages[2].content)).toEqual([only?.token]);
  });

  it('are served as before when their caller comes back to the first one', async () => {
    const fields = { conversation_id: 'there and back', memory_strategy: soon };
    const first = await ask(conversation('cups', 6), fields);
    await ask(fork('cups', 1, 'mugs', 6), fields);
    const back = await ask(conversation('cups', 6), fields);

    expect(back.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
    expect(deployment.summarizer.requests).toHaveLength(2);
  });

  it.each([
    ['answer', 0],
    ['turn', 1],
  ])('differ from the first %s on, and have no ids: nothing crosses', async (_, shared) => {
    const opening = conversation(`kegs ${shared}`, 1 + shared);
    const one = [...opening, ...conversation('a', 4).slice(opening.length)];
    const other = [...opening, ...conversation('b', 4).slice(opening.length)];

    await ask(one, { memory_strategy: soon });
    const { seen } = await ask(other, { memory_strategy: soon });

    const [ofOne, ofOther] = deployment.summarizer.readings;
    expect(tokensIn(seen.rawBody.toString())).toEqual([ofOther?.token]);
    expect(ofOther?.after).toEqual([]);
    expect(ofOther?.token).not.toBe(ofOne?.token);
  });
});

overProtocols('equal arrays', deployment, () => {
  it('of two tenants share nothing, not even under one id', async () => {
    const fields = { conversation_id: 'ours', user: 'u', memory_strategy: soon };
    const messages = conversation('vats', 4);

    const one = await ask(messages, fields);
    const other = await ask(messages, fields, OTHER_KEY);
    const again = await ask(messages, fields);

    const tokens = [one, other, again].map(({ seen }) => tokensIn(seen.rawBody.toString())[0]);
    const [first, second] = deployment.summarizer.readings;
    expect(deployment.summarizer.requests).toHaveLength(2);
    expect(tokens).toEqual([first?.token, second?.token, first?.token]);
    expect(one.memory.summary?.ref).not.toBe(other.memory.summary?.ref);
  });

  it('of two users of one tenant share nothing', async () => {
    const messages = conversation('urns', 4);

    await ask(messages, { user: 'one', memory_strategy: soon });
    await ask(messages, { user: 'other', memory_strategy: soon });

    expect(deployment.summarizer.requests).toHaveLength(2);
  });

  it('that come twenty at once ask for one summary, and are all answered with the same view', async () => {
    deployment.summarizer.always('slow');
    const messages = conversation('sacks', 4);

    const all = await Promise.all(upTo(20).map(() => ask(messages, { memory_strategy: soon })));

    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(new Set(deployment.chats().map(({ rawBody }) => rawBody.toString())).size).toBe(1);
    expect(deployment.chats()).toHaveLength(20);
    expect(new Set(all.map(({ memory }) => memory.summary?.status))).toEqual(new Set(['completed']));
    expect(all.flatMap(({ memory }) => memory.warnings)).toEqual([]);
    const spent = all.map(({ memory }) => memory.summary?.usage.total_tokens ?? 0).filter(Boolean);
    expect(spent).toEqual([deployment.summarizer.lastReading().usage.total_tokens]);
  });

  it('that come twenty at once before a summarizer that fails are all answered with the same digest', async () => {
    deployment.summarizer.always('server error');
    const messages = conversation('bags', 4);

    await Promise.all(upTo(20).map(() => ask(messages, { memory_strategy: soon })));

    expect(deployment.summarizer.requests).toHaveLength(3);
    expect(new Set(deployment.chats().map(({ rawBody }) => rawBody.toString())).size).toBe(1);
  });
});

overProtocols('the log', deployment, () => {
  it('says what was summarized, and never what it was about', async () => {
    await ask(conversation('secret ingots', 4), { conversation_id: 'kennings', memory_strategy: soon });

    const printed = () => deployment.worker.output();
    await until('it is printed', () => /Memory \d+ status updated to completed/.test(printed()));
    await until('it is printed', () => /Summarized messages 0-3 for [0-9a-f]{16} in \d+ms/.test(printed()));
    expect(printed()).not.toMatch(/ingots|kenning|sk-the-key/);
  });
});
