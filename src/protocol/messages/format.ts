/** The answers of Anthropic's Messages API. */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject, parseJson } from '../../lib/json.ts';
import type { AnswerFormat } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';
import { type Begun, FirstFrames } from '../answers/stream-beginning.ts';
import { isCarried } from '../held-media.ts';
import { answerText, StreamedMessage } from './answer-text.ts';
import { goOnMessages } from './calls.ts';
import { errorIn } from './errors.ts';
import { JoinedMessagesBodies } from './joined-bodies.ts';
import { JoinedMessagesStreams } from './joined-streams.ts';
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
