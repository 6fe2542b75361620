/** The answers of chat completions. */
import type { AnswerFormat } from './answer-format.ts';
import { answerText, StreamedAnswer } from './chat-answer.ts';
import { ChatAnswers } from './chat-answers.ts';
import { ChatStream } from './chat-stream.ts';
import { goOnChat } from './chat-turn.ts';
import { ChatTurns } from './chat-turns.ts';

export const chatFormat: AnswerFormat = {
  stream: (report, listener) => new ChatStream(report, listener),
  gather: () => new StreamedAnswer(),
  text: answerText,
  joinStreams: (names, mayAnswer) => new ChatTurns(names, mayAnswer),
  joinBodies: (names, mayAnswer) => new ChatAnswers(names, mayAnswer),
  goOn: goOnChat,
};
