/**
 * Whole runs of agents over Messages, in front of a model that thinks, binds what it thinks, and
 * refuses what Anthropic's API would refuse.
 */
import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { PAGES, pageOf, READER, TOOL } from '../../support/clients/book-reader.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

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
