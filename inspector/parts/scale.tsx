/** The lines of a chart that begins at 0, and what they are in tokens. */
import type { ComponentChildren } from 'preact';
import { tick } from './numbers.ts';

export function Scaled({ top, children }: { readonly top: number; readonly children: ComponentChildren }) {
  return (
    <div class="chart">
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{tick(value)}</span>
        ))}
      </div>
      {children}
    </div>
  );
}
