import { describe, expect, it } from 'vitest';
import { type Asked, deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { type Message, readSummary } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const ROWS = Array.from({ length: 300 }, (_, at) => `row-${7_000 + at} was sent`).join('\n');
const USED = 'row-7250';

/** Turns: the first has more values than a ledger has room for, and the third uses one of them. */
function talk(topic: string, turns: number): Message[] {
  const messages: Message[] = [{ role: 'system', content: `About ${topic}.` }];
  for (let turn = 1; turn <= turns; turn++) {
    const asked = turn === 1 ? ROWS : turn === 3 ? `What of ${USED}?` : `And now, number ${turn}?`;
    messages.push({ role: 'user', content: asked });
    if (turn < turns) messages.push({ role: 'assistant', content: `Answer ${turn} about ${topic}.` });
  }
  return messages;
}

describe.each([
  { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 },
  { mode: 'auto', context_limit: 4, keep_last_n_turns: 2, min_reclaim_tokens: 0 },
])('a summary of mode $mode', (mode) => {
  const memory_strategy = { ...mode, summary_max_tokens: 300, keep_first_user: false };

  overProtocols('in all its requests', deployment, () => {
    const ask = (messages: Message[], fields = {}): Promise<Asked> =>
      deployment.ask({ memory_strategy, ...fields, messages });
    const shownIn = ({ seen }: Asked): string => {
      const at = seen.body.messages.findIndex(({ content }: Message) =>
        String(content).includes('<session_summary'),
      );
      return readSummary(String(seen.body.messages[at].content)).text;
    };

    it('has the values that the turns after it have used, in all its requests', async () => {
      const topic = `apples ${mode.mode}`;
      const first = await ask(talk(topic, 4));
      const text = shownIn(first);
      expect(text).toContain(USED);
      expect(first.memory.summary?.text).toBe(text);
      // Nobody has used this one, and the summarizer has not written it.
      expect(text).not.toContain('row-7251');
      const read = deployment.summarizer.requests.length;

      for (const fields of [{}, { stream: true }]) {
        const next = await ask(talk(topic, 5), fields);
        expect(shownIn(next)).toBe(text);
      }
      expect(deployment.summarizer.requests).toHaveLength(read);
    });

    it('lacks those that no turn has used', async () => {
      const messages = talk(`pears ${mode.mode}`, 4).map((message) => ({
        ...message,
        content: String(message.content).replace(`What of ${USED}?`, 'What of it?'),
      }));
      expect(shownIn(await ask(messages))).not.toContain(USED);
    });
  });
});
