/** `instructions` that are in the input as a leading developer message. */
import { describe, expect, it } from 'vitest';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';

type Json = Record<string, unknown>;

function moved(fields: Json, injected: { role: 'system' | 'user'; content: string }[] = []): Json {
  const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify({ model: 'm', ...fields })));
  if (!read.ok) throw new Error(read.reason.message);
  const bytes = read.value.write(undefined, { movesInstructions: true, injected });
  return JSON.parse(new TextDecoder().decode(bytes));
}

const INSTRUCTIONS = 'Be brief: "no" is enough.';
const first = { role: 'developer', content: INSTRUCTIONS };
const user = { role: 'user', content: 'Hi.' };
const developer = { role: 'developer', content: 'Today is Monday.' };
const ours = { role: 'user' as const, content: 'What is remembered.' };

describe('instructions that are moved', () => {
  it.each<[string, unknown, unknown]>([
    ['stand before the first message', [user], [first, user]],
    ['stand before a developer message', [developer, user], [first, developer, user]],
    ['stand before developer messages alone', [developer], [first, developer]],
    ['stand before a text', 'Hi.', [first, user]],
    ['stand alone in an empty list', [], [first]],
  ])('%s', (_, input, expected) => {
    expect(moved({ instructions: INSTRUCTIONS, input })).toEqual({ model: 'm', input: expected });
  });

  it.each<[string, unknown, unknown]>([
    ['a message', [developer, user], [first, developer, ours, user]],
    ['developer messages alone', [developer], [first, developer, ours]],
    ['a text', 'Hi.', [first, ours, user]],
    ['an empty list', [], [first, ours]],
  ])('go before what is injected into %s', (_, input, expected) => {
    expect(moved({ instructions: INSTRUCTIONS, input }, [ours]).input).toEqual(expected);
  });

  it.each<[string, Json]>([
    ['none', { input: [user] }],
    ['null', { instructions: null, input: [user] }],
    ['an empty text', { instructions: '', input: [user] }],
    ['no input to stand in', { instructions: INSTRUCTIONS, prompt: { id: 'p' } }],
  ])('stay unchanged where there is %s', (_, fields) => {
    expect(moved(fields)).toEqual({ model: 'm', ...fields });
  });
});
