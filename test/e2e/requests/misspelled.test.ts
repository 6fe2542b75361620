/** Fields and headers that are spelled almost like Precis's. */
import { expect, it } from 'vitest';
import { user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: false } });
const model = 'gpt-4.1-mini';
const messages = [user('Hello.')];

async function refusalOf(response: Response): Promise<unknown> {
  return [response.status, ((await response.json()) as { error: unknown }).error];
}

const refused = (param: string, message: string) => [
  400,
  expect.objectContaining({ code: 'invalid_value', param, message: expect.stringContaining(message) }),
];

overProtocols('what is almost a field or a header', deployment, () => {
  it.each([
    ['x-memory-strat', "the nearest known one is 'x-memory-strategy'"],
    ['x-memory-observer', "the nearest known one is 'x-memory-observe'"],
    ['x-memory-agent', "the nearest known one is 'x-agent-type'"],
  ])('the header %s is refused, whatever the mode', async (header, hint) => {
    for (const memory_strategy of ['none', 'auto', undefined]) {
      const response = await deployment.chat({ model, messages, memory_strategy }, { [header]: 'auto' });
      expect(await refusalOf(response)).toEqual(refused(header, hint));
    }
    expect(deployment.upstream.requests).toEqual([]);
  });

  it.each([
    ['memory_injections', "the nearest one is 'memory_injection'"],
    ['memory_reprot', "the nearest one is 'memory_report'"],
    ['memory_observe', 'the header x-memory-observe is'],
    ['memory_user', 'the header x-memory-user is'],
  ])('the field %s is refused where the body is read', async (field, hint) => {
    const response = await deployment.chat({ model, messages, memory_strategy: 'auto', [field]: true });
    expect(await refusalOf(response)).toEqual(refused(field, hint));
    expect(deployment.upstream.requests).toEqual([]);
  });
});

it('a header of an answer that a client sends back is dropped', async () => {
  const headers = { 'x-memory-mode': 'auto', 'x-memory-tokens-before': '9', 'x-memory-warning': 'idle' };
  expect((await deployment.chat({ model, messages }, headers)).status).toBe(200);
  expect(Object.keys(deployment.lastChat().headers).filter((name) => name.startsWith('x-memory'))).toEqual(
    [],
  );
});

it('a header that is like none of Precis is dropped, though all begin in the same way', async () => {
  expect((await deployment.chat({ model, messages }, { 'x-memory-team': '7' })).status).toBe(200);
  expect(deployment.lastChat().headers['x-memory-team']).toBeUndefined();
});

it('a field that is like none of Precis goes to the upstream, as any unknown one', async () => {
  const sent = { model, messages, memory_strategy: 'auto', memory_of_another_server: 1 };
  await (await deployment.chat(sent)).text();
  expect(deployment.lastChat().body).toMatchObject({ memory_of_another_server: 1 });
});
