import { describe, expect, it } from 'vitest';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { NOTHING_SAID } from '../../../../src/protocol/messages/answer-blocks.ts';
import { goOnMessages } from '../../../../src/protocol/messages/calls.ts';
import { JoinedMessagesBodies } from '../../../../src/protocol/messages/joined-bodies.ts';
import { call, decoder, encoder, type Json, kinds, OURS, thinking, whole } from './joined.ts';

const ours = '{"type":"tool_use","id":"toolu_1","name":"retrieve_ref","input":{"ref":"r"}}';
const bodyOf = (blocks: readonly string[], more = '"stop_reason":"tool_use"'): Uint8Array =>
  encoder.encode(`{"id":"msg_1", "model":"m", "content":[${blocks.join(', ')}], ${more}}`);

describe('a body of Messages', () => {
  it('is the very same where no call of Precis’s tools is in it', () => {
    const body = bodyOf(['{"type":"text","text":"\\u0041"}']);
    expect(new JoinedMessagesBodies(OURS, () => true).take(body)).toBe(body);
    const odd = encoder.encode('[1]');
    expect(new JoinedMessagesBodies(OURS, () => true).take(odd)).toBe(odd);
  });

  it('keeps the bytes of all blocks that the caller sees', () => {
    const joined = new JoinedMessagesBodies(OURS, () => true);
    const first = '{"type":"thinking", "thinking":"\\u0041","signature":"s/+=="}';
    const second = '{"type":"new_kind","n":12345678901234567890.10}';
    expect(joined.take(bodyOf([first, ours]))).toMatchObject({
      calls: [{ id: 'toolu_1', name: 'retrieve_ref', arguments: '{"ref":"r"}' }],
    });
    const last = bodyOf([second], '"stop_reason":"end_turn", "usage":null').slice();
    expect(decoder.decode(joined.take(last) as Uint8Array)).toBe(
      `{"id":"msg_1", "model":"m", "content":[${first},${second}], "stop_reason":"end_turn", "usage":null}`,
    );
    expect(joined.said?.json).toBe(`{"role":"assistant","content":[${first},${second}]}`);
  });

  // Gateways that translate chat leave its words.
  it.each(['null', '"tool_calls"', '"stop"'])('is a turn whatever its server says at its end: %s', (stop) => {
    const joined = new JoinedMessagesBodies(OURS, () => true);
    expect(joined.take(bodyOf([ours], `"stop_reason":${stop}`))).toMatchObject({
      calls: [{ id: 'toolu_1' }],
    });
  });

  it('has the id of the first answer, and the usage of all', () => {
    const { message, usage } = whole([
      { id: 'first', thinking, toolCalls: [call('retrieve_ref')] },
      { id: 'last', content: 'So.' },
    ]);
    expect(message).toMatchObject({ id: 'msg_first', stop_reason: 'end_turn', usage: { output_tokens: 10 } });
    expect(kinds({ message })).toEqual(['thinking', 'text']);
    expect(usage).toEqual({ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
  });

  it('loses a call of Precis’s tool that is not answered, and has stopped if it was the only one', () => {
    const last = new JoinedMessagesBodies(OURS, () => false);
    expect(JSON.parse(decoder.decode(last.take(bodyOf([ours])) as Uint8Array))).toEqual({
      id: 'msg_1',
      model: 'm',
      content: [NOTHING_SAID],
      stop_reason: 'end_turn',
    });
    expect(last.said?.json).toBe(`{"role":"assistant","content":[${JSON.stringify(NOTHING_SAID)}]}`);
  });

  it('sends every digit of the API’s own calls back with our results', () => {
    const web = '{"type":"server_tool_use","id":"s","name":"w","input":{"n":12345678901234567890,"x":1.0}}';
    const found = '{"type":"web_search_tool_result","tool_use_id":"s","content":[]}';
    const turn = new JoinedMessagesBodies(OURS, () => true).take(bodyOf([web, found, ours])) as ToolTurn;
    const { added } = goOnMessages(encoder.encode('{"messages":[]}'), turn, ['it']);
    expect(added).toContain(`"content":[${web},${found},${ours}]`);
  });

  it('hides what is thought after a call that the caller does not see', () => {
    const thought = (at: number) => `{"type":"thinking","thinking":"","signature":"s${at}"}`;
    const edit = (id: string) => `{"type":"tool_use","id":"${id}","name":"edit","input":{}}`;
    const joined = new JoinedMessagesBodies(OURS, () => true);
    joined.take(bodyOf([thought(1), edit('a'), ours, thought(2), edit('b')]));
    expect(joined.said?.json).toContain(`[${thought(1)},${edit('a')},${edit('b')}]`);
  });

  it('answers no call that a model has made before it declined', () => {
    const fallback = '{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}';
    const thought = (at: number) => `{"type":"thinking","thinking":"","signature":"s${at}"}`;
    const text = '{"type":"text","text":"So."}';
    const edit = '{"type":"tool_use","id":"a","name":"edit","input":{}}';
    const again = ours.replace('toolu_1', 'toolu_2');
    const taken = (...blocks: string[]) => new JoinedMessagesBodies(OURS, () => true).take(bodyOf(blocks));
    const message = taken(text, thought(1), ours, fallback, thought(2), text) as Uint8Array;
    expect(decoder.decode(message)).toContain(`[${text},${thought(1)},${fallback},${thought(2)},${text}]`);
    for (const before of [ours, edit]) {
      const turn = taken(text, thought(1), before, fallback, thought(2), again) as ToolTurn;
      expect(turn.calls.map(({ id }) => id)).toEqual(['toolu_2']);
      expect(turn.json).toContain(`[${text},${fallback},${thought(2)},${again}]`);
    }
    const callers = decoder.decode(taken(ours, fallback, edit, again) as Uint8Array);
    expect(callers).toContain(`[${fallback},${edit}], "stop_reason":"tool_use"`);
  });

  it('is not said if it ended in a refusal, and goes on after a pause', () => {
    const saidAt = (stop: string | null): string | undefined => {
      const joined = new JoinedMessagesBodies(OURS, () => true);
      joined.take(bodyOf(['{"type":"text","text":"Half"}'], `"stop_reason":${JSON.stringify(stop)}`));
      return joined.said?.json;
    };
    expect(['refusal', null].map(saidAt)).toEqual([undefined, undefined]);
    expect(saidAt('pause_turn')).toContain('"Half"');
  });

  it('is read with blocks of odd shapes, which stay', () => {
    const joined = new JoinedMessagesBodies(OURS, () => false);
    const taken = joined.take(bodyOf(['null', '"odd"', ours, '7'])) as Uint8Array;
    expect((JSON.parse(decoder.decode(taken)) as Json).content).toEqual([null, 'odd', 7]);
  });
});
