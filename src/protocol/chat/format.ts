/** Answers of chat completions. */

import { asObject, parseJson } from '../../lib/json.ts';
import type { AnswerFormat } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';
import { type Begun, FirstFrames } from '../answers/stream-beginning.ts';
import { holdsError, mayHoldError } from './answer-error.ts';
import { answerText, StreamedAnswer } from './answer-text.ts';
import { goOnChat } from './calls.ts';
import { JoinedChatBodies } from './joined-bodies.ts';
import { JoinedChatStreams } from './joined-streams.ts';
import { ChatStream } from './stream.ts';

/** Azure's first chunk has no choices: it holds the results of the prompt's content filter. */
function begunBy({ data = '', json }: Frame): Begun {
  if (json === undefined) return 'answers';
  // Some servers put the error's fields into the event itself.
  if (holdsError(json)) return { error: data };
  const { choices } = asObject(json);
  return Array.isArray(choices) && choices.length > 0 ? 'answers' : 'opens';
}

export const chatFormat: AnswerFormat = {
  name: 'chat',
  stream: (report, reword, form) => new ChatStream(report, reword, form?.hidesUsage),
  begin: () => new FirstFrames(begunBy),
  gather: () => new StreamedAnswer(),
  text: answerText,
  hasFailed: (body) => mayHoldError(body) && holdsError(parseJson(new TextDecoder().decode(body))),
  joinStreams: (...joining) => new JoinedChatStreams(...joining),
  joinBodies: (...joining) => new JoinedChatBodies(...joining),
  goOn: goOnChat,
  carries: () => false,
};
