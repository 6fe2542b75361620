/** What a message says, and the calls that it makes. */
import type { MessageText } from '../read/message-text.ts';
import { Passage, Word } from './text.tsx';

/** In characters, of a message in a row. */
export const FIRST_SHOWN = 600;

export function Said({ said, shown = FIRST_SHOWN }: { said: MessageText; shown?: number }) {
  return (
    <>
      {said.text !== '' && <Passage text={said.text} shown={shown} />}
      {said.images.length > 0 && (
        <p class="thumbs">
          {said.images.map((image, at) => (
            <img
              key={at}
              src={image}
              alt={`${at + 1} of ${said.images.length} in this message`}
              loading="lazy"
            />
          ))}
        </p>
      )}
      {said.calls.map(({ id, name, arguments: given }, at) => (
        <div key={at} class="call">
          <p class="note">
            calls <Word text={name} /> <Word text={id} />
          </p>
          <Passage text={given} shown={shown} />
        </div>
      ))}
      {said.text === '' && said.calls.length === 0 && <p class="note">(no text)</p>}
    </>
  );
}
