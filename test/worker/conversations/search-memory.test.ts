/** The model's search of the archive, within its answer. */
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { assistant, system, user } from '../../support/conversations/chat.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, startApp, watchedBucket, watchedObjects } from '../support.ts';

const ANSWER = assistant('This is the answer.');
const STRATEGY = { mode: 'compact', archive: true, compact_retrieval: 'tool' };

let made = 0;

/**
 * The app, and a conversation in which the model searches for some words before it answers.
 *
 * @param names the fields that name the conversation
 */
function searching(names: object = { conversation_id: `searched ${made++}` }) {
  const watched = watchedBucket();
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(watched.bucket, { CONVERSATION_MEMORY: objects.namespace });
  const words: string[][] = [];
  const results: unknown[] = [];
  vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
    const { messages } = (await new Request(input, init).json()) as { messages: Record<string, unknown>[] };
    const said = messages.findLastIndex(({ role }) => role !== 'tool');
    results.push(...messages.slice(said + 1).map(({ content }) => content));
    const tool_calls = words.shift()?.map((query, index) => ({
      id: `call_${index}`,
      type: 'function',
      function: { name: 'search_memory', arguments: JSON.stringify({ query }) },
    }));
    const message = tool_calls ? { role: 'assistant', content: null, tool_calls } : ANSWER;
    const choice = { index: 0, message, finish_reason: tool_calls ? 'tool_calls' : 'stop' };
    return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices: [choice] });
  });
  /** @param searches of each round */
  const ask = (messages: object[], ...searches: string[][]) => {
    words.push(...searches);
    return app.chat({ model: 'gpt-4.1', ...names, memory_strategy: STRATEGY, messages });
  };
  return { ask, results, watched, objects };
}

describe('a search within an answer', () => {
  it('finds what this very request has brought', async () => {
    const { ask, results } = searching();
    const response = await ask([user('Where is the whale?')], ['whale'], ['ship']);

    expect(await response.json()).toMatchObject({ choices: [{ message: ANSWER }] });
    expect(results).toEqual([
      '[0 user] Where is the whale?',
      expect.stringContaining('No message holds all of these words'),
    ]);
  });

  it('archives the array once for all searches of a request', async () => {
    const { ask, results, watched, objects } = searching();
    await ask([user('A whale')], ['whale', 'a'], ['whale', 'A whale']);

    expect(results).toEqual(Array(4).fill('[0 user] A whale'));
    // One for the array, and one for the answer.
    const packs = watched.operations.filter(({ name, key }) => name === 'put' && key.includes('/archive_'));
    expect(packs).toHaveLength(2);
    expect(objects.calls.filter((method) => method === 'archive.lacking')).toHaveLength(2);
  });

  it.each(['archive.lacking', 'archive.notePacks', 'archive.add'])(
    'continues with what is there when %s fails',
    async (method) => {
      const { ask, results, objects } = searching();
      vi.spyOn(console, 'warn').mockImplementation(() => undefined);
      await ask([user('One whale')]);
      objects.failing.add(method);
      await ask([user('One whale'), ANSWER, user('Another whale')], ['whale']);

      expect(results).toEqual(['[0 user] One whale']);
    },
  );

  it('searches the stored messages when the write of the new ones hangs', async () => {
    const { ask, results, watched, objects } = searching();
    await ask([user('One whale')]);
    hang(watched, 'put');
    shorten({ archivedArrayMs: 500 });
    const response = await ask([user('One whale'), ANSWER, user('Another whale')], ['whale']);
    objects.hanging.add('archive.hits');
    shorten({ toolSearchMs: 500 });
    await ask([user('One whale'), ANSWER, user('Another whale')], ['whale']);

    expect(response.status).toBe(200);
    expect(results).toEqual(['[0 user] One whale', expect.stringContaining('archive does not answer')]);
  });
});

describe('a search in a conversation that nothing names', () => {
  const opening = [user('hi'), assistant('Hello!')];

  it('F1: finds the messages of its own array alone, however many open alike', async () => {
    const { ask, results } = searching({});
    for (let n = 0; n < 12; n++)
      await ask([system(`Be ${n}.`), ...opening, user(`My card is 4929 and whale whale ${n}`)]);
    await ask(
      [...opening, user('I saw a whale once'), assistant('Where?'), user('What was my card?')],
      ['card', 'whale', '4929'],
    );

    expect(results).toEqual([
      '[4 user] What was my card?',
      '[2 user] I saw a whale once',
      expect.stringContaining('No message holds all of these words'),
    ]);
  });

  it('F1: finds its own matches after better ones of other conversations', async () => {
    const { ask, results } = searching({});
    const others = Array.from({ length: 20 }, (_, n) => user(`otter otter otter ${n}`));
    await ask([...opening, ...others]);
    await ask([...opening, user('Was it an otter, or another animal with a longer name?')], ['otter']);

    expect(results).toEqual(['[2 user] Was it an otter, or another animal with a longer name?']);
  });

  it('F1: finds nothing of a user who opens alike', async () => {
    const { ask, results } = searching({ user: 'ann' });
    await ask([...opening, user('My badger is called Bob')]);
    await ask([...opening, user('Is there a badger?')], ['badger']);

    expect(results).toEqual(['[2 user] Is there a badger?']);
  });

  it('F1: asks with as many keys as an array may have', async () => {
    const { ask, results } = searching({});
    const many = Array.from({ length: 9_000 }, (_, n) => [user(`Row ${n}`), assistant('Yes.')]).flat();
    await ask([...many, user('And row 8999?')], ['8999']);

    expect(results).toEqual(['[17998 user] Row 8999\n\n[18000 user] And row 8999?']);
  });
});

describe('a search in a conversation that is named', () => {
  it('F1: still finds messages of its earlier arrays', async () => {
    const { ask, results } = searching();
    await ask([user('hi'), ANSWER, user('My ferret is called Eve')]);
    await ask([user('hi'), ANSWER, user('What did I say of a ferret?')], ['ferret']);

    expect((results[0] as string).match(/ferret/g)).toHaveLength(2);
  });
});
