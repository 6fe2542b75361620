/** A view of a Responses body as an array of items, for `/v1/compact`. */
import type { View } from '../../memory/plan/view.ts';
import { splitPreamble, type ViewParts } from '../model-request.ts';
import { ItemGroup } from './message.ts';
import { type ResponsesRequest, readResponsesRequest } from './request.ts';

/**
 * The view as the JSON of `input`: an array of items, or the string that came. Unlike messages,
 * items that were changed have no mark, since upstreams refuse unknown fields in them.
 */
export function writeCompactedItems(request: ResponsesRequest, view: View | undefined): Uint8Array {
  return request.writtenArray(view) ?? new TextEncoder().encode('[]');
}

/**
 * The view in two parts: the items of the leading preamble, and all other items. `instructions`
 * belong to neither.
 *
 * @returns each message as JSON: one item, or several separated by commas
 */
export function compactedItems(request: ResponsesRequest, view: View | undefined): ViewParts {
  const read = readResponsesRequest(request.write(view));
  if (!read.ok) throw new Error('a view was written that cannot be read');
  return splitPreamble(
    read.value.messages.filter((message) => message.role !== 'preamble' || message instanceof ItemGroup),
  );
}
