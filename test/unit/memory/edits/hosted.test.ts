/** Outputs of tools that the upstream runs, of which it may refuse some kinds with placeholders. */
import { expect, it } from 'vitest';
import { lruOf } from '../../../../src/lib/lru.ts';
import { outlineOf, planView } from '../../../../src/memory/plan/plan.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { BELIEFS } from '../../../../src/request/beliefs.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { lines } from '../../../support/conversations/chat.ts';
import { counter, strategyOf, tenant } from '../../../support/laws/view-of.ts';

const said = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

it('are made anew where the upstream refuses one more kind', () => {
  const input = [
    { role: 'user', content: 'Search for it.' },
    { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'find', arguments: '{}', output: lines(80) },
    { type: 'web_search_call', id: 'ws_1', results: [{ type: 'text', text: lines(90) }] },
    said('Found.'),
    { role: 'user', content: 'Go on.' },
    said('I go on.'),
    { role: 'user', content: 'And now?' },
  ];
  const body = new TextEncoder().encode(JSON.stringify({ model: 'gpt-4.1', input }));
  const read = readResponsesRequest(body);
  if (!read.ok) throw new Error('a valid body was refused');
  const strategy = strategyOf({ mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 });
  const outline = outlineOf(strategy, read.value, tenant.refs);
  const caches = { facts: lruOf(BELIEFS.facts), previews: lruOf(BELIEFS.previews) };
  const isolate = { ...caches, counter, refs: tenant.refs, digest: sha256Hex };
  const edited = (...kinds: string[]) => {
    const plan = planView(strategy, outline, undefined, { ...isolate, unedited: new Set(kinds) });
    return plan.segments.flat().map(({ item }) => item);
  };

  expect(edited()).toEqual(['mcp_call', 'web_search_call']);
  expect(edited('mcp_call')).toEqual(['web_search_call']);
  expect(edited('mcp_call', 'web_search_call')).toEqual([]);
});
