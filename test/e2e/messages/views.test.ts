/**
 * Whole runs of agents over Messages, in front of a model that thinks, binds what it thinks, and
 * refuses what Anthropic's API would refuse.
 */
import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import type { MessageAnswer } from '../../../tools/upstream/message.ts';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const TOOL = {
  name: 'read_page',
  description: 'Reads a page of the book.',
  input_schema: { type: 'object', properties: { page: { type: 'number' } }, required: ['page'] },
};

const SYSTEM = [
  { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.332; cc_entrypoint=cli;' },
  { type: 'text', text: 'You read books, page by page.', cache_control: { type: 'ephemeral' } },
];

const MODES: readonly (readonly [string, Json])[] = [
  ['compact', { mode: 'compact', token_budget: 3_000, compact_keep: 2 }],
  [
    'compact with retrieval',
    { mode: 'compact', token_budget: 3_000, compact_keep: 2, compact_retrieval: 'tool' },
  ],
  ['trim', { mode: 'trim', token_budget: 3_000 }],
  ['summarize', { mode: 'summarize', token_budget: 3_000 }],
  ['rolling_summary', { mode: 'rolling_summary', token_budget: 3_000 }],
  ['auto', { mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 0 }],
];

const PAGES = 6;

/** A page of about 600 tokens, none of which has the lines of another. */
function pageOf(page: number): string {
  const lines = Array.from(
    { length: 40 },
    (_, line) => `line ${line} of page ${page}: it says ${(page * 7919 + line * 104_729) % 99_991}.`,
  );
  return [`Page ${page}.`, ...lines].join('\n');
}

/** Reads page after page of each turn, then answers. A request for a summary gets one. */
const READER: MessagesBehaviour = {
  type: 'model',
  answer(body): MessageAnswer {
    if (typeof body.system === 'string') return { content: summary() };
    const read = String(body.messages.at(-1)?.content?.[0]?.tool_use_id ?? '');
    const last = Number(read.replace('toolu_', '') || 0);
    const asked = body.messages.map(({ content }: Json) => JSON.stringify(content));
    const turn = asked.findLast((content: string) => content.includes('from page'));
    const from = /from page (\d+)/.exec(turn)?.[1];
    const page = last === 0 ? Number(from) : last + 1;
    if (last > 0 && last % PAGES === 0) return { content: `I have read ${last} pages.` };
    return {
      content: `Page ${page} is next.`,
      toolCalls: [{ id: `toolu_${page}`, name: TOOL.name, arguments: JSON.stringify({ page }) }],
    };
  },
};

function summary(): string {
  return writeSections(
    new Map([
      ['## User Intent', 'Read the book.'],
      ['## Progress', 'Pages were read.'],
      ['## Next Steps', 'Read the next page.'],
    ]),
  );
}

inTurn(
  [false, true],
  (thinks) => `an agent whose model thinks: ${thinks}`,
  (thinks) => {
    const deployment = deployMessages({ upstream: { thinks, messages: READER } });

    it.each(MODES)('runs in %s without a refusal', async (name, memory_strategy) => {
      const messages: Json[] = [];
      const reports: Report[] = [];
      for (let turn = 0; turn < 3; turn++) {
        messages.push({ role: 'user', content: `Read "${name}" from page ${turn * PAGES + 1}.` });
        for (;;) {
          const { message, memory } = await deployment.ask({
            // A model whose thinking is known to be bound.
            model: 'claude-opus-5-5',
            system: SYSTEM,
            tools: [TOOL],
            thinking: { type: 'adaptive' },
            messages,
            memory_strategy,
          });
          reports.push(memory);
          messages.push({ role: 'assistant', content: message.content });
          const uses = message.content.filter(({ type }: Json) => type === 'tool_use');
          if (uses.length === 0) break;
          const content = uses.map(({ id, input }: { id: string; input: { page: number } }) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: [{ type: 'text', text: pageOf(input.page) }],
          }));
          messages.push({ role: 'user', content });
        }
      }
      expect(deployment.upstream.refusals).toEqual([]);
      expect(reports).toHaveLength(3 * (PAGES + 1));
      const { before = 0, after = 0 } = reports.at(-1)?.tokens ?? {};
      expect(after).toBeLessThan(before * 0.8);
    });
  },
);
