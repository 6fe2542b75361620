/** The content of a removal: read from the messages of its array, by those who store or show it. */
import { elementAt } from '../../lib/elements.ts';
import { InvariantError } from '../../lib/invariant-error.ts';
import { type Content, inputsOf, type Message } from '../conversation/message.ts';
import { inputContent } from './compact.ts';
import { mediaContent } from './media.ts';
import type { Removal } from './removal.ts';

/**
 * The removed content.
 *
 * @param messages of the array that the removal was made for, or of a longer one
 * @throws InvariantError for reasoning, of which nothing is kept
 */
export function contentOf({ kind, message, call }: Removal, messages: readonly Message[]): Content {
  const source = elementAt(messages, message);
  switch (kind) {
    case 'output':
      return source.content();
    case 'input':
      return inputContent(elementAt(inputsOf(source), call));
    case 'hosted':
      return elementAt(source.hosted?.() ?? [], call).content();
    case 'part': {
      const media = source.media().find(({ part }) => part === call);
      if (!media) throw new InvariantError('a removed part is not in its message');
      return mediaContent(media);
    }
    case 'reasoning':
      throw new InvariantError('removed reasoning has no content to keep');
  }
}
