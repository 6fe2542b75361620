/**
 * A page of `docs/` as HTML. The text is the project's own, so its marks are trusted; what is not
 * Markdown is shown as text.
 */
import { Marked, type Tokens } from 'marked';
import { anchorsOfPage, wordsOf } from './sections.ts';

/** A heading that the page's own list of contents has. */
export interface ListedHeading {
  readonly anchor: string;
  readonly words: string;
}

/** @param addresses of pages and pictures, by the paths that links name */
export function htmlOf(markdown: string, addresses: ReadonlyMap<string, string>) {
  const headings: ListedHeading[] = [];
  const anchorOf = anchorsOfPage();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const words = wordsOf(text);
        const anchor = anchorOf(words);
        if (depth === 2) headings.push({ anchor, words });
        const inner = this.parser.parseInline(tokens);
        const link = depth === 1 ? inner : `<a class="anchor" href="#${anchor}">${inner}</a>`;
        return `<h${depth} id="${anchor}">${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        const target = targetOf(href, addresses);
        return target === undefined ? words : `<a href="${escaped(target)}">${words}</a>`;
      },
      // The policy of the Worker's pages loads no picture.
      image: ({ href, text }) => {
        const source = addresses.get(href);
        if (source === undefined)
          return `<span class="quiet">[Picture in the repository: ${escaped(text)}]</span>`;
        return `<img src="${escaped(source)}" alt="${escaped(text)}">`;
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
      html: ({ text }) => (text.startsWith('<!--') ? '' : escaped(text)),
      table(token: Tokens.Table) {
        const cell = ({ tokens, text, header }: Tokens.TableCell): string => {
          // A heading without words heads nothing.
          const tag = header && text !== '' ? 'th' : 'td';
          return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
        };
        const row = (cells: readonly Tokens.TableCell[]): string => `<tr>${cells.map(cell).join('')}</tr>`;
        const head = token.header.some(({ text }) => text !== '')
          ? `<thead>${row(token.header)}</thead>`
          : '';
        const body = token.rows.map((cells) => row(cells)).join('\n');
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  return { html: marked.parse(markdown, { async: false }), headings };
}

/** Where a link leads; undefined if nowhere. */
function targetOf(href: string, addresses: ReadonlyMap<string, string>): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const address = addresses.get(path);
  return address && `${address}${anchor === undefined ? '' : `#${anchor}`}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
