/**
 * What the outputs of hosted tools weigh before and after, as docs/responses-api.md says it. The
 * conversation is generated; its texts differ from each other.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { linesAbout } from '../../../support/conversations/conversations.ts';
import {
  asks,
  codeRun,
  fileSearch,
  type Item,
  localShellStep,
  mcpCall,
  says,
  shellStep,
  webSearch,
} from '../../../support/conversations/hosted-items.ts';
import { counter, viewOfRequest } from '../../../support/laws/view-of.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/responses-api.md'), 'utf8');

const HOSTED = new Set([
  'file_search_call',
  'web_search_call',
  'code_interpreter_call',
  'mcp_call',
  'shell_call_output',
  'local_shell_call_output',
]);

/** Eight turns with an output of each tool, and a last question. */
const input: Item[] = [
  ...Array.from({ length: 8 }, (_, turn) => {
    const about = (topic: string) => linesAbout(`${topic} of turn ${turn}`, 44);
    return [
      asks(`Look up part ${turn}.`),
      fileSearch(
        `${turn}`,
        [about('invoices'), about('offers')].map((text) => text.slice(0, 1_600)),
      ),
      webSearch(`${turn}`, [about('pages')]),
      codeRun(`${turn}`, [about('runs')]),
      mcpCall(`${turn}`, about('orders')),
      ...shellStep(`${turn}`, [about('files')]),
      ...localShellStep(`${turn}`, about('logs')),
      says(`${turn}`, `Part ${turn} is done.`),
    ];
  }).flat(),
  asks('Go on.'),
];

function requestOf(items: readonly Item[]) {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input: items }));
  const read = readResponsesRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

const hosted = (items: readonly Item[]): Item[] => items.filter(({ type }) => HOSTED.has(String(type)));

/** As JSON, with all that is not an output. */
const tokensOf = (items: readonly Item[]): number =>
  items.reduce((sum, item) => sum + counter.text(JSON.stringify(item)), 0);

const AUTO: MemoryStrategyRequest = { mode: 'auto', token_budget: 32_000 };

it('is what the page says', () => {
  const { bytes } = viewOfRequest(requestOf(input), AUTO, { retrieval: true });
  const view = (JSON.parse(new TextDecoder().decode(bytes)) as { input: Item[] }).input;
  const [before, after] = [tokensOf(hosted(input)), tokensOf(hosted(view))];
  const isRemoved = hosted(view).map((item) => JSON.stringify(item).includes('⟦removed'));
  expect(isRemoved).toEqual(hosted(input).map((_, at) => at < 30));
  expect(before).toBeGreaterThan(44_000);
  expect(after).toBeLessThan(before / 2);
  const [shown, left] = [before, after].map((tokens) => tokens.toLocaleString('en-US'));
  expect(PAGE.replaceAll(/\s+/g, ' ')).toContain(`${shown} tokens of them become ${left}`);
});
