/** A view of a Messages body as an array of messages, for `/v1/compact`. */
import type { View } from '../../memory/plan/view.ts';
import { textOf } from '../json/spans.ts';
import type { ViewParts } from '../model-request.ts';
import { ElementMessage } from './message.ts';
import { type MessagesRequest, readMessagesRequest } from './request.ts';

/**
 * The view as the JSON of `messages`. As in the Responses API, what was changed has no mark, since
 * upstreams refuse unknown fields. `system` stays with the caller.
 */
export function writeCompactedMessages(request: MessagesRequest, view: View | undefined): Uint8Array {
  const messages = request.writtenArray(view);
  if (!messages) throw new Error('a view was written that cannot be read');
  return messages;
}

/**
 * The view in two parts: what comes first and replaces an earlier conversation, as the API's own
 * summaries do, and all other messages.
 *
 * @returns each element of `messages` as JSON
 */
export function compactedParts(request: MessagesRequest, view: View | undefined): ViewParts {
  const read = readMessagesRequest(request.write(view));
  if (!read.ok) throw new Error('a view was written that cannot be read');
  const parts = read.value.messages.filter((message) => message instanceof ElementMessage);
  const first = parts.find(({ role }) => role !== 'preamble')?.place ?? Number.POSITIVE_INFINITY;
  const elements = new Map(parts.map(({ place, element: { body, span } }) => [place, textOf(body, span)]));
  const ofPlaces = (isIn: (place: number) => boolean): string[] =>
    [...elements].flatMap(([place, json]) => (isIn(place) ? [json] : []));
  return { preamble: ofPlaces((place) => place < first), others: ofPlaces((place) => place >= first) };
}
