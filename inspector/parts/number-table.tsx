/** A table whose first column names what the numbers of the others are of. */
import type { ComponentChildren, VNode } from 'preact';

interface Props {
  readonly class?: string;
  readonly caption?: VNode;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}

export function NumberTable({ class: name, caption, columns, rows }: Props) {
  return (
    <table class={name}>
      {caption}
      <thead>
        <tr>
          {columns.map((column, at) => (
            <th key={column} scope="col" class={at > 0 ? 'number' : undefined}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first, ...numbers], at) => (
          <tr key={at}>
            <th scope="row">{first}</th>
            {numbers.map((number, column) => (
              <td key={column} class="number">
                {number}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
