/** What a chat body must not bring to the Responses API. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BridgedBody, BridgeRefusal, ChatBody } from '../../../../../src/protocol/bridges/bridge.ts';
import { responsesBridge } from '../../../../../src/protocol/bridges/responses/body.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const user = { role: 'user', content: 'Hi.' };

function written(chat: object): BridgedBody | BridgeRefusal {
  const body = { model: 'gpt-6-astra', messages: [user], ...chat } as unknown as ChatBody;
  return responsesBridge.body(body, () => undefined, { showsReasoning: false, sha256 });
}

function bodyOf(chat: object): Record<string, unknown> {
  const made = written(chat);
  if (!('body' in made)) throw new Error(made.message);
  return JSON.parse(new TextDecoder().decode(made.body)) as Record<string, unknown>;
}

describe('a chat body', () => {
  it('has no tool of another type than the one that chat knows it by', () => {
    const tools = [{ type: 'function', function: { type: 'image_generation', name: 'look' } }];
    expect(bodyOf({ tools }).tools).toMatchObject([{ type: 'function', name: 'look' }]);
  });

  it('names no reasoning by its id alone', () => {
    const detail = { type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_of_another' };
    const answer = {
      role: 'assistant',
      content: 'Hi.',
      reasoning_details: [detail, { ...detail, data: '' }],
    };
    const { input } = bodyOf({ messages: [user, answer, user] });
    expect(JSON.stringify(input)).not.toContain('rs_of_another');
  });

  it.each(['input', 'instructions', 'previous_response_id', 'conversation', 'prompt', 'background'])(
    'is refused with %s, which chat does not have',
    (param) => expect(written({ [param]: 'x' })).toMatchObject({ param }),
  );

  it('asks a model that does not reason for no reasoning', () => {
    expect(bodyOf({ model: 'gpt-4.1' }).include).toBeUndefined();
    expect(bodyOf({}).include).toEqual(['reasoning.encrypted_content']);
  });
});
