/** A strategy on trial, from an OpenAI client with a header and two calls. */
import { expect, it } from 'vitest';
import type { StatsComparison } from '../../../src/reference/schemas/conversations.ts';
import { untilDayLasts } from '../../support/day.ts';
import { deploy } from '../../support/deployment/deployment.ts';

const deployment = deploy();

const STRATEGY = JSON.stringify({ mode: 'trim', max_turns: 2, keep_last_n_turns: 1 });
const LINE = 'what follows from that? '.repeat(200);

it('saves as much as it would have, with an interval, where all conversations are alike', async () => {
  const defaultHeaders = { 'x-memory-strategy': STRATEGY, 'x-memory-observe': '0.4' };
  const client = deployment.client({ defaultHeaders });
  const turns = Array.from({ length: 5 }, (_, n) => [
    { role: 'user' as const, content: `Question ${n}: ${LINE}` },
    { role: 'assistant' as const, content: `Answer ${n}: ${LINE}` },
  ]).flat();
  const sent: number[] = [];
  await untilDayLasts(60_000);
  for (let at = 0; at < 40; at++) {
    const messages = [...turns, { role: 'user' as const, content: `And in case ${at}?` }];
    await client.chat.completions.create(
      { model: 'gpt-4.1', messages },
      { headers: { 'x-conversation-id': `case-${at}` } },
    );
    sent.push(deployment.lastChat().body.messages.length);
  }
  const observed = sent.filter((count) => count === turns.length + 1).length;
  expect(observed).toBeGreaterThanOrEqual(10);
  expect(observed).toBeLessThanOrEqual(30);

  await client.get('/conversations');
  const { data } = (await client.get('/stats/comparison?days=1')) as StatsComparison;
  expect(data).toHaveLength(1);
  const [trial] = data;
  expect(trial).toMatchObject({
    mode: 'trim',
    observed: { conversations: observed, requests: observed, compared: observed, answers: 0 },
    sent: { conversations: 40 - observed, requests: 40 - observed, compared: 40 - observed },
  });
  const saving = (side: 'observed' | 'sent') => trial?.[side]?.saving?.value ?? Number.NaN;
  expect(saving('observed')).toBeGreaterThan(0.5);
  expect(saving('sent')).toBeCloseTo(saving('observed'), 2);
  expect(trial?.between?.cost?.value).toBeCloseTo(saving('observed'), 1);
  expect(trial?.text).toMatch(
    new RegExp(
      `^trim would save \\d+\\.\\d % ± 0\\.1 over ${observed} requests of ${observed} conversations that were only observed\\. `,
    ),
  );

  const other = deployment.client({ apiKey: 'sk-another-caller-with-no-trial' });
  expect(await other.get('/stats/comparison')).toMatchObject({ days: 7, data: [] });
});
