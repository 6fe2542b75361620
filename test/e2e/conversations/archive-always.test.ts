/** Conversations that the deployer has archived, whatever their requests say. */
import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const always = deploy({ vars: { ARCHIVE: 'always' }, summarizer: true });
const asked = deploy();

const MODES = ['none', 'native', 'trim', 'compact', 'summarize', 'rolling_summary', 'auto'];

let named = 0;
const newId = () => `kept ${++named}`;

type Deployment = typeof always;

interface Said {
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

/** Sends a request, and reads its answer to the end. */
async function send(deployment: Deployment, word: string, { body = {}, headers = {}, path = '' }: Said) {
  const response = await deployment.postTo(
    `${path}/v1/chat/completions`,
    { model: 'gpt-4.1', messages: [{ role: 'user', content: word }], ...body },
    headers,
  );
  expect(response.status, await response.clone().text()).toBe(200);
  return response.text();
}

/** The roles of the archived messages; undefined without an archive. */
async function archived(deployment: Deployment, id: string): Promise<string[] | undefined> {
  const response = await deployment.fetch(`/v1/conversations/${encodeURIComponent(id)}/messages`);
  const { data } = (await response.json()) as { data?: { message: { role: string } }[] };
  return data?.map(({ message }) => message.role);
}

const kept = (deployment: Deployment, id: string) =>
  until('the conversation is archived', async () => (await archived(deployment, id))?.length === 2);

overProtocols('ARCHIVE=always', always, () => {
  it.each(MODES)(
    'archives a named conversation in mode %s, also against the word of the request',
    async (mode) => {
      const silent = newId();
      await send(always, 'One', { body: { conversation_id: silent, memory_strategy: { mode } } });
      const against = newId();
      const memory_strategy = { mode, archive: false };
      await send(always, 'One', { body: { conversation_id: against, memory_strategy, stream: true } });
      for (const id of [silent, against]) {
        await kept(always, id);
        expect(await archived(always, id)).toEqual(['user', 'assistant']);
      }
    },
  );

  it('archives one that only a header names, and one that is observed', async () => {
    for (const headers of [{ 'x-memory-strategy': 'none' }, { 'x-memory-observe': 'true' }]) {
      const id = newId();
      await send(always, 'One', { headers: { 'x-conversation-id': id, ...headers } });
      await kept(always, id);
    }
  });

  it.each(['compaction', 'auxiliary', ' Auxiliary'])(
    'B11: archives a request that says it is none of its conversation: %j',
    async (of) => {
      const beside = { 'x-claude-code-request-class': of };
      const ids = [newId(), newId(), newId()] as const;
      const [inHeader, inBody, edited] = ids;
      await send(always, 'One', { headers: { ...beside, 'x-conversation-id': inHeader } });
      await send(always, 'One', { headers: beside, body: { conversation_id: inBody, stream: true } });
      const memory_strategy = { mode: 'auto', archive: false };
      await send(always, 'One', { headers: beside, body: { conversation_id: edited, memory_strategy } });
      for (const id of ids) await kept(always, id);
      const ofAgent = newId();
      const agent = { path: '/agents/support', headers: { ...beside, 'x-conversation-id': ofAgent } };
      await send(asked, 'One', agent);
      await kept(asked, ofAgent);
      const plain = newId();
      await send(asked, 'One', { headers: { ...beside, 'x-conversation-id': plain } });
      expect(await archived(asked, plain)).toBeUndefined();
    },
  );

  it('changes no byte in mode none', async () => {
    const id = newId();
    await send(always, 'Two,  \u00e9', {});
    await send(always, 'Two,  \u00e9', { headers: { 'x-conversation-id': id } });
    await kept(always, id);
    const bodies = always.upstream.requests.map(({ rawBody }) => `${rawBody}`);
    const [passed, archivedToo, ...others] = bodies.filter((body) => body.includes('Two,'));
    expect(passed).toBeDefined();
    expect([archivedToo, others]).toEqual([passed, []]);
  });
});

describe('an archive that nobody has asked for', () => {
  it('is not made without ARCHIVE', async () => {
    const [plain, wanted] = [newId(), newId()];
    await send(asked, 'One', { body: { conversation_id: plain } });
    await send(asked, 'One', {
      body: { conversation_id: wanted, memory_strategy: { mode: 'none', archive: true } },
    });
    await kept(asked, wanted);
    expect(await archived(asked, plain)).toBeUndefined();
  });

  it('is made by the header’s strategy none, too', async () => {
    const id = newId();
    const headers = { 'x-conversation-id': id, 'x-memory-strategy': '{"mode":"none","archive":true}' };
    await send(asked, 'One', { headers });
    await kept(asked, id);
  });

  it('is made by an agent that says always, whatever the request’s strategy', async () => {
    const [ofSupport, ofCoding] = [newId(), newId()];
    const body = (conversation_id: string) => ({ conversation_id, memory_strategy: { mode: 'none' } });
    await send(asked, 'One', { path: '/agents/coding', body: body(ofCoding) });
    await send(asked, 'One', { path: '/agents/support', body: body(ofSupport) });
    await kept(asked, ofSupport);
    expect(await archived(asked, ofCoding)).toBeUndefined();
  });
});
