/** Extracts the text of an answer that closes a round: complete, and without tool calls. */

import { asList, asObject, asObjects, type JsonObject, parseJson } from '../../lib/json.ts';
import type { AnswerGatherer } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';
import { plainDelta } from './plain-delta.ts';
import { textIn } from './words.ts';

/**
 * Finish reasons of answers that callers append to their array unchanged
 * (https://platform.openai.com/docs/api-reference/chat/object).
 */
const WHOLE = new Set(['stop', 'length']);

/** Gathers the text of a streamed answer. */
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
    const choice = choiceOf(frame.json);
    if (!choice) return;
    const words = asObject(choice.delta);
    this.content += textIn(words.content);
    this.calls ||= callsTools(words);
    this.finish ??= choice.finish_reason ?? undefined;
  }

  /** The text; undefined if the answer is incomplete, calls tools or is empty. */
  text(): string | undefined {
    return closingText(this.content, this.calls, this.finish);
  }
}

/** The text of a JSON answer, as of a streamed one. */
export function answerText(body: Uint8Array): string | undefined {
  const choice = choiceOf(parseJson(new TextDecoder().decode(body)));
  const words = asObject(choice?.message);
  return closingText(textIn(words.content), callsTools(words), choice?.finish_reason);
}

function closingText(content: string, calls: boolean, finish: unknown): string | undefined {
  return content !== '' && !calls && typeof finish === 'string' && WHOLE.has(finish) ? content : undefined;
}

function callsTools({ tool_calls, function_call }: JsonObject): boolean {
  return asList(tool_calls).length > 0 || (function_call ?? null) !== null;
}

/** The first of several choices. Callers continue with that one. */
function choiceOf(completion: unknown): JsonObject | undefined {
  return asObjects(asObject(completion).choices).find(({ index }) => (index ?? 0) === 0);
}
