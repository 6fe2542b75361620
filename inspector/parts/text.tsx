/** Shows text that anyone may have written, as text nodes alone. */
import { useState } from 'preact/hooks';
import { coloredOf } from '../read/colors.ts';
import { beginning, piecesOf, visible } from '../read/visible.ts';

/** In characters. A browser takes seconds to lay out a line of a megabyte. */
const FIRST_SHOWN = 2_000;
/** Each further press of the button shows this many more. */
const MORE = 50_000;

/** One line, such as a name. Its direction can't leave it. */
export function Word({ text }: { text: string }) {
  return <bdi class="word">{visible(text)}</bdi>;
}

/** The beginning of a text, and a button that shows more of it. @param more in characters */
export function useBeginning(text: string, shown: number, more: number) {
  const [length, setLength] = useState(shown);
  const part = beginning(text, length);
  const rest = text.length - part.length;
  const button = rest > 0 && (
    <button type="button" class="quiet" onClick={() => setLength(length + more)}>
      Show more ({rest.toLocaleString('en')} characters left)
    </button>
  );
  return [part, button] as const;
}

/** A text of any length with its lines. */
export function Passage({ text, shown = FIRST_SHOWN }: { text: string; shown?: number }) {
  const [part, more] = useBeginning(text, shown, MORE);
  return (
    <div class="passage">
      <pre dir="auto">
        {coloredOf(part).map(({ kind, text: colored }, at) =>
          kind === 'plain' ? (
            <Pieces key={at} text={colored} />
          ) : (
            <span key={at} class={`is-${kind}`}>
              <Pieces text={colored} />
            </span>
          ),
        )}
      </pre>
      {more}
    </div>
  );
}

function Pieces({ text }: { text: string }) {
  return (
    <>
      {piecesOf(text).map((piece) =>
        piece.isCode ? <span class="code-point">{piece.text}</span> : piece.text,
      )}
    </>
  );
}

/** A state in words, after a dot of its color. */
export function Dotted({ as: [words, dot] }: { as: readonly [words: string, dot: string] }) {
  return <span class={`status ${dot}`}>{words}</span>;
}
