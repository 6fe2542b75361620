/** The answers of chat completions. */
import type { AnswerFormat } from './answer-format.ts';
import { answerText, StreamedAnswer } from './chat-answer.ts';
import { ChatStream } from './chat-stream.ts';

export const chatFormat: AnswerFormat = {
  stream: (report, listener) => new ChatStream(report, listener),
  gather: () => new StreamedAnswer(),
  text: answerText,
};
