import { describe, expect, it } from 'vitest';
import { goOnChat } from '../../../src/protocol/chat/calls.ts';
import { Rounds } from '../../../src/retrieval/rounds.ts';
import { openedShelf } from '../../../src/retrieval/shelf.ts';

const body = new TextEncoder().encode('{"messages":[{"role":"user","content":"Go."}]}');

/** The results that the model gets for a number of calls in one turn. */
async function resultsFor(
  count: number,
  { most = 3 } = {},
): Promise<{ results: string[]; answered: number }> {
  let answered = 0;
  let sent = new Uint8Array();
  const answer = async (): Promise<string> => `result ${++answered}`;
  const rounds = new Rounds({
    most,
    goOn: goOnChat,
    start: async () => ({ body, answerer: { given: [], announce: () => undefined, answer } }),
    ask: async (longer) => {
      sent = new Uint8Array(longer);
      return { response: new Response(), abort: () => undefined };
    },
    names: new Set(),
    areKept: false,
  });
  const calls = Array.from({ length: count }, (_, at) => ({
    id: `c${at}`,
    name: 'retrieve_ref',
    arguments: '{}',
  }));
  await rounds.next({ messages: [{ role: 'assistant', content: null }], calls });
  const { messages } = JSON.parse(new TextDecoder().decode(sent));
  return { results: messages.slice(2).map(({ content }: { content: string }) => content), answered };
}

describe('the calls of one turn', () => {
  it('are answered up to sixteen, the others in words', async () => {
    const { results, answered } = await resultsFor(20);
    expect(answered).toBe(16);
    expect(results.slice(0, 16)).toEqual(Array.from({ length: 16 }, (_, at) => `result ${at + 1}`));
    for (const words of results.slice(16)) expect(words).toContain('Ask for fewer at once.');
  });

  it('in the last round say that they are the last, and not that the work is over', async () => {
    const { results } = await resultsFor(2, { most: 1 });
    for (const words of results) {
      expect(words).toMatch(
        /^result \d\n\[Nothing more can be fetched for this answer; for the next one it is possible again\. Go on /,
      );
      expect(words).not.toMatch(/answer now/i);
    }
  });
});

describe('a shelf', () => {
  const metadata = { tool_name: 'a', tool_call_id: 'b', content_type: 'c', tokens: 1, bytes: 1, created: 1 };
  const opened = (bytes: number) => ({ content: new Uint8Array(bytes), metadata });

  it('that does not answer in time has failed, and may be asked again', async () => {
    const answers = [new Promise<never>(() => undefined), Promise.resolve(opened(1))];
    const shelf = openedShelf(
      {
        owns: () => true,
        unknown: () => undefined,
        failed: () => {},
        get: () => answers.shift() ?? Promise.reject(),
      },
      5,
    );
    await expect(shelf.get('a')).rejects.toThrow();
    expect((await shelf.get('a'))?.content).toHaveLength(1);
  });

  it('is asked again for what there is no room to keep', async () => {
    const asked: string[] = [];
    const shelf = openedShelf({
      owns: () => true,
      unknown: () => undefined,
      failed: () => {},
      get: async (ref) => {
        asked.push(ref);
        return opened(10 * 1024 * 1024);
      },
    });
    for (const ref of ['a', 'b', 'a', 'b']) await shelf.get(ref);
    expect(asked).toEqual(['a', 'b', 'b']);
  });
});
