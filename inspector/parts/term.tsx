/** A term with a "?" that explains it in one sentence. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { TERMS, type TermName, type Words } from '../read/words.ts';

/** @param children shown in place of the label, such as its plural */
export function Term({ of, children }: { of: TermName; children?: ComponentChildren }) {
  return (
    <span class="term">
      {children ?? TERMS[of].label} <Help {...TERMS[of]} />
    </span>
  );
}

/**
 * The "?" alone. The browser opens and closes its sentence: by click, Enter and Space, and by
 * Escape and a click beside it. A screen reader reads the sentence with the button.
 */
export function Help({ label, says }: Words) {
  const id = useId();
  return (
    <>
      <button
        type="button"
        class="help"
        popovertarget={id}
        aria-label={`What is “${label}”?`}
        aria-describedby={id}
      >
        ?
      </button>
      <span id={id} popover="auto" class="help-text">
        {says}
      </span>
    </>
  );
}
