/** Extracts the text of an answer that closes a round: complete, and without open calls. */
import { asObject, asObjects, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import type { AnswerGatherer } from '../answers/answer-format.ts';
import type { Block, Frame } from '../answers/sse.ts';
import { waitsForCaller } from './answer-blocks.ts';
import { isClosing } from './calls.ts';
import { plainDelta } from './plain-delta.ts';

/** Matches any frames with text, a call or a stop reason. */
const MATTERS = /"(?:text|text_delta|tool_use|message_delta)"/;

/** Gathers the text of a streamed answer. */
export class StreamedMessage implements AnswerGatherer {
  private content = '';
  private calls = false;
  private stop: unknown;

  skip({ text }: Block): boolean {
    return !MATTERS.test(text);
  }

  push(frame: Frame): void {
    const { data } = frame;
    const plain = plainDelta(data);
    if (plain) this.content += plain.text;
    else if (MATTERS.test(data ?? '')) this.read(asObject(frame.json));
  }

  /** The text; undefined if the answer is incomplete, calls tools or is empty. */
  text(): string | undefined {
    return closingText(this.content, this.calls, this.stop);
  }

  private read({ type, content_block, delta }: JsonObject): void {
    if (type === 'content_block_start') {
      this.content += textOf(content_block);
      this.calls ||= waitsForCaller(asObject(content_block));
    }
    if (type === 'content_block_delta' && asObject(delta).type === 'text_delta')
      this.content += asString(asObject(delta).text);
    if (type === 'message_delta') this.stop = asObject(delta).stop_reason ?? this.stop;
  }
}

/** The text of a JSON answer, as of a streamed one. */
export function answerText(body: Uint8Array): string | undefined {
  const { content, stop_reason } = asObject(parseJson(new TextDecoder().decode(body)));
  const blocks = asObjects(content);
  return closingText(blocks.map(textOf).join(''), blocks.some(waitsForCaller), stop_reason);
}

function textOf(block: unknown): string {
  const { type, text } = asObject(block);
  return type === 'text' ? asString(text) : '';
}

function closingText(content: string, calls: boolean, stop: unknown): string | undefined {
  return content !== '' && !calls && isClosing(stop) ? content : undefined;
}
