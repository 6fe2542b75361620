/** Answers of chat completions. */

import { asObject, asObjects, type JsonObject, parseJson } from '../../lib/json.ts';
import type { AnswerFormat, AnswerGatherer } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';
import { type Begun, FirstFrames } from '../answers/stream-beginning.ts';
import { holdsError, mayHoldError } from './answer-error.ts';
import { goOnChat, isSaid, saysNothing } from './calls.ts';
import { JoinedChatBodies } from './joined-bodies.ts';
import { JoinedChatStreams } from './joined-streams.ts';
import { plainDelta } from './plain-delta.ts';
import { ChatStream, DONE } from './stream.ts';
import { textIn } from './words.ts';

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

/** The text of an answer that closes a round: complete, and without tool calls. */
export class StreamedAnswer implements AnswerGatherer {
  private content = '';
  private calls = false;
  private finish: unknown;

  push(frame: Frame): void {
    const text = plainDelta(frame.data);
    if (text !== undefined) {
      this.content += text;
      return;
    }
    // Some upstreams give no reason, or an empty one before the end.
    if (frame.data?.trim() === DONE) this.finish ||= 'stop';
    const choice = choiceOf(frame.json);
    if (!choice) return;
    const words = asObject(choice.delta);
    this.content += textIn(words.content);
    this.calls ||= callsTools(words);
    this.finish ||= choice.finish_reason;
  }

  text(): string | undefined {
    return closingText(this.content, this.calls, this.finish);
  }
}

export function answerText(body: Uint8Array): string | undefined {
  const choice = choiceOf(parseJson(new TextDecoder().decode(body)));
  const words = asObject(choice?.message);
  const finish = choice?.finish_reason;
  return closingText(textIn(words.content), callsTools(words), finish === '' ? 'stop' : finish);
}

function closingText(content: string, calls: boolean, finish: unknown): string | undefined {
  return content !== '' && !calls && isSaid(finish) ? content : undefined;
}

function callsTools({ tool_calls, function_call }: JsonObject): boolean {
  return !saysNothing(tool_calls) || !saysNothing(function_call);
}

/** The first of several choices. Callers continue with that one. */
function choiceOf(completion: unknown): JsonObject | undefined {
  return asObjects(asObject(completion).choices).find(({ index }) => (index ?? 0) === 0);
}
