/** Answers of chat completions. */

import { asObject, parseJson } from '../../lib/json.ts';
import type { AnswerFormat } from '../answer-format.ts';
import { type Begun, FirstFrames } from '../stream-beginning.ts';
import { answerText, StreamedAnswer } from './answer-text.ts';
import { goOnChat } from './calls.ts';
import { ChatAnswers } from './joined-bodies.ts';
import { ChatTurns } from './joined-streams.ts';
import { ChatStream } from './stream.ts';

/** Azure's first chunk has no choices; it holds the results of the prompt's filter. */
function begunBy(data: string): Begun {
  const chunk = parseJson(data);
  if (chunk === undefined) return 'answers';
  const { error, object, choices } = asObject(chunk);
  // Some servers put the error's fields into the event itself.
  if (error || object === 'error') return { error: data };
  return Array.isArray(choices) && choices.length > 0 ? 'answers' : 'opens';
}

export const chatFormat: AnswerFormat = {
  stream: (...told) => new ChatStream(...told),
  begin: () => new FirstFrames(begunBy),
  gather: () => new StreamedAnswer(),
  text: answerText,
  joinStreams: (names, mayAnswer) => new ChatTurns(names, mayAnswer),
  joinBodies: (names, mayAnswer) => new ChatAnswers(names, mayAnswer),
  goOn: goOnChat,
};
