import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedBytes } from '../../../src/protocol/changed-bytes.ts';
import { forAll } from '../../support/laws/runs.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const changed = (came: string, went: string) =>
  changedBytes({ bytes: encode(came), conversationField: 'messages' }, encode(went));

describe('the bytes of a conversation that were changed', () => {
  it('are none where only other fields differ', () => {
    const messages = '"messages" : [ {"role":"user","content":"\\u00e9 1.0"} ]';
    expect(changed(`{"memory_report":true,${messages}}`, `{${messages},"store":false}`)).toBe(0);
  });

  it('are none where a mark of Precis was cut out', () => {
    expect(changed('{"messages":[{"compacted":true,"a":1}]}', '{"messages":[{"a":1}]}')).toBe(0);
  });

  it('are those from the first difference to the last', () => {
    expect(changed('{"messages":[1.0]}', '{"messages":[1]}')).toBe(2);
    expect(changed('{"messages":["abc"]}', '{"messages":["axc"]}')).toBe(1);
    expect(changed('{"messages":["aaa"]}', '{"messages":["aa"]}')).toBe(1);
    expect(changed('{"messages":[1]}', '{}')).toBe(3);
  });

  it('are none only where both are the same', () => {
    forAll(fc.array(fc.jsonValue()), fc.array(fc.jsonValue()), (came, went) => {
      const [a, b] = [JSON.stringify({ messages: came }), JSON.stringify({ messages: went })];
      expect(changed(a, b) === 0).toBe(a === b);
    });
  });
});
