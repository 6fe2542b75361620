/** What the kept rounds of a view hold of the contents that its model may fetch. */
import { FETCH_NAMES } from '../memory/edits/repeats.ts';
import type { View } from '../memory/plan/view.ts';
import { type MessageReader, readMessages } from '../protocol/read-messages.ts';
import { withoutNote } from '../retrieval/rounds.ts';

/** The results of calls that fetch, by their arguments as the model wrote them. */
export function heldResults(
  view: Pick<View, 'rounds'> | undefined,
  api: MessageReader,
): ReadonlyMap<string, string> {
  const held = new Map<string, string>();
  for (const { json } of view?.rounds?.values() ?? []) {
    const asked = new Map<string, string>();
    for (const message of readMessages(api, json)) {
      for (const { id, name, input } of message.calls)
        if (FETCH_NAMES.some((fetches) => fetches === name)) asked.set(id, input);
      const input = asked.get(message.answers ?? '');
      if (input !== undefined && !held.has(input)) held.set(input, withoutNote(message.content().text));
    }
  }
  return held;
}
