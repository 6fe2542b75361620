/** Words that the page explains: each where it is pointed at, and all of them in one place. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { TERMS, type TermName } from '../read/words.ts';
import { Dialog } from './dialog.tsx';

/** @param children shown in place of the label, such as its plural */
export function Term({ of, children }: { of: TermName; children?: ComponentChildren }) {
  return (
    <dfn class="term" title={TERMS[of].says}>
      {children ?? TERMS[of].label}
    </dfn>
  );
}

/** All words, which a button and the key “?” open. */
export function Words() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const pressed = ({ key, target }: KeyboardEvent): void => {
      if (key !== '?' || (target instanceof Element && target.closest('input, textarea, select, dialog')))
        return;
      setOpen(true);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <>
      <button
        type="button"
        class="quiet help"
        aria-label="What the words mean"
        title="What the words mean"
        aria-keyshortcuts="?"
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {isOpen && (
        <Dialog title="What the words mean" onClose={() => setOpen(false)}>
          <dl class="words">
            {Object.values(TERMS).map(({ label, says }) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{says}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
