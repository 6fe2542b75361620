/** How much of its decoded messages a request keeps. */
import { describe, expect, it } from 'vitest';
import type { Content } from '../../../src/memory/conversation/message.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';

const TEXT = 'x'.repeat(1_000_000);
const said = Array.from({ length: 6 }, () => ({ role: 'user', content: TEXT }));
const encoder = new TextEncoder();

describe('the contents that a request keeps decoded', () => {
  it.each([
    { api: 'chat', read: () => readChatRequest(encoder.encode(JSON.stringify({ messages: said }))) },
    { api: 'responses', read: () => readResponsesRequest(encoder.encode(JSON.stringify({ input: said }))) },
  ])('F2: are kept decoded up to 4 million characters of a request, over $api', ({ read }) => {
    const request = read();
    if (!request.ok) throw new Error(request.reason.message);
    const contents = (): Content[] => request.value.messages.map((message) => message.content());
    const before = contents();
    const again = contents();

    expect(again.map((content, index) => content === before[index])).toEqual([
      ...Array.from({ length: 4 }, () => true),
      ...Array.from({ length: 2 }, () => false),
    ]);
    expect(again.every(({ text }) => text === TEXT)).toBe(true);

    request.value.forgetContents();
    const later = [contents(), contents()];
    expect(later[0]?.some((content, index) => content === later[1]?.[index])).toBe(false);
    request.value.keepContents();
    expect(contents()[0]).toBe(contents()[0]);
  });
});
