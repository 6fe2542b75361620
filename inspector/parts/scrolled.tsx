/** What scrolls, and so must be reached by keyboard. */
import type { ComponentChildren } from 'preact';

/** A strategy or a request, as it is sent. */
export function Code({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre class="strategy" tabIndex={0}>
      {text}
    </pre>
  );
}

interface Props {
  readonly label: string;
  readonly class?: string;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}

export function Table({ label, class: name = 'table', columns, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class={name} tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
