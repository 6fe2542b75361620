/** Opens the stored contents of a conversation for a list of them. */
import { copyOf } from '../../lib/copy.ts';
import { AT_ONCE, fewAtOnce, Room } from '../../lib/slots.ts';
import { isWanted, type Listable, type RefFilter } from '../../retrieval/list-refs.ts';
import type { RefStore } from '../../storage/refs/store.ts';

/** How many contents are opened for one list. */
export const MOST_OPENED = 200;

/** Stored bytes that are open at once for one list. A larger content is open alone. */
const MOST_OPEN_BYTES = 4 * 1024 * 1024;

/** Characters of a content that are kept for its line. */
const BEGINNING = 1_000;

/** The contents that a call asks for, the latest first. Of each, only the beginning is kept. */
export async function openedRefs(
  refs: readonly string[],
  store: Pick<RefStore, 'get'>,
  filter: RefFilter,
): Promise<Listable[]> {
  const room = new Room(MOST_OPEN_BYTES);
  const opened = await fewAtOnce(AT_ONCE, refs, async (ref) => {
    let leave = (): void => {};
    const admit = async (bytes: number): Promise<void> => {
      leave = await room.take(bytes);
    };
    try {
      const { metadata, content } = (await store.get(ref, admit)) ?? {};
      if (!metadata || !content) return [];
      const { tool_name: tool, tool_call_id: callId, tokens, created } = metadata;
      const listable = { ref, tool, callId, tokens, created, text: new TextDecoder().decode(content) };
      if (!isWanted(listable, filter)) return [];
      return [{ ...listable, text: copyOf(listable.text.slice(0, BEGINNING)) }];
    } finally {
      leave();
    }
  });
  return opened.flat().sort((one, other) => other.created - one.created);
}
