import { describe, expect, it } from 'vitest';
import { type ChatJson, Conversation } from '../../../bench/replay/conversation.ts';
import { outcomeOf, replay } from '../../../bench/replay/measure.ts';
import { type Policy, rewriting } from '../../../bench/replay/policy.ts';
import type { Reuse } from '../../../bench/reuse.ts';
import { counter } from '../../support/laws/view-of.ts';

const REF = `ref_${'a'.repeat(26)}`;
const OTHER_REF = `ref_${'b'.repeat(26)}`;
const prices = { cached: 0.1, written: 1, output: 4 };

const user = (content: string): ChatJson => ({ role: 'user', content });
const assistant = (content: string): ChatJson => ({ role: 'assistant', content });

/** Three requests: before messages 1, 3 and 5. */
const messages = [
  user('The order is ord-4711, its total 97.35.'),
  assistant('I see.'),
  user('What else?'),
  assistant('Nothing.'),
  user('And the total of it?'),
];

const conversation = (reuse: readonly Reuse[]): Conversation =>
  new Conversation({ file: 'test', messages, reuse }, counter);

/** Hides the first message from the third request on, and shows the refs instead. */
function hiding(texts: Readonly<Record<string, readonly string[]>>): Policy {
  return {
    name: 'hiding',
    maker: 'peer',
    start: (conversation) => ({
      async view(count) {
        const own = messages.slice(0, count);
        const shown = count === 5 ? [user(Object.keys(texts).join(' ')), ...own.slice(1)] : own;
        return { messages: shown.map((message) => conversation.sent(message)), summaries: 0 };
      },
      fetch: (ref) => texts[ref] ?? [],
    }),
  };
}

const order = { value: 'ord-4711', used: 5 };
const total = { value: '97.35', used: 5 };

describe('the replay of a conversation', () => {
  it('finds a value in the view, and fetches nothing', async () => {
    const outcome = outcomeOf(
      await replay(
        rewriting('none', 'none', (all) => all),
        conversation([order]),
      ),
      prices,
    );

    expect(outcome.values).toEqual([{ visible: true, reachable: true }]);
    expect(outcome.bill).toMatchObject({ requests: 3, fetchRounds: 0, fetches: 0 });
    expect(outcome.savings).toEqual({ gross: 0, unique: 0 });
  });

  it('fetches once for the values under one ref, in the request that needs them', async () => {
    const policy = hiding({ [REF]: ['ord-4711 costs 97.35'] });
    const { values, requests } = await replay(policy, conversation([order, total]));

    expect(values).toEqual([
      { visible: false, reachable: true },
      { visible: false, reachable: true },
    ]);
    expect(requests.map(({ rounds }) => rounds)).toEqual([[], [], [1]]);
  });

  it('follows links, but not where another ref leads there at once', async () => {
    const linked = hiding({ [REF]: ['no', 'no', 'ord-4711'] });
    expect((await replay(linked, conversation([order]))).requests[2]?.rounds).toEqual([1, 1, 1]);
    const direct = hiding({ [REF]: ['no', 'ord-4711'], [OTHER_REF]: ['ord-4711'] });
    expect((await replay(direct, conversation([order]))).requests[2]?.rounds).toEqual([1]);
  });

  it('does not pay for a value that is lost', async () => {
    const { values, requests } = await replay(hiding({ [REF]: ['something else'] }), conversation([order]));

    expect(values).toEqual([{ visible: false, reachable: false }]);
    expect(requests[2]?.rounds).toEqual([]);
  });

  it('counts a removed token in each later request, and once', async () => {
    const [first] = conversation([]).messages;
    const cleared = rewriting('cleared', 'peer', (all) => (all.length > 1 ? all.slice(1) : all));
    const { savings } = await replay(cleared, conversation([]));

    expect(savings).toEqual({ gross: 2 * (first?.tokens ?? 0), unique: first?.tokens });
  });
});
