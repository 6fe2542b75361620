/** What the kept rounds of a view hold of the contents that its model may fetch. */
import { FETCH_NAMES } from '../../memory/edits/repeats.ts';
import type { View } from '../../memory/plan/view.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import type { HeldResult } from '../../retrieval/held-contents.ts';
import { withoutNote } from '../../retrieval/rounds.ts';

/** The results of calls that fetch, oldest first. */
export function heldResults(view: Pick<View, 'rounds'> | undefined, api: MessageReader): HeldResult[] {
  const held: HeldResult[] = [];
  for (const { json } of view?.rounds?.values() ?? []) {
    const asked = new Map<string, string>();
    for (const message of readMessages(api, json)) {
      for (const { id, name, input } of message.calls)
        if (FETCH_NAMES.some((fetches) => fetches === name)) asked.set(id, input);
      const args = asked.get(message.answers ?? '');
      const { text, type } = message.content();
      // One with images is no text of the content.
      if (args !== undefined && type !== 'application/json') held.push({ args, result: withoutNote(text) });
    }
  }
  return held;
}
