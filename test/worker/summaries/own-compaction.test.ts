/** Summaries that Anthropic's API makes and signs: whose they are, and who pays for them. */
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { compactionOf } from '../../../tools/upstream/compaction.ts';
import { messageOf } from '../../../tools/upstream/message.ts';
import { violations } from '../../../tools/upstream/strict-messages.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { startApp } from '../support.ts';

type Json = Record<string, unknown>;

const SUMMARY = writeSections(
  new Map([
    ['## User Intent', 'Go on.'],
    ['## Progress', 'Much was done.'],
    ['## Next Steps', 'Go on.'],
  ]),
);

const NAME = 'own-compaction';
const KEY = `a-key-of-the-caller-${NAME}`;
/** In nanodollars: what `compactionOf` reports, at the prices of Opus 5.5. */
const COST = 1_000 * 4_000 + 200 * 20_000;

/** A deployment whose account belongs to a key, in front of a strict upstream. */
function deployed(account: string, limits: Json = { usd_per_day: 100 }) {
  const variables = {
    ACCESS_KEYS: `${NAME}=${KEY}`,
    ANTHROPIC_API_KEY: account,
    CALLER_LIMITS: JSON.stringify({ [NAME]: limits }),
  };
  const { request } = startApp(env.REFS, variables, KEY);
  const bodies: Json[] = [];
  const refusals: string[] = [];
  let refuses = false;
  vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
    const asked = new Request(input, init);
    const body = (await asked.json()) as Json;
    const headers = Object.fromEntries(asked.headers);
    bodies.push(body);
    refusals.push(...violations(body, { headers }));
    if (refuses && body.compaction) return Response.json({ type: 'error', error: {} }, { status: 400 });
    // A call of Precis's summarizer gets a summary.
    if (typeof body.system === 'string') return Response.json(messageOf(body, { content: SUMMARY }));
    return Response.json(messageOf(body, body.compaction ? compactionOf(body, headers) : {}));
  });
  const ask = (conversation: string, turns: number): Promise<Report> => {
    const messages = Array.from({ length: 2 * turns - 1 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `${conversation} ${at}: ${'a sentence of some words. '.repeat(150)}`,
    }));
    return send(conversation, messages);
  };
  const send = async (conversation: string, messages: readonly Json[], more: Json = {}): Promise<Report> => {
    const answer = await request('/v1/messages', {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'claude-opus-5-5',
        max_tokens: 100,
        messages,
        conversation_id: conversation,
        memory_report: true,
        memory_strategy: { mode: 'native', compact_threshold: 6_000 },
        ...more,
      }),
    });
    const { memory } = (await answer.json()) as { memory: Report };
    return memory;
  };
  const refuse = (): void => {
    refuses = true;
  };
  return { ask, send, bodies, refusals, refuse };
}

const beginsWithBlock = (body: Json | undefined): boolean =>
  (JSON.stringify((body?.messages as Json[] | undefined)?.[0]) ?? '').includes('"type":"compaction"');

describe('a summary that the API has signed', () => {
  it('goes to no other account, which gets its text, and comes back to its own', async () => {
    const own = deployed('sk-ant-one');
    const made = await own.ask('accounts', 12);
    expect(made.summary?.signed).toBe(true);
    expect(beginsWithBlock(own.bodies.at(-1))).toBe(true);
    const other = deployed('sk-ant-two');
    const shown = await other.ask('accounts', 12);
    expect(shown.summary).toMatchObject({ status: 'completed', text: made.summary?.text });
    expect(shown.summary).not.toHaveProperty('signed');
    expect(beginsWithBlock(other.bodies.at(-1))).toBe(false);
    expect(JSON.stringify(other.bodies.at(-1)?.messages)).toContain(made.summary?.text);
    const back = deployed('sk-ant-one');
    expect((await back.ask('accounts', 12)).summary?.signed).toBe(true);
    expect(back.bodies.filter(({ compaction }) => compaction)).toEqual([]);
    expect([own.refusals, other.refusals, back.refusals]).toEqual([[], [], []]);
  });

  it('is reported, and counts against the budget of its caller', async () => {
    const { ask, bodies } = deployed('sk-ant-one');
    const days = async () => {
      const stub = env.TENANT_MEMORY.getByName(new Tenants(env.PRECIS_SECRET).ofName(NAME).id) as unknown as {
        usage(from: number, to: number): Promise<{ spent: { summaries: number }[] }>;
      };
      return (await stub.usage(0, 1e6)).spent.reduce((sum, { summaries }) => sum + summaries, 0);
    };
    const before = await days();
    const { summary } = await ask('paid', 12);
    expect(summary?.usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 200, cost: COST });
    const calls = () => bodies.filter(({ compaction }) => compaction).length;
    await expect.poll(days).toBeGreaterThanOrEqual(before + COST);
    expect(((await days()) - before) % COST).toBe(0);
    expect(calls()).toBeGreaterThan(0);
  });

  it('has no price in a mode of the model that is billed otherwise', async () => {
    // A budget in dollars takes no request without a price.
    const { send } = deployed('sk-ant-one', {});
    const messages = Array.from({ length: 23 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `fast ${at}: ${'a sentence of some words. '.repeat(150)}`,
    }));
    const { summary } = await send('fast', messages, { speed: 'fast' });
    expect(summary).toMatchObject({ signed: true, usage: { prompt_tokens: 1_000, cost: null } });
  });
});

describe('a summary by Precis that builds on a signed one', () => {
  it('has the request that was beside the block', async () => {
    const { send, bodies, refusals, refuse } = deployed('sk-ant-one');
    const words = 'a sentence of some words. '.repeat(150);
    const round = (at: number): Json[] => [
      assistant([{ type: 'tool_use', id: `toolu_${at}`, name: 'f', input: { at } }]),
      user([{ type: 'tool_result', tool_use_id: `toolu_${at}`, content: `${at} ${words}` }]),
    ];
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const work = Array.from({ length: 12 }, (_, at) => round(at)).flat();
    const turn = [user('Paint the zebra crossing.'), ...work];
    const made = await send('beside', turn, { tools });
    expect(made.summary?.signed).toBe(true);
    refuse();
    const later = Array.from({ length: 23 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `beside ${at}: ${words}`,
    }));
    const done = assistant('The work is done.');
    const ours = await send('beside', [...turn, done, ...later], { tools });
    expect(ours.summary).toMatchObject({ status: 'completed' });
    expect(ours.summary).not.toHaveProperty('signed');
    expect(JSON.stringify(bodies.at(-1)?.messages)).not.toContain('zebra');
    const asked = bodies.filter(({ system }) => typeof system === 'string');
    expect(asked.length).toBeGreaterThan(0);
    expect(JSON.stringify(asked[0])).toContain('Paint the zebra crossing.');
    expect(refusals).toEqual([]);
  });
});
