/**
 * A modal dialog. It closes by Escape, by its button, by a click beside it, and when the page shows
 * another screen.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  readonly title: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, class: name, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  useEffect(() => {
    const dialog = element.current;
    addEventListener('hashchange', onClose);
    // Chromium sends the event with the next frame, when the next dialog may be open already.
    dialog?.addEventListener('close', onClose);
    return () => {
      removeEventListener('hashchange', onClose);
      dialog?.removeEventListener('close', onClose);
    };
  }, [onClose]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog
    <dialog
      ref={element}
      class={name}
      aria-label={title}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) onClose();
      }}
    >
      <div class="dialog">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
