/**
 * An answer of Messages as a chat completion
 * (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons).
 */
import { asObject, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import { levels } from '../../json/outline.ts';
import { fieldOf, jsonOf, scanObject, textOf } from '../../json/spans.ts';
import { statusOf } from '../../messages/errors.ts';
import type { AnswerReader, BridgedAnswer } from '../bridge.ts';
import { ChunkWriter, errorBody, WholeAnswer } from '../chunks.ts';
import { isCut, keptOf, type Reading } from './said.ts';
import { MessageChunks } from './stream.ts';

export class MessagesReader implements AnswerReader {
  private readonly reading: Reading;
  readonly error = errorBody;

  constructor(reading: Reading) {
    this.reading = reading;
  }

  /** A call has the bytes of its input; one that is cut short is none. */
  answer(json: Uint8Array): BridgedAnswer {
    const writer = new WholeAnswer();
    const stream = new MessageChunks(this.reading, writer);
    const root = scanObject(json, levels(3));
    const content = root && fieldOf(root, 'content')?.value;
    if (!root || content?.items === undefined) {
      const error = parseObject(new TextDecoder().decode(json))?.error;
      const status = isObject(error) ? statusOf(error.type) : 502;
      return { body: errorBody(json, status), status };
    }
    const { stop_reason, stop_details, ...message } = jsonOf(json, root) as JsonObject;
    stream.take({ type: 'message_start', message });
    for (const [index, item] of content.items.entries()) {
      const content_block = asObject(jsonOf(json, item));
      const isLast = index === content.items.length - 1;
      if (content_block.type === 'tool_use' && isLast && isCut(stop_reason)) break;
      const input = fieldOf(item, 'input')?.value;
      stream.take({ type: 'content_block_start', index, content_block });
      const delta = input && { type: 'input_json_delta', partial_json: textOf(json, input) };
      if (delta) stream.take({ type: 'content_block_delta', index, delta });
      stream.take({ type: 'content_block_stop', index });
    }
    stream.take({ type: 'message_delta', delta: { stop_reason, stop_details } });
    stream.take({ type: 'message_stop' });
    return writer.answer(stream.kept && keptOf(textOf(json, content)));
  }

  stream(): MessageChunks {
    return new MessageChunks(this.reading, new ChunkWriter(this.reading.asksUsage));
  }
}
