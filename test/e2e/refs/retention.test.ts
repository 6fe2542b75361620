import { describe, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { SCHEDULED_PATH } from '../../support/deployment/environment.ts';
import { until } from '../../support/deployment/polling.ts';

const DAY = 24 * 60 * 60_000;
const deployment = deploy({ vars: { RETENTION_DAYS: '30' }, alone: true });

/** A new caller. */
function caller(name: string) {
  const headers = { authorization: `Bearer sk-the-key-of-${name.replaceAll(' ', '-')}-0001` };
  const remember = async (topics: string[], conversation?: string): Promise<void> => {
    const response = await deployment.chat(
      {
        model: 'gpt-4.1-mini',
        memory_strategy: { ...COMPACT_OLD_TURNS, archive: true },
        messages: conversationOf(topics.map((topic) => linesAbout(topic))),
        ...(conversation === undefined ? {} : { conversation_id: conversation }),
      },
      headers,
    );
    expect(response.status).toBe(200);
    await response.text();
    if (conversation !== undefined)
      await until('the conversation is archived', async () => (await archived(conversation)) > 0);
  };
  const request = (path: string, method = 'GET') => deployment.fetch(path, { method, headers });
  const refs = async (): Promise<string[]> => {
    const { data } = (await (await request('/v1/refs?limit=1000')).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const archived = async (conversation: string): Promise<number> => {
    const { data } = (await (await request(`/v1/conversations/${conversation}/messages`)).json()) as {
      data?: unknown[];
    };
    return data?.length ?? 0;
  };
  const forget = (conversation: string) => request(`/v1/conversations/${conversation}/memory`, 'DELETE');
  return { remember, request, refs, archived, forget };
}

describe('deleting a conversation', () => {
  it('deletes its archive, and of its contents those that no other one has', async () => {
    const { remember, refs, archived, forget } = caller('deleting one');
    await remember(['what only one has', 'what both have'], 'one');
    const ofOne = await refs();
    await remember(['what both have', 'what only two has'], 'two');
    expect([ofOne.length, (await refs()).length]).toEqual([2, 3]);

    const deleted = await forget('one');

    expect(deleted.status).toBe(200);
    const left = await refs();
    expect(left).toHaveLength(2);
    expect(left.filter((ref) => ofOne.includes(ref))).toHaveLength(1);
    expect(await archived('one')).toBe(0);
    expect(await archived('two')).toBeGreaterThan(0);
    expect((await forget('two')).status).toBe(200);
    expect(await refs()).toEqual([]);
  });
});

describe('deleting everything', () => {
  it.each(['/v1/memory', '/agents/coding/v1/memory'])('of a caller is one call, of %s', async (path) => {
    const [one, other] = [caller(`everything ${path.length}`), caller(`others ${path.length}`)];
    for (const { remember } of [one, other]) {
      await remember(['named'], 'named');
      await remember(['unnamed']);
    }

    const response = await one.request(path, 'DELETE');

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ object: 'memory.deleted', deleted: true });
    expect(await one.refs()).toEqual([]);
    expect((await one.request('/v1/conversations/named/messages')).status).toBe(404);
    expect(await other.refs()).toHaveLength(2);
    expect(await other.archived('named')).toBeGreaterThan(0);
  });

  it('needs the caller’s key', async () => {
    const response = await deployment.fetch('/v1/memory', {
      method: 'DELETE',
      headers: { authorization: '' },
    });
    expect(response.status).toBe(401);
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('invalid_api_key');
  });
});

describe('the scheduled handler', () => {
  it('collects what was not used for the time of retention', async () => {
    const { remember, refs, archived } = caller('collecting');
    await remember(['unused'], 'unused');
    const run = (days: number) => deployment.fetch(`${SCHEDULED_PATH}?time=${Date.now() + days * DAY}`);

    expect((await run(29)).status).toBe(204);
    expect(await refs()).toHaveLength(1);
    expect((await run(31)).status).toBe(204);

    expect(await refs()).toEqual([]);
    expect(await archived('unused')).toBe(0);
  });
});
