/**
 * A page of `docs/` as HTML. The text is the project's own, so its marks are trusted; what is not
 * Markdown is shown as text.
 */
import { Marked, type Tokens } from 'marked';
import { anchorsOfPage } from './anchors.ts';
import { wordsOf } from './sections.ts';

/** A heading that the page's own list of contents has. */
export interface ListedHeading {
  readonly anchor: string;
  readonly words: string;
}

export interface HtmlPage {
  readonly html: string;
  readonly headings: readonly ListedHeading[];
}

/**
 * @param names the pages that are served, by the names of their files. A link to any other file
 *   shows its words alone
 */
export function htmlOf(markdown: string, names: ReadonlySet<string>): HtmlPage {
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
        const target = targetOf(href, names);
        return target === undefined ? words : `<a href="${escaped(target)}">${words}</a>`;
      },
      // Pictures lie in the repository, and the policy of the page loads none.
      image: ({ text }) => `<span class="quiet">[Picture in the repository: ${escaped(text)}]</span>`,
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
      html: ({ text }) => (text.startsWith('<!--') ? '' : escaped(text)),
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td'): string =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
        const head = token.header.some(({ text }) => text !== '')
          ? `<thead>${row(token.header, 'th')}</thead>`
          : '';
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  return { html: marked.parse(markdown, { async: false }), headings };
}

/** Where a link leads from a page under `/docs/`; undefined if nowhere. */
function targetOf(href: string, names: ReadonlySet<string>): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  if (!names.has(path)) return undefined;
  return `${path.replace(/\.md$/, '')}${anchor === undefined ? '' : `#${anchor}`}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
