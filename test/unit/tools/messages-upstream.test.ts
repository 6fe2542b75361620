/** What the upstream of Messages says of its own. */
import { expect, it } from 'vitest';
import { startMessagesUpstream } from '../../../tools/upstream/messages-upstream.ts';

it('an error has the id of its request, also one that a test gives it', async () => {
  const upstream = await startMessagesUpstream();
  upstream.next({ type: 'error', status: 529, headers: { 'request-id': 'req_7' } });
  const answer = await fetch(`${upstream.url}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'sk-ant-1', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: 'claude-opus-5-5',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'Hi.' }],
    }),
  });
  expect(answer.headers.get('request-id')).toBe('req_7');
  expect(await answer.json()).toMatchObject({ error: { type: 'overloaded_error' }, request_id: 'req_7' });
  await upstream.close();
});
