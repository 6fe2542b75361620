/** The texts of a view, made again from its event and its array, are the texts that were sent. */
import { expect, it } from 'vitest';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import type { ShownEdit } from '../../../src/memory/run/shown-edits.ts';
import { rows, tools } from '../../support/clients/agent-run.ts';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ vars: { LOG_LEVEL: 'error' } });

const PICTURE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(40)}`;
const json = (of: string) =>
  JSON.stringify(
    Array.from({ length: 60 }, (_, id) => ({ id: `${of}-${id}`, weight: id * 7, unit: 'kg', stock: true })),
    null,
    2,
  );
const code = Array.from({ length: 400 }, (_, line) => `const value${line} = weigh(${line * 37});`).join('\n');

let calls = 0;
const step = (name: string, args: object, output: string) => {
  const id = `call_${++calls}`;
  const call = { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
  return [{ role: 'assistant', content: null, tool_calls: [call] }, result(id, output)];
};

/** Two calls beside words: several items of the Responses API. */
const both = (first: string, second: string) => {
  const [asked, one] = step('search', { of: 'figs' }, first);
  const [also, two] = step('search', { of: 'nuts' }, second);
  const calls = [asked, also].flatMap((message) => message?.tool_calls ?? []);
  return [{ role: 'assistant', content: 'Both at once.', tool_calls: calls }, one, two];
};

const messages = [
  system('You weigh things.'),
  user([
    { type: 'text', text: 'What do they weigh?' },
    { type: 'image_url', image_url: { url: PICTURE } },
  ]),
  ...step('search', { of: 'apples' }, rows('apples', 60)),
  ...step('search', { of: 'pears' }, json('pears')),
  ...step('search', { of: 'pears' }, json('pears')),
  ...both(rows('figs', 50), json('nuts')),
  ...step('write_file', { path: 'weigh.ts', content: code }, 'Written.'),
  ...step('search', { of: 'everything' }, rows('everything', 4_000)),
  assistant('A lot.'),
  user('And the seventh one?'),
  ...step('search', { of: 'plums' }, json('plums')),
  assistant('Little.'),
  user('Thanks. And the eighth?'),
];

const FORCED = { compact_trigger_turns: 0, compact_keep: 0, archive: true };
const STRATEGIES: readonly (readonly [string, object])[] = [
  ['compact', { mode: 'compact', ...FORCED }],
  [
    'compact with previews and inputs',
    { mode: 'compact', ...FORCED, compact_preview_tokens: 60, compact_clear_tool_inputs: true },
  ],
  ['compact without refs', { mode: 'compact', ...FORCED, compact_offload: false }],
  ['compact with another estimator', { mode: 'compact', ...FORCED, token_estimator: 'chars/4' }],
  ['auto', { mode: 'auto', token_budget: 9_000, archive: true }],
  ['auto, only observed', { mode: 'auto', token_budget: 9_000, archive: true, observe: true }],
];

let made = 0;

overProtocols('the edits of a request', deployment, (protocol) => {
  async function play(memory_strategy: object) {
    const conversation_id = `shown ${++made}`;
    const path = `/v1/conversations/${encodeURIComponent(conversation_id)}`;
    const body = { model: 'gpt-4.1', messages, tools, memory_strategy, conversation_id };
    const response = await deployment.chat(body);
    await response.text();
    let event: RunEvent | undefined;
    await until('its event is kept', async () => {
      const answer = await deployment.fetch(`${path}/requests/1`);
      if (answer.ok) event = (await answer.json()) as RunEvent;
      return answer.ok;
    });
    if (!event) throw new Error('there is no event');
    const show = async (array: object): Promise<readonly ShownEdit[]> => {
      const answer = await deployment.postTo(`${path}/requests/1/view`, array);
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { data: readonly ShownEdit[] }).data;
    };
    return { event, show, path, sent: JSON.stringify(deployment.lastChat().body) };
  }

  /** The array as it went over the wire. */
  const array = () => {
    const {
      messages: chat,
      input,
      instructions,
    } = protocol.body({ messages } as never) as {
      messages?: unknown;
      input?: unknown;
      instructions?: unknown;
    };
    return input === undefined ? { messages: chat } : { input, ...(instructions ? { instructions } : {}) };
  };

  it.each(STRATEGIES)('have the very texts that were sent: %s', async (_, strategy) => {
    const { event, show, sent } = await play(strategy);
    const shown = await show(array());

    expect(event.edits.length).toBeGreaterThan(1);
    expect(shown.map(({ message, kind, call }) => ({ message, kind, call }))).toEqual(
      event.edits.map(({ message, kind, call }) => ({ message, kind, call })),
    );
    for (const [at, { text }] of shown.entries()) {
      expect(text, JSON.stringify(event.edits[at])).not.toBeNull();
      if (!event.observed) expect(sent).toContain(JSON.stringify(text));
    }
  });

  it('are shown for the archived array too', async () => {
    const { event, show, path } = await play({ mode: 'auto', token_budget: 9_000, archive: true });
    let archived: unknown[] = [];
    await until('the array is archived', async () => {
      const answer = await deployment.fetch(`${path}/messages?limit=100`);
      const { data = [] } = (await answer.json()) as { data?: { message: unknown }[] };
      archived = data.map(({ message }) => message).slice(0, event.messages);
      return archived.length === event.messages;
    });
    const shown = await show(protocol.name === 'chat' ? { messages: archived } : { input: archived.flat() });

    expect(shown.length).toBeGreaterThan(1);
    for (const { text } of shown) expect(text).not.toBeNull();
  });

  it('have no text of another array', async () => {
    const { event, show } = await play({ mode: 'compact', ...FORCED });
    const other = { messages: [user('Something else.')] };

    expect(await show(other)).toEqual(
      event.edits.map(({ message, kind, call }) => ({ message, kind, call, text: null })),
    );
  });

  it('are refused in words', async () => {
    const { path } = await play({ mode: 'compact', ...FORCED });
    const post = (of: string, body: object) =>
      deployment.fetch(of, { method: 'POST', body: JSON.stringify(body) });
    const codeOf = async (answer: Response) => {
      const { error } = (await answer.json()) as { error: { code: string } };
      return [answer.status, error.code];
    };

    expect(await codeOf(await post(`${path}/requests/1/view`, {}))).toEqual([400, 'invalid_messages']);
    expect(await codeOf(await post(`${path}/requests/7/view`, array()))).toEqual([404, 'request_not_found']);
    const unknown = '/v1/conversations/nobody/requests/1/view';
    expect(await codeOf(await post(unknown, array()))).toEqual([404, 'conversation_not_found']);
  });
});
