/** Sessions of Claude Code over `/mcp`, by a client that knows the session's id alone. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rows } from '../../support/clients/agent-run.ts';
import { callTool } from '../../support/deployment/call-tool.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';

const deployment = deployMessages();
const strict = deployMessages({
  vars: { ISOLATION: JSON.stringify({ require_explicit_key: true, session_key: 'conversation_id' }) },
});

const STRATEGY = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, archive: true };
const DEVICE = 'e31c9b45b71b4d059fe81e87fb783be2';
const ACCOUNT = '0b7cb1c4-6f0e-4c58-9f8b-6a3b1f5b2d11';

type Json = Record<string, unknown>;

/** A request of a session, of the user that `metadata.user_id` names. */
async function says(session: string, user_id: string | undefined, more: Json = {}, to = deployment) {
  const use = { type: 'tool_use', id: 'toolu_a', name: 'search', input: { of: session } };
  const result = { type: 'tool_result', tool_use_id: 'toolu_a', content: rows(session, 60) };
  const body = {
    tools: [{ name: 'search', input_schema: { type: 'object' } }],
    ...(user_id === undefined ? {} : { metadata: { user_id } }),
    messages: [
      { role: 'user', content: 'What do they weigh?' },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: 'A lot.' },
      { role: 'user', content: 'And now?' },
    ],
    memory_strategy: STRATEGY,
    ...more,
  };
  const { memory } = await to.ask(body, { 'x-claude-code-session-id': session });
  expect(memory.refs).toHaveLength(1);
}

/** The text of a tool's result. */
async function call(
  name: string,
  args: Json,
  headers: Record<string, string> = {},
  to = deployment,
): Promise<string> {
  const response = await callTool(to, name, args, { authorization: `Bearer ${MESSAGES_KEY}`, ...headers });
  const { result } = (await response.json()) as { result?: { content: { text: string }[] } };
  return result?.content[0]?.text ?? '';
}
const list = (conversation_id: string, ...more: [Record<string, string>?, typeof deployment?]) =>
  call('list_refs', { conversation_id }, ...more);

const FORMS: Readonly<Record<string, (session_id: string) => string>> = {
  'a device': (session_id) => JSON.stringify({ device_id: DEVICE, account_uuid: '', session_id }),
  'an account': (session_id) => JSON.stringify({ device_id: DEVICE, account_uuid: ACCOUNT, session_id }),
  'the earlier form': (session_id) => `user_${DEVICE}_account_${ACCOUNT}_session_${session_id}`,
};

describe.each(Object.entries(FORMS))('a session of Claude Code whose user is %s', (_, form) => {
  it('is found by its id, and by no other key', async () => {
    const session = randomUUID();
    await says(session, form(session));

    expect(await list(session)).toContain(`row 0 of ${session}`);
    await until('the conversation is archived', async () =>
      (await call('search_memory', { conversation_id: session, query: 'weigh' })).includes('What do they'),
    );
    const stranger = { authorization: 'Bearer sk-ant-the-key-of-another-caller' };
    expect(await list(session, stranger)).not.toContain('row 0');
  });

  it('is found where another session has the same user', async () => {
    const [session, other] = [randomUUID(), randomUUID()];
    await says(session, form(session));
    await says(other, form(other));

    expect(await list(session)).toContain(`row 0 of ${session}`);
    expect(await list(session)).not.toContain(other);
  });

  it('is not found for another user that the client or the call names', async () => {
    const session = randomUUID();
    await says(session, form(session));

    expect(await list(session, { 'x-memory-user': 'ann' })).not.toContain('row 0');
    expect(await call('list_refs', { conversation_id: session, user: 'ann' })).not.toContain('row 0');
  });

  it('is nobody’s where two users have it', async () => {
    const session = randomUUID();
    await says(session, form(session));
    await says(session, 'f'.repeat(64));

    expect(await list(session)).not.toContain('row 0');
    expect(await call('list_refs', { conversation_id: session, user: 'f'.repeat(64) })).toContain('row 0');
  });

  it('is not found without its user where keys must be explicit', async () => {
    const session = randomUUID();
    await says(session, form(session), { conversation_id: session }, strict);

    expect(await list(session, {}, strict)).not.toContain('row 0');
  });
});

describe('a conversation of a user whom an application names', () => {
  it.each(['ann', 'ann@example.com', 'user_ann'])('needs %s, also if its id is random', async (user) => {
    const session = randomUUID();
    await says(session, user);

    expect(await list(session)).not.toContain('row 0');
    expect(await call('list_refs', { conversation_id: session, user })).toContain('row 0');
  });

  it('needs its user if its id could be guessed', async () => {
    await says('session-1', FORMS['a device']?.('session-1'));

    expect(await list('session-1')).not.toContain('row 0');
    expect(await call('list_refs', { conversation_id: 'session-1', user: DEVICE })).toContain('row 0');
  });

  it('is found without a user where it has none, also beside one with a user', async () => {
    const session = randomUUID();
    await says(session, undefined);
    await says(session, DEVICE);

    expect(await list(session)).toContain(`row 0 of ${session}`);
  });
});
