/** A part of a page that is made when somebody opens it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface Props {
  readonly summary: ComponentChildren;
  readonly class?: string;
  readonly isOpen?: boolean;
  readonly children: () => ComponentChildren;
}

export function Folded({ summary, class: name = '', isOpen: isFirstOpen = false, children }: Props) {
  const [isOpen, setOpen] = useState(isFirstOpen);
  return (
    <details
      class={`folded ${name}`}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
