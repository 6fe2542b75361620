/**
 * The shape of a summary's text (docs/design.md#8-summaries): seven headings, each with lines or
 * `(none)` below it, then a ledger that code makes.
 *
 * ## User Intent … ## Next Steps (none)
 *
 * ## Ledger …
 */

/** The headings, in their order. */
export const HEADINGS = [
  '## User Intent',
  '## Constraints',
  '## Progress',
  '## Key Decisions & Findings',
  '## Errors & Resolutions',
  '## Current State',
  '## Next Steps',
] as const;

export type Heading = (typeof HEADINGS)[number];

/** What belongs below each heading, as the prompt says. */
export const BELONGS: Readonly<Record<Heading, string>> = {
  '## User Intent':
    'What the user asked for, in their words where they matter, and what it has become since.',
  '## Constraints': 'Instructions, preferences and prohibitions of the user, verbatim.',
  '## Progress': 'What was done, oldest first, with what it touched and what tool outputs showed.',
  '## Key Decisions & Findings': 'Decisions with their reasons, and facts that the work still needs.',
  '## Errors & Resolutions': 'What failed, with its message, and what solved it or was tried in vain.',
  '## Current State': 'How things are now: values, versions, files, and what is half done.',
  '## Next Steps': 'What is still to be done for what the user asked, the next thing first.',
};
const HINTS: ReadonlySet<string> = new Set(Object.values(BELONGS));

/** A summary without lines that only repeat what belongs there. */
export function withoutHints(text: string): string {
  const lines = text.split('\n');
  return lines.filter((line) => !HINTS.has(line.trim())).join('\n');
}

/** The content of an empty section. */
export const NONE = '(none)';

export const LEDGER_HEADING = '## Ledger';

const LEDGER_LINE = /^## Ledger[ \t]*$/m;

/** Text that looks like the tags of a summary in a view, or like a marker. */
const FORGED = /<(?=[\s/]{0,8}(?:session_summary|rehydrated_output))|⟦(?=removed:)/gi;

/**
 * Splits a summary into its body and its ledger.
 *
 * @returns `ledger`: the lines below the ledger's heading, or an empty text
 */
export function splitLedger(text: string): { body: string; ledger: string } {
  const match = LEDGER_LINE.exec(text);
  if (!match) return { body: text, ledger: '' };
  return {
    body: text.slice(0, match.index).trimEnd(),
    ledger: text.slice(match.index + match[0].length).trim(),
  };
}

/**
 * The text of each section, without the ledger. Empty for a missing heading or for `(none)`. A
 * repeated heading continues its section.
 */
export function readSections(text: string): ReadonlyMap<Heading, string> {
  const sections = new Map<Heading, string[]>();
  let lines: string[] | undefined;
  for (const line of splitLedger(text).body.split('\n')) {
    const heading = headingOf(line);
    if (heading) {
      lines = sections.get(heading) ?? [];
      sections.set(heading, lines);
    } else lines?.push(line);
  }
  const texts = new Map<Heading, string>();
  for (const heading of HEADINGS) {
    const section = (sections.get(heading) ?? []).join('\n').trim();
    texts.set(heading, section === NONE ? '' : section);
  }
  return texts;
}

/** A summary's text without a ledger: all headings in order, each with its section or `(none)`. */
export function writeSections(sections: ReadonlyMap<Heading, string>): string {
  return HEADINGS.map((heading) => `${heading}\n${sections.get(heading) || NONE}`).join('\n\n');
}

/** The heading on a line, if there is one. */
export function headingOf(line: string): Heading | undefined {
  const trimmed = line.trimEnd();
  return HEADINGS.find((heading) => heading === trimmed);
}

/**
 * Makes text safe for a summary: well-formed, without a tag that would close the summary's block in
 * the view, and without anything that looks like a marker.
 */
export function neutralize(text: string): string {
  return text.toWellFormed().replace(FORGED, (start) => (start === '<' ? '<\\' : '['));
}
