/** Requests in the form of Claude Code 2.1: what its headers name, and what passes unread. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ListedRun } from '../../../src/memory/run/event.ts';
import { assistant } from '../../support/conversations/chat.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';

type Json = Record<string, unknown>;

const STRATEGY = { mode: 'compact', token_budget: 3_000, compact_trigger_steps: 2 };
const editing = deployMessages({ vars: { DEFAULT_MEMORY_STRATEGY: JSON.stringify(STRATEGY) } });
const passing = deployMessages();

/** A session of one turn whose files were read one after the other. */
function body(reads: number, user?: string): Json {
  const steps = Array.from({ length: reads }, (_, at) => [
    assistant([
      { type: 'text', text: `Reading file ${at}.` },
      { type: 'tool_use', id: `toolu_${at}`, name: 'Read', input: { file_path: `/home/me/${at}` } },
    ]),
    {
      role: 'user',
      content: [
        {
          tool_use_id: `toolu_${at}`,
          type: 'tool_result',
          content: `a line of file ${at}\n`.repeat(300),
          ...(at === reads - 1 && { cache_control: { type: 'ephemeral' } }),
        },
      ],
    },
  ]).flat();
  return {
    model: 'claude-opus-5-5',
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.332; cc_entrypoint=cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'You work with files.', cache_control: { type: 'ephemeral' } },
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Read the files.' }] },
      { role: 'system', content: [], output_config: { effort: 'medium' } },
      ...steps,
    ],
    tools: [{ name: 'Read', description: 'Reads.', input_schema: { type: 'object' } }],
    max_tokens: 32_000,
    thinking: { type: 'adaptive' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'medium' },
    stream: true,
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
  };
}

/** The same, where a hook speaks after each call and the effort has changed on the way. */
function hooked(name: string, reads: number): Json {
  const asked = body(reads);
  const messages = (asked.messages as Json[]).flatMap((message, at): Json[] => {
    const text = JSON.stringify(message).replaceAll(/a line of file/g, `a line of ${name}, of file`);
    const said = JSON.parse(text.replace('Read the files.', `Read the files of ${name}.`)) as Json;
    if (at < 3 || message.role !== 'user') return [said];
    const mark = at === (asked.messages as Json[]).length - 1 ? {} : { output_config: { effort: 'low' } };
    return [said, { role: 'system', content: `A hook of ${name} says: go on.`, ...mark }];
  });
  return { ...asked, messages };
}

const headersOf = (session: string, more: Record<string, string> = {}) => ({
  'x-claude-code-session-id': session,
  'x-claude-code-request-class': 'main',
  'anthropic-beta': 'claude-code-20250219,context-management-2025-06-27,per-turn-control-2026-07-01',
  ...more,
});

async function runsOf({ fetch }: typeof editing, path: string): Promise<ListedRun[]> {
  const response = await fetch(`/v1/conversations/${path}`);
  if (!response.ok) return [];
  return ((await response.json()) as { data: ListedRun[] }).data;
}

