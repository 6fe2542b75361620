import { expect, it } from 'vitest';
import { type Message, outputOf, recording } from '../../../fixtures/recording.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { toolNameOf, untimed, type WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

/**
 * With this budget some outputs of the recorded conversation are removed, and more by a second
 * move.
 */
const strategy = { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5, compact_retrieval: 'off' };

/**
 * Sends the first messages of the recorded conversation, or `fields.messages`, with the client.
 * Returns the report and the upstream's request, with the messages last in its body.
 */
async function send(length: number, fields: { messages?: object[]; memory_strategy?: object } = {}) {
  const { model, tools } = recording;
  const { messages = recording.messages.slice(0, length), ...others } = fields;
  const params = { model, tools, memory_strategy: strategy, memory_report: true, ...others };
  const { data, response } = await deployment
    .client()
    .chat.completions.create({ ...params, stream: false, messages: messages as Message[] })
    .withResponse();
  const { memory } = data as WithMemory;
  if (!memory) throw new Error('the answer has no report');
  return { memory, headers: response.headers, seen: deployment.lastChat() };
}

/** The request points: before each message of the assistant. */
const requestPoints = recording.messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));

overProtocols('a long conversation in mode compact', deployment, () => {
  it('reaches the upstream with placeholders of the documented form, and otherwise as it was', async () => {
    const { memory, headers, seen } = await send(54);

    expect(violations({ ...seen.body, tools: recording.tools }, { jsonArguments: true })).toEqual([]);
    expect(memory.refs.length).toBeGreaterThan(5);
    const lines = new Map(
      memory.refs.map(({ ref, tool_name, tool_call_id, tokens }) => [
        tool_call_id,
        `⟦removed: tool output for ${tool_name} (call_id=${tool_call_id}); reason=context_compaction; ref=${ref}; tokens=${tokens}⟧`,
      ]),
    );
    const expected = recording.messages.slice(0, 54).map((message) => {
      const line = message.role === 'tool' ? lines.get(message.tool_call_id) : undefined;
      return line === undefined ? message : { ...message, content: line };
    });
    expect(seen.body.messages).toEqual(expected);
    for (const { ref, tool_name, tool_call_id } of memory.refs) {
      expect(ref).toMatch(/^ref_[a-z2-7]{26}$/);
      expect(tool_name).toBe(toolNameOf(tool_call_id));
    }
    expect(headers.get('x-memory-mode')).toBe('compact');
    expect(headers.get('x-memory-source')).toBe('request');
    expect(headers.get('x-memory-applied')).toBe('compact');
    expect(headers.get('x-memory-trigger')).toBe('token_budget');
    expect(headers.get('x-memory-refs')).toBe(String(memory.refs.length));
    expect(headers.has('x-memory-warning')).toBe(false);
    expect(headers.get('server-timing')).toMatch(/store;dur=\d+.*upstream;dur=\d+/);
  });

  it('leaves every removed output under its ref, byte for byte', async () => {
    const { memory } = await send(54);

    for (const { ref, tool_call_id, bytes } of memory.refs) {
      const response = await deployment.fetch(`/v1/refs/${ref}`);
      const kept = Buffer.from(await response.arrayBuffer());
      expect(response.status).toBe(200);
      expect(kept.equals(Buffer.from(outputOf(tool_call_id)))).toBe(true);
      expect(kept.length).toBe(bytes);
    }
  });

  it('reaches the upstream as the same bytes when it is sent again', async () => {
    const first = await send(54);
    const second = await send(54);

    expect(second.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
    expect(untimed(second.memory)).toEqual(untimed(first.memory));
  });

  it('grows by what is new from request to request, except where the frontier is said to have moved', async () => {
    const frontiers: (string | null)[] = [];
    let former = '';
    for (const length of requestPoints) {
      const { headers, memory, seen } = await send(length);
      const body = seen.rawBody.toString();
      const frontier = headers.get('x-memory-frontier');
      if (frontier !== 'moved') expect(body.startsWith(former)).toBe(true);
      expect(memory.tokens?.after).toBeLessThanOrEqual(20_000);
      expect(memory.frontier.moved).toBe(frontier === 'moved');
      frontiers.push(frontier);
      // Without the brackets that close the array and the body.
      former = body.slice(0, -2);
    }

    expect(frontiers[0]).toBe('none');
    expect(frontiers.filter((frontier) => frontier === 'moved').length).toBeGreaterThan(1);
    expect(frontiers.filter((frontier) => frontier === 'kept').length).toBeGreaterThan(4);
  });

  it('is the same view for all requests that come at once', async () => {
    const messages = recording.messages
      .slice(0, 33)
      .map((message) =>
        message.role === 'tool' ? { ...message, content: `${message.content}\n` } : message,
      );

    const sent = await Promise.all([1, 2, 3, 4, 5, 6].map(() => send(0, { messages })));

    const reports = sent.map(({ memory }) => untimed(memory));
    expect(reports).toEqual(sent.map(() => ({ ...reports[0], warnings: [] })));
    expect(new Set(deployment.chats().map(({ rawBody }) => rawBody.toString())).size).toBe(1);
    expect(sent[0]?.memory.refs.length).toBeGreaterThan(5);
  });

  it('is sent as it is while it is under the budget', async () => {
    const { memory, headers, seen } = await send(8);

    expect(seen.body.messages).toEqual(recording.messages.slice(0, 8));
    expect(headers.get('x-memory-applied')).toBe('none');
    expect(headers.get('x-memory-frontier')).toBe('none');
    expect(memory).toMatchObject({ trigger: 'none', refs: [], applied_edits: [], warnings: [] });
    expect(memory.tokens?.after).toBe(memory.tokens?.before);
  });
});

overProtocols('what a caller can say of compacting', deployment, (protocol) => {
  const always = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 };
  const length = 28;

  it('removes the outputs of all turns but the kept ones once there are more turns than the trigger', async () => {
    const { headers, seen } = await send(length, { memory_strategy: always });

    const contents = contentsOf(seen.body.messages.slice(0, 26), 'tool');
    expect(contents).toHaveLength(14);
    expect(contents.filter((content) => !content.startsWith('⟦removed: '))).toEqual([]);
    expect(headers.get('x-memory-trigger')).toBe('turns');
  });

  it('leaves the outputs of excluded tools alone', async () => {
    const compact_exclude_tools = ['search_logs', 'run_command'];
    const { memory, seen } = await send(length, { memory_strategy: { ...always, compact_exclude_tools } });

    const removed = new Set(memory.refs.map(({ tool_name }) => tool_name));
    expect([...removed].toSorted()).toEqual(['http_get', 'query_database', 'read_file']);
    expect(contentsOf(seen.body.messages, 'tool')).toContain(recording.messages[4]?.content);
  });

  it('clears the inputs of calls to a JSON object, and keeps them under their refs', async () => {
    const input = JSON.stringify({ path: 'notes.md', text: 'A line that is written. '.repeat(40) });
    const call = { id: 'call_1', type: 'function', function: { name: 'write_file', arguments: input } };
    const messages = [
      { role: 'user', content: 'Write it down.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Thank you.' },
    ];
    const memory_strategy = { ...always, compact_clear_tool_inputs: true };

    const { memory, seen } = await send(0, { memory_strategy, messages });

    const ref = memory.refs[0]?.ref;
    const cleared = JSON.parse(seen.body.messages[1].tool_calls[0].function.arguments);
    const line = `⟦removed: tool input for write_file (call_id=call_1); reason=context_compaction; ref=${ref}⟧`;
    expect(cleared).toEqual({ _removed: line });
    expect(await (await deployment.fetch(`/v1/refs/${ref}`)).text()).toBe(input);
    expect(memory.applied_edits).toMatchObject([{ cleared_tool_results: 0, cleared_tool_inputs: 1 }]);
  });

  it('stores nothing and names no ref when offloading is off', async () => {
    const { memory, headers, seen } = await send(length, {
      memory_strategy: { ...always, compact_offload: false },
    });

    const [call] =
      recording.messages[2]?.role === 'assistant' ? (recording.messages[2].tool_calls ?? []) : [];
    expect(seen.body.messages[3].content).toBe(
      `⟦removed: tool output for read_file (call_id=${call?.id}); reason=context_compaction⟧`,
    );
    expect(memory.refs).toEqual([]);
    expect(headers.get('x-memory-refs')).toBe('0');
    expect(headers.get('x-memory-applied')).toBe('compact');
  });

  it('keeps the form of a content that is an array of parts, and its cache breakpoint', async () => {
    // Only chat reaches upstreams that know a field of this name.
    const breakpoint = protocol.name === 'chat' ? { cache_control: { type: 'ephemeral' } } : {};
    const messages = recording.messages.slice(0, length).map((message) => {
      if (message.role !== 'tool') return message;
      const part = { type: 'text', text: message.content, ...breakpoint };
      return { ...message, content: [part] };
    });

    const { seen } = await send(length, { memory_strategy: always, messages });

    expect(seen.body.messages[3].content).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(/^⟦removed: tool output for read_file /),
        ...breakpoint,
      },
    ]);
  });
});

function contentsOf(messages: { role: string; content: string }[], role: string): string[] {
  return messages.filter((message) => message.role === role).map(({ content }) => content);
}
