/** Answers of the Responses API in chat's form. */
import { parseObject } from '../../../lib/json.ts';
import { FrameSplitter } from '../../answers/sse.ts';
import type { AnswerReader, BridgedAnswer } from '../bridge.ts';
import { ChunkWriter, errorBody, WholeAnswer } from '../chunks.ts';
import type { Asked } from './items.ts';
import { ChatFromResponses } from './stream.ts';

/** Reads the answer to one body. */
export class ResponsesReader implements AnswerReader {
  private readonly asked: Asked;
  readonly error = errorBody;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  /** @param json or the events of an upstream that only streams */
  answer(json: Uint8Array): BridgedAnswer {
    const writer = new WholeAnswer();
    const stream = new ChatFromResponses(this.asked, writer);
    const response = parseObject(new TextDecoder().decode(json));
    if (response) stream.whole(response);
    else {
      const splitter = new FrameSplitter(json.length);
      const last = (frames = splitter.push(json)) => [...frames, splitter.last() ?? []].flat();
      for (const frame of last()) stream.push(frame);
    }
    return writer.answer(stream.kept);
  }

  stream(): ChatFromResponses {
    return new ChatFromResponses(this.asked, new ChunkWriter(this.asked.asksUsage));
  }
}
