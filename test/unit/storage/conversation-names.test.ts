import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conversationName, idsIn } from '../../../src/storage/conversation/names.ts';
import { forAll } from '../../support/laws/runs.ts';

const TENANT = '5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c';
const LONGEST = 256;
const short = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });

describe('the ids in the name of a conversation', () => {
  it('are those that the caller has given, whatever their characters', () => {
    forAll(short, fc.option(short, { nil: undefined }), (id, user) => {
      expect(idsIn(conversationName(TENANT, user, { id }))).toEqual({ conversation: id, user });
    });
    for (const id of ['%uD83D', '\ud83d', 'a:b', '#', '##', '%', 'ä/ü'])
      expect(idsIn(conversationName(TENANT, id, { id }))).toEqual({ conversation: id, user: id });
  });

  it('are unknown where a hash names the conversation, and where an id is too long for a name', () => {
    const none = { conversation: undefined, user: undefined };
    expect(idsIn(conversationName(TENANT, undefined, { hash: 'abc' }))).toEqual(none);
    const id = 'x'.repeat(LONGEST + 1);
    expect(idsIn(conversationName(TENANT, id, { id }))).toEqual(none);
  });
});
