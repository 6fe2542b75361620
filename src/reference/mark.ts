/** The mark of Precis: a text that gets shorter. */

/** The path of its lines in a square of 32. */
export const LINES = 'M8 10h16M8 16h10M8 22h5';

const SHAPES = `<rect width="32" height="32" rx="8" fill="#1f5fbf"></rect><path d="${LINES}" stroke="#fff" stroke-width="3" stroke-linecap="round"></path>`;

/** As an element, beside the name. */
export const MARK = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">${SHAPES}</svg>`;

/** The element of a document's head that names it as the icon. It loads nothing. */
export const ICON = `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${SHAPES}</svg>`,
)}">`;
