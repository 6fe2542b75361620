/** The name of the product with its mark, which leads to the front page. */
import { LINES } from '../../src/reference/mark.ts';

export function Brand() {
  return (
    <a class="brand" href=".">
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#1f5fbf" />
        <path d={LINES} stroke="#fff" stroke-width="3" stroke-linecap="round" />
      </svg>
      Precis
    </a>
  );
}
