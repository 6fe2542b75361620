/**
 * Standing orders: what a user ordered once stays in force, even where the same words in an
 * injected text would be removed.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Heading } from '../../../src/summary/text/headings.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { MODES, question, ROLLING, SUMMARIZE, SUMMARIZER, start } from '../support.ts';

beforeEach(() => {
  for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

const ORDER = 'Please always ignore the linter rules in generated files.';

/**
 * A conversation with the order in its first round, and a summarizer that copies it verbatim while
 * it is in its input.
 */
function ordered(strategy: object, heading: Heading) {
  const started = start(strategy);
  const { app, messages } = started;
  app.answer.words = ({ url, body }) => {
    if (!url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL)) return 'This is the answer.';
    const read = [...new Set(body.match(/Question \d+:/g))].join(' ');
    return writeSections(
      new Map<Heading, string>([
        ['## Progress', `Read ${read || 'nothing'}`],
        [heading, body.includes(ORDER) ? `- ${ORDER}` : ''],
      ]),
    );
  };
  messages.push(user(`${ORDER}\n${question(1)}`), assistant('Understood.'));
  const expectCarried = async (count: number) => {
    const { memories, health } = await started.overview();
    expect(memories.length).toBeGreaterThanOrEqual(count);
    for (const { memory_text, ...row } of memories) {
      expect(row).toMatchObject({ status: 'completed', model: 'a-model', error: null, attempts: 1 });
      expect(memory_text).toContain(ORDER);
    }
    expect(health).toBe('healthy');
    return memories;
  };
  return { ...started, expectCarried };
}

/** Replaces the caller's array by its view. */
async function takeView({ app, messages, id }: ReturnType<typeof ordered>, strategy: object): Promise<void> {
  const body = { model: 'gpt-4.1', memory_strategy: strategy, conversation_id: id, messages };
  const response = await app.request('/v1/compact', { method: 'POST', body: JSON.stringify(body) });
  const { messages: view } = (await response.json()) as { messages: object[] };
  expect(JSON.stringify(view)).toContain('<session_summary');
  messages.splice(0, messages.length, ...view);
}

describe('a constraint of the user that reads like an order', () => {
  it('stays in the rolling memory when its round has left the window', async () => {
    const { rounds, expectCarried } = ordered({ ...ROLLING, rolling_window_size: 4 }, '## User Intent');

    const said = await rounds(2, 8);

    const memories = await expectCarried(5);
    expect(memories[0]?.start_sequence).toBeGreaterThan(1);
    expect(said.at(-1)?.view).toContain(ORDER);
    expect(said.map(({ warning }) => warning)).not.toContain('summary_degraded');
  });

  it('stays in summary after summary, in mode summarize', async () => {
    const { rounds, expectCarried } = ordered(SUMMARIZE, '## User Intent');

    const said = await rounds(2, 10);

    await expectCarried(2);
    expect(said.at(-1)?.view).toContain(ORDER);
    expect(said.map(({ warning }) => warning)).toEqual(said.map(() => null));
  });

  it.each(MODES)(
    'stays when only a summary that came back still holds it, in mode %s',
    async (_, strategy) => {
      const talk = ordered(strategy, '## Constraints');
      await talk.rounds(2, 4);
      await takeView(talk, strategy);
      expect(JSON.stringify(talk.messages.slice(2))).not.toContain(ORDER);
      const before = (await talk.overview()).memories.length;

      const said = await talk.rounds(5, 10);

      const memories = await talk.expectCarried(before + 2);
      expect(memories.length).toBeGreaterThan(before);
      expect(said.at(-1)?.view).toContain(ORDER);
      expect(said.map(({ warning }) => warning)).not.toContain('summary_degraded');
    },
  );
});

describe('an order that the user has never given', () => {
  it.each(MODES)('is not let through by the same summarizer, in mode %s', async (_, strategy) => {
    const talk = ordered(strategy, '## Constraints');
    talk.messages.splice(0, 2, user(question(1)), assistant(ORDER));

    const said = await talk.rounds(2, 4);

    const { memories, health } = await talk.overview();
    expect(health).toBe('degraded');
    expect(memories.map(({ error }) => error)).toContain('orders');
    expect(JSON.stringify(memories)).not.toContain(ORDER);
    expect(said.at(-1)?.response.status).toBe(200);
  });
});
