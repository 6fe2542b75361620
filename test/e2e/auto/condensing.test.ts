import { describe, expect, it } from 'vitest';
import type { Message } from '../../support/clients/agent-run.ts';
import { expandJson } from '../../support/conversations/expand-json.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { PROTOCOLS } from '../../support/deployment/protocol.ts';

const deployment = deploy();
const memory_strategy = { mode: 'auto', condense: true };

const orders = (topic: string) => ({
  topic,
  orders: Array.from({ length: 40 }, (_, at) => ({ id: `order_${at}`, total: at + 0.5, paid: at % 2 === 0 })),
});
const pretty = (topic: string): string => JSON.stringify(orders(topic), null, 2);

const step = (id: string, name: string, content: string): Message[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content },
];

const outputIn = (view: readonly Message[], id: string): string =>
  String(view.find(({ tool_call_id }) => tool_call_id === id)?.content);

describe.each(PROTOCOLS)('JSON outputs with condense, over $name', (protocol) => {
  deployment.over(protocol);
  const ask = (messages: Message[], fields: object = {}) =>
    deployment.ask({ messages, memory_strategy, ...fields });

  it.each([false, true])(
    'go up as the same value in fewer tokens from the first request on (stream: %s)',
    async (stream) => {
      const topic = `apples ${stream}`;
      const first: Message[] = [
        { role: 'user', content: 'Look.' },
        ...step('one', 'list_orders', pretty(topic)),
      ];
      const { seen, memory, headers } = await ask(first, { stream });

      const shown = outputIn(seen.body.messages, 'one');
      const [line = '', ...rest] = shown.split('\n');
      expect(line).toMatch(/^⟦condensed JSON; ref=ref_[a-z2-7]{26}; @table: a list of objects⟧$/);
      expect(JSON.parse(expandJson(rest.join('\n')))).toEqual(orders(topic));
      expect(headers.get('x-memory-applied')).toBe('condense');
      const [edit] = memory.applied_edits;
      expect(edit).toMatchObject({ type: 'condense', condensed_tool_results: 1 });
      expect(memory.tokens?.after).toBeLessThan((memory.tokens?.before ?? 0) / 2);
      const [kept] = memory.refs;
      expect(await (await deployment.fetch(`/v1/refs/${kept?.ref}`)).text()).toBe(pretty(topic));

      const longer = [...first, ...step('two', 'list_orders', pretty(`${topic} too`))];
      const next = await ask(longer, { stream });
      expect(outputIn(next.seen.body.messages, 'one')).toBe(shown);
      expect(outputIn(next.seen.body.messages, 'two')).toMatch(/^⟦condensed JSON; /);
    },
  );

  it('are left alone if their tool is excluded, if they are small, or if they are no JSON', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'Look.' },
      ...step('excluded', 'read_secret', pretty('pears')),
      ...step('small', 'count', '{ "n": 1 }'),
      ...step('text', 'read', `${pretty('pears')} and more`),
    ];
    const { seen, headers } = await ask(messages, {
      memory_strategy: { ...memory_strategy, compact_exclude_tools: ['read_secret'] },
    });
    expect(seen.body.messages).toEqual(messages);
    expect(headers.get('x-memory-applied')).toBe('none');
  });

  it('are as they came without it', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'Look.' },
      ...step('one', 'list_orders', pretty('figs')),
    ];
    const { seen } = await ask(messages, { memory_strategy: 'auto' });
    expect(seen.body.messages).toEqual(messages);
  });

  it('are as they came if the original cannot be stored', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'Look.' },
      ...step('one', 'list_orders', pretty('plums')),
    ];
    const { seen, memory } = await ask(messages, {
      memory_strategy: { ...memory_strategy, compact_offload: false },
    });
    expect(seen.body.messages).toEqual(messages);
    expect(memory.refs).toEqual([]);
  });
});
