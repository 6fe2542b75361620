/**
 * Sentences about fields, codes and headers are Markdown with links between the pages of `docs/`,
 * where `npm run docs` writes them into tables.
 */

/** A sentence for a place that shows no links: of a link, its words. */
export function withoutLinks(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1');
}
