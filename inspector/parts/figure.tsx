/** A figure with its name, in a list of them. */
import type { ComponentChildren } from 'preact';

interface Props {
  readonly term: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Figure({ term, class: name, children }: Props) {
  return (
    <div class={name}>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
