/** A page of Markdown as sections of plain words, for the search over all pages. */

export interface Section {
  /** The file's name without `.md`. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  readonly anchor: string;
  /** The section's words, without marks of Markdown, on one line. */
  readonly words: string;
  /** The same in lower case. */
  readonly lower: string;
}

/** The sections of a page, each without the text of its subsections. */
export function sectionsOf(page: string, title: string, markdown: string): Section[] {
  const anchorOf = anchorsOfPage();
  const sections: { heading: string; anchor: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (/^\s*```/.test(line)) {
      isCode = !isCode;
      continue;
    }
    const [, text] = isCode ? [] : (/^#+ (.+)$/.exec(line) ?? []);
    if (text === undefined) {
      sections.at(-1)?.lines.push(isCode ? line : withoutBlockMarks(line));
      continue;
    }
    const heading = wordsOf(text);
    sections.push({ heading, anchor: anchorOf(heading), lines: [] });
  }
  return sections.map(({ heading, anchor, lines }) => {
    // A link may begin on one line and end on the next.
    const words = wordsOf(lines.join(' '));
    return { page, title, heading, anchor, words, lower: words.toLowerCase() };
  });
}

const EMPHASIS = /\*|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** The words of a text: of a link or a picture its words, without marks of code and emphasis. */
export function wordsOf(text: string): string {
  return text
    .replace(/<!--.*?-->/g, '')
    .replace(/!?\[([^\]]*)\](?:\([^)\s]*\)|\[[\w-]+\])/g, '$1')
    .replace(/\[[\w-]+\]:\s+https?:\S+/g, '')
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replace(EMPHASIS, '')))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

/** A line without the mark of a list or a quote, and without a table's lines. */
function withoutBlockMarks(line: string): string {
  return line
    .replace(/^\s*(?:[-*>]|\d+\.)\s+/, '')
    .replace(/^[\s|:-]+$/, '')
    .replace(/(?<!\\)\|/g, ' ')
    .replaceAll('\\|', '|');
}

/** The anchor of a heading's text, by the rule of GitHub, so that a link works there and here. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/** Gives each heading of one page its own anchor: a repeated one gets `-1`, `-2` and so on. */
export function anchorsOfPage(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const anchor = anchorOf(heading);
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
}
