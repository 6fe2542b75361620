/** A model of Messages that reads a book page by page, and what it is given. */
import { writeSections } from '../../../src/summary/text/headings.ts';
import type { MessageAnswer } from '../../../tools/upstream/message.ts';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';

type Json = Record<string, unknown>;

export const TOOL = {
  name: 'read_page',
  description: 'Reads a page of the book.',
  input_schema: { type: 'object' as const, properties: { page: { type: 'number' } }, required: ['page'] },
};

/** In a turn. */
export const PAGES = 6;

/** A page of about 600 tokens, none of which has the lines of another. */
export function pageOf(page: number): string {
  const lines = Array.from(
    { length: 40 },
    (_, line) => `line ${line} of page ${page}: it says ${(page * 7919 + line * 104_729) % 99_991}.`,
  );
  return [`Page ${page}.`, ...lines].join('\n');
}

const SUMMARY = writeSections(
  new Map([
    ['## User Intent', 'Read the book.'],
    ['## Progress', 'Pages were read.'],
    ['## Next Steps', 'Read the next page.'],
  ]),
);

/**
 * Reads page after page of each turn, then answers. A call of Precis's summarizer gets a summary.
 */
export const READER: MessagesBehaviour = {
  type: 'model',
  answer(body): MessageAnswer {
    if (typeof body.system === 'string') return { content: SUMMARY };
    const read = String(body.messages.at(-1)?.content?.[0]?.tool_use_id ?? '');
    const last = Number(read.replace('toolu_', '') || 0);
    const asked = body.messages.map(({ content }: Json) => JSON.stringify(content));
    const turn = asked.findLast((content: string) => content.includes('from page'));
    const page = last === 0 ? Number(/from page (\d+)/.exec(turn)?.[1]) : last + 1;
    if (last > 0 && last % PAGES === 0) return { content: `I have read ${last} pages.` };
    return {
      content: `Page ${page} is next.`,
      toolCalls: [{ id: `toolu_${page}`, name: TOOL.name, arguments: JSON.stringify({ page }) }],
    };
  },
};