describe('a session of Claude Code', () => {
  it('has its view, with attribution, marks and fields unchanged', async () => {
    const session = randomUUID();
    let last: Json = {};
    for (let reads = 1; reads <= 8; reads++) {
      last = body(reads);
      const response = await editing.post(last, headersOf(session));
      expect([response.status, (await response.text()).includes('message_stop')]).toEqual([200, true]);
    }
    const seen = editing.upstream.messages().at(-1);
    const { messages: sent, tools: offered, ...fields } = seen?.body ?? {};
    const { messages: came, tools: own, ...asked } = last;
    expect(fields).toEqual(asked);
    expect(offered).toEqual([...(own as Json[]), expect.objectContaining({ name: 'retrieve_ref' })]);
    expect(sent[1]).toEqual((came as Json[])[1]);
    expect(sent.at(-1)).toEqual((came as Json[]).at(-1));
    expect(JSON.stringify(sent)).toMatch(/ref=ref_\w+/);
    expect(editing.upstream.refusals).toEqual([]);
  });

  it('is a conversation, and each of its subagents another, without a strategy too', async () => {
    const session = randomUUID();
    const agent = headersOf(session, { 'x-claude-code-agent-id': 'agent-7' });
    for (const headers of [headersOf(session), agent, agent]) {
      const response = await passing.post(body(1), headers);
      await response.text();
      expect(response.headers.get('x-memory-mode')).toBe('none');
    }
    await until('the events are kept', async () => {
      const [main, sub] = [`${session}/requests`, `${session}.agent-7/requests`];
      return (await runsOf(passing, main)).length === 1 && (await runsOf(passing, sub)).length === 2;
    });
    const [run] = await runsOf(passing, `${session}/requests`);
    expect(run).toMatchObject({ protocol: 'messages', model: 'claude-opus-5-5' });
  });

  it('shares nothing with its agents that run at once, with hooks, settings and a stream that breaks', async () => {
    const session = randomUUID();
    const memory_strategy = { mode: 'auto', token_budget: 2_000, min_reclaim_tokens: 0 };
    const names = ['main', 'agent-1', 'agent-2'];
    const run = async (name: string): Promise<void> => {
      const headers = headersOf(session, name === 'main' ? {} : { 'x-claude-code-agent-id': name });
      for (let reads = 1; reads <= 5; reads++) {
        const asked = { ...hooked(name, reads), memory_strategy };
        const response = await editing.post(asked, headers);
        // As Esc does, and the client asks again.
        if (reads === 3) await response.body?.cancel();
        else
          expect([name, reads, (await response.text()).includes('message_stop')]).toEqual([
            name,
            reads,
            true,
          ]);
      }
    };
    await Promise.all(names.map(run));
    const views = editing.upstream.messages().map(({ rawBody }) => rawBody.toString());
    const mixed = views.filter((view) => names.filter((name) => view.includes(`of ${name}`)).length > 1);
    expect(mixed).toEqual([]);
    expect(views.filter((view) => /ref=\\?"?ref_\w+/.test(view)).length).toBeGreaterThan(3);
    expect(views.filter((view) => (view.match(/"cache_control"/g) ?? []).length > 4)).toEqual([]);
    expect(editing.upstream.refusals).toEqual([]);
  });

  it('is named otherwise where the request names its conversation', async () => {
    const [session, name] = [randomUUID(), `own-${randomUUID()}`];
    await (await passing.post({ ...body(1), conversation_id: name }, headersOf(session))).text();
    await until('the event is kept', async () => (await runsOf(passing, `${name}/requests`)).length === 1);
    expect(await runsOf(passing, `${session}/requests`)).toEqual([]);
    expect(passing.upstream.messages().at(-1)?.body).not.toHaveProperty('conversation_id');
  });

  it('names no user of over 256 characters, whatever is in the name', async () => {
    const user_id = `user_${'_session_'.repeat(28)}!`;
    const fine = await passing.post({ ...body(1), metadata: { user_id } }, headersOf(randomUUID()));
    expect([user_id.length, fine.status]).toEqual([258, 400]);
    expect(await fine.json()).toMatchObject({ error: { param: 'metadata.user_id' } });
  });

  it('is its user’s, whose name has no session in it', async () => {
    const device_id = 'e31c9b45b71b4d059fe81e87fb783be2';
    const account_uuid = '1f0a6f3c-0000-4000-8000-000000000001';
    for (const [user_id, user] of [
      ['a plain user', 'a plain user'],
      [(session_id: string) => JSON.stringify({ device_id, account_uuid: '', session_id }), device_id],
      [(session_id: string) => JSON.stringify({ device_id, account_uuid, session_id }), account_uuid],
      [
        (id: string) => `user_ab12_account_${account_uuid}_session_${id}`,
        `user_ab12_account_${account_uuid}`,
      ],
    ] as const) {
      const session = randomUUID();
      const named = typeof user_id === 'string' ? user_id : user_id(session);
      await (await passing.post(body(1, named), headersOf(session))).text();
      const path = `${session}/requests?user=${encodeURIComponent(user)}`;
      await until(`the event of ${user} is kept`, async () => (await runsOf(passing, path)).length === 1);
      expect(passing.upstream.messages().at(-1)?.body.metadata).toEqual({ user_id: named });
    }
  });

  it.each(['compaction', 'auxiliary'])('passes a request of the class %s unread', async (of) => {
    const session = randomUUID();
    const asked = body(8);
    const headers = headersOf(session, { 'x-claude-code-request-class': of });
    const response = await editing.post({ ...asked, memory_strategy: undefined }, headers);
    await response.text();
    expect(response.headers.get('x-memory-mode')).toBe('none');
    expect(editing.upstream.messages().at(-1)?.body).toEqual(asked);
    // Also with what has to be read, such as Precis's fields and refs.
    const named = await editing.post({ ...asked, memory_strategy: STRATEGY }, headers);
    await named.text();
    expect(named.headers.get('x-memory-mode')).toBe('none');
    expect(editing.upstream.messages().at(-1)?.body).toEqual(asked);
    expect(await runsOf(editing, `${session}/requests`)).toEqual([]);
    const count = JSON.stringify({ model: 'claude-opus-5-5', messages: asked.messages });
    const counted = await editing.fetch('/v1/messages/count_tokens?beta=true', {
      method: 'POST',
      headers,
      body: count,
    });
    expect(counted.status).toBe(200);
    expect(editing.upstream.requests.at(-1)?.rawBody.toString()).toBe(count);
  });

  it('can look for its refs with its key as a bearer token', async () => {
    const { memory } = await editing.ask({ ...body(8), stream: false }, headersOf(randomUUID()));
    const headers = { authorization: `Bearer ${MESSAGES_KEY}` };
    const found = await editing.fetch(`/v1/refs/${memory.refs[0]?.ref}`, { headers });
    expect(await found.text()).toMatch(/^a line of file \d\n/);
  });
});
