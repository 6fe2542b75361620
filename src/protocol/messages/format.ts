/** The answers of Anthropic's Messages API. */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject, asObjects, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import type { AnswerFormat, AnswerGatherer } from '../answers/answer-format.ts';
import type { Block, Frame } from '../answers/sse.ts';
import { type Begun, FirstFrames } from '../answers/stream-beginning.ts';
import { isCarried } from '../held-media.ts';
import { waitsForCaller } from './answer-blocks.ts';
import { goOnMessages, isClosing } from './calls.ts';
import { errorIn } from './errors.ts';
import { JoinedMessagesBodies } from './joined-bodies.ts';
import { JoinedMessagesStreams } from './joined-streams.ts';
import { plainDelta } from './plain-delta.ts';
import { MessagesStream } from './stream.ts';

const ANSWERS = /^(?:content_block_|message_(?:delta|stop)$)/;

/** `message_start`, signs of life and events of unknown types decide nothing. */
function begunBy({ data = '', json }: Frame): Begun {
  if (errorIn(json) !== undefined) return { error: data };
  const { type } = asObject(json);
  return typeof type === 'string' && ANSWERS.test(type) ? 'answers' : 'opens';
}

export const messagesFormat: AnswerFormat = {
  name: 'messages',
  stream: (report, reword) => new MessagesStream(report, reword),
  begin: () => new FirstFrames(begunBy),
  gather: () => new StreamedMessage(),
  text: answerText,
  hasFailed: (body) =>
    bufferOf(body).includes('"error"') && errorIn(parseJson(new TextDecoder().decode(body))) !== undefined,
  joinStreams: (...joining) => new JoinedMessagesStreams(...joining),
  joinBodies: (...joining) => new JoinedMessagesBodies(...joining),
  goOn: goOnMessages,
  carries: isCarried,
};

/** Matches any frames with text, a call or a stop reason. */
const MATTERS = /"(?:text|text_delta|tool_use|message_delta)"/;

/** The text of an answer that closes a round: complete, and without open calls. */
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
