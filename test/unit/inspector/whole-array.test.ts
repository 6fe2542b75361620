import { describe, expect, it } from 'vitest';
import { wholeArray } from '../../../inspector/read/whole-array.ts';
import { assistant, user } from '../../support/conversations/chat.ts';

describe('the array of a request from the archive', () => {
  const system = { role: 'system', content: 'Help.' };
  const said = [user('One.'), { role: 'system', content: 'Be short.' }, assistant('Two.')];

  it('has the system of Messages apart, and what is within the conversation in its place', () => {
    const blocks = { role: 'system', content: [{ type: 'text', text: 'More.' }] };
    expect(wholeArray([system, blocks, ...said], { messages: 5, protocol: 'messages' })).toEqual({
      field: 'messages',
      system: [
        { type: 'text', text: 'Help.' },
        { type: 'text', text: 'More.' },
      ],
      messages: said,
    });
    expect(wholeArray(said, { messages: 3, protocol: 'messages' })).toMatchObject({ system: [] });
  });

  it('has the system of chat among its messages, and is nothing where one is missing', () => {
    expect(wholeArray([system, ...said], { messages: 4, protocol: 'chat' })).toEqual({
      field: 'messages',
      messages: [system, ...said],
    });
    expect(wholeArray([system], { messages: 2, protocol: 'chat' })).toBeUndefined();
  });
});
