import { describe, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { PROTOCOLS } from '../../support/deployment/protocol.ts';

const withKey = (key: string) => ({ authorization: `Bearer ${key}` });

function requestAbout(topic: string) {
  const messages = conversationOf([linesAbout(topic)]);
  return { model: 'llama', messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };
}

describe.each(PROTOCOLS)('a deployment with LOCAL_TENANT, over $name', (protocol) => {
  const deployment = deploy({ vars: { LOCAL_TENANT: 'me' } });
  deployment.over(protocol);
  const refsOf = async (topic: string, key: string): Promise<string[]> => {
    const response = await deployment.chat(requestAbout(topic), withKey(key));
    const { memory } = (await response.json()) as WithMemory;
    expect(memory?.warnings).toEqual([]);
    return (memory?.refs ?? []).map(({ ref }) => ref);
  };
  const statusOf = async (ref: string, headers: Record<string, string>): Promise<number> =>
    (await deployment.fetch(`/v1/refs/${ref}`, { headers })).status;

  it('stores for callers with a placeholder instead of a key, who are one tenant', async () => {
    const [ref = ''] = await refsOf('a placeholder', 'ollama');

    expect(await refsOf('a placeholder', 'EMPTY')).toEqual([ref]);
    expect(await statusOf(ref, withKey('x'))).toBe(200);
    expect((await fetch(`${deployment.url}/v1/refs/${ref}`)).status).toBe(200);
  });

  it('asks no upstream whether it knows that key: it may have no route for that', async () => {
    await refsOf('no models', 'ollama');

    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([`/v1${protocol.path}`]);
    expect(deployment.lastChat().headers.authorization).toBe('Bearer ollama');
  });

  it('keeps callers with keys of their own apart', async () => {
    const [local = ''] = await refsOf('another', 'ollama');
    const [own = ''] = await refsOf('another', 'sk-a-caller-with-a-key-of-its-own');

    expect(own).not.toBe(local);
    expect(await statusOf(local, withKey('sk-a-caller-with-a-key-of-its-own'))).toBe(404);
    expect(await statusOf(own, withKey('ollama'))).toBe(404);
  });
});

describe('a deployment without it', () => {
  const deployment = deploy({ vars: { LOG_LEVEL: 'warn' } });

  it('explains once what is not stored, and which variable changes that', async () => {
    const told = () => deployment.worker.output().split('LOCAL_TENANT gives them a tenant').length - 1;
    await deployment.chat(requestAbout('one'), withKey('ollama'));
    await until('it is explained', () => told() === 1);
    await deployment.chat(requestAbout('two'), withKey('ollama'));
    const refused = await deployment.fetch('/v1/refs', { headers: withKey('ollama') });

    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('LOCAL_TENANT');
    expect(told()).toBe(1);
  });
});

describe('LOCAL_TENANT beside ACCESS_KEYS', () => {
  const deployment = deploy({
    vars: {
      LOCAL_TENANT: 'me',
      ACCESS_KEYS: 'a=an-access-key-of-20-characters',
      UPSTREAM_API_KEY: 'sk-the-account',
    },
  });

  it('is a configuration error', async () => {
    const response = await deployment.fetch('/v1/models', {
      headers: withKey('an-access-key-of-20-characters'),
    });

    expect(response.status).toBe(500);
    expect(await response.text()).toContain('exclude each other');
  });
});
