/** Texts within HTML and SVG that are written without a template. */

/** A text whose characters mean nothing in markup, also within an attribute in double quotes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
