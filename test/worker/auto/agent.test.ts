/** Mode auto as the strategy of an agent. */
import { expect, it } from 'vitest';
import { type AgentSpec, agents } from '../../../src/agents.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket } from '../support.ts';

// A deployer would write this into the file. It is read at the app's first request.
(agents as AgentSpec[]).push({
  key: 'worker',
  memory_strategy: { mode: 'auto', token_budget: 4_500, min_reclaim_tokens: 0 },
});

it.each<[string, string, object, Record<string, string>]>([
  ['base URL', '/agents/worker', {}, {}],
  ['body', '', { agent_type: 'worker' }, {}],
  ['header', '', {}, { 'x-agent-type': 'worker' }],
])(
  'an agent of mode auto that the %s names has its strategy applied',
  async (name, path, fields, headers) => {
    const app = startApp(watchedBucket().bucket);
    const steps = [1, 2, 3, 4, 5, 6].map((at) => step(`call_${at}`, 'search', lines(90, `${name} ${at}`)));

    const response = await app.request(`${path}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...fields, ...body([user('Go.'), ...steps.flat()]) }),
    });

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-mode')).toBe('auto');
    expect(response.headers.get('x-memory-source')).toBe('agent');
    expect(response.headers.get('x-memory-applied')).toBe('dedupe');
    expect(Object.keys(JSON.parse(app.sent.at(-1)?.body ?? ''))).toEqual(['model', 'messages']);
  },
);
