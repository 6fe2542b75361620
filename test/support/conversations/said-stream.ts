/** The stream of an answer in pieces, for tests that write them by hand. */
import { chunks, DONE, usageOf } from '../../../tools/upstream/completion.ts';
import { eventsOf } from '../../../tools/upstream/response.ts';
import type { Protocol } from '../deployment/protocol.ts';

export interface SaidStream {
  /** Everything before the first word. */
  readonly open: string;
  /** One frame per word. */
  readonly words: readonly string[];
  /** Everything after the last word: the stream's own end. */
  readonly close: string;
}

/** @param words without white space */
export function saidStream({ name }: Protocol, words: readonly string[]): SaidStream {
  const content = words.join(' ');
  const model = 'gpt-4.1-mini';
  const frames =
    name === 'chat'
      ? [...chunks({ content }, { id: 'chatcmpl-1', model, usage: usageOf(1, 1) }, false), DONE]
      : [...eventsOf({ model }, { content })];
  const isWord = (frame: string) => /"delta":\{"content":|^event: response\.output_text\.delta/.test(frame);
  const first = frames.findIndex(isWord);
  const end = first + words.length;
  return {
    open: frames.slice(0, first).join(''),
    words: frames.slice(first, end),
    close: frames.slice(end).join(''),
  };
}
