/** Texts within HTML and SVG that are written without a template. */

/** Control characters, which XML has no form for. */
const NO_XML = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu;

/**
 * A text whose characters mean nothing in markup, also within an attribute in double quotes. What
 * XML can't have becomes U+FFFD.
 */
export function escaped(text: string): string {
  const plain = text.toWellFormed().replace(NO_XML, '\ufffd');
  return plain.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
