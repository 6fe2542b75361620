import { describe, expect, it } from 'vitest';
import { Block, Frame } from '../../../../src/protocol/answers/sse.ts';
import { answerText, StreamedMessage } from '../../../../src/protocol/messages/format.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../../tools/upstream/message.ts';
import { call, encoder, request, thinking } from './joined.ts';

/** The text of an answer: as a body, and as a stream. */
function textsOf(answer: MessageAnswer): (string | undefined)[] {
  const gathered = new StreamedMessage();
  for (const event of messageEvents(request, answer)) {
    const bytes = encoder.encode(event);
    if (!gathered.skip(new Block(bytes))) gathered.push(new Frame(bytes));
  }
  return [answerText(encoder.encode(JSON.stringify(messageOf(request, answer)))), gathered.text()];
}

describe('the text of an answer', () => {
  it.each(['end_turn', 'stop_sequence', 'max_tokens', 'model_context_window_exceeded'])(
    'is all its text blocks’, if it stopped by %s',
    (stopReason) => {
      const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: { text: 'no' } };
      const blocks = [search, { type: 'text', text: ' And "more"\u2028.', citations: [] }];
      const said = 'Hello there. And "more"\u2028.';
      expect(textsOf({ thinking, content: 'Hello there.', blocks, stopReason })).toEqual([said, said]);
    },
  );

  it.each<[string, MessageAnswer]>([
    ['calls tools', { content: 'Let me see.', toolCalls: [call('edit', '{"text":"x"}')] }],
    ['calls tools and has stopped', { content: 'So.', toolCalls: [call('edit')], stopReason: 'end_turn' }],
    ['is refused', { content: 'I', stopReason: 'refusal' }],
    ['pauses', { content: 'I', stopReason: 'pause_turn' }],
    ['is empty', { content: '' }],
    ['only thinks', { thinking, blocks: [], content: '' }],
  ])('is undefined for an answer that %s', (_, answer) => {
    expect(textsOf(answer)).toEqual([undefined, undefined]);
  });

  it('is undefined before the end of a stream', () => {
    const gathered = new StreamedMessage();
    for (const event of [...messageEvents(request)].slice(0, -2))
      gathered.push(new Frame(encoder.encode(event)));
    expect(gathered.text()).toBeUndefined();
  });

  it('is not looked for in thinking, inputs and signs of life', () => {
    const gathered = new StreamedMessage();
    const frames = [...messageEvents(request, { thinking, toolCalls: [call('edit', '{"a":1}')] })];
    const skipped = frames.filter((frame) => gathered.skip(new Block(encoder.encode(frame))));
    expect(skipped.filter((frame) => /thinking_delta|input_json_delta|ping/.test(frame))).not.toEqual([]);
    expect(skipped.some((frame) => /text|tool_use|message_delta/.test(frame))).toBe(false);
  });
});
