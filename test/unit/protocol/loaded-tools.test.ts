/** F27: what has loaded a tool stays whole while the request defers that tool. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { KnownArrays } from '../../../src/protocol/known-arrays.ts';
import { readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { violations } from '../../../tools/upstream/strict-messages.ts';
import { lines } from '../../support/conversations/chat.ts';
import {
  brokenInMessages,
  brokenPrefixInMessages,
  parsed,
  viewInMessages,
} from '../../support/laws/in-messages.ts';
import { viewOfRequest } from '../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const user = (content: unknown): Json => ({ role: 'user', content });
const said = (...content: Json[]): Json => ({ role: 'assistant', content });
const call = (id: string, name = 'run'): Json => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content: unknown = lines(60, id)): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const reference = (name: string): Json => ({ type: 'tool_reference', tool_name: name });
const text = (of: string): Json => ({ type: 'text', text: of });

const own = (name: string, more: Json = {}): Json => ({ name, input_schema: { type: 'object' }, ...more });
const DEFERRED = [own('run'), own('search'), own('get_weather', { defer_loading: true })];
const TOOLSET: Json = {
  type: 'mcp_toolset',
  mcp_server_name: 'shop',
  default_config: { defer_loading: true },
};

/** What the model sees of the definitions, at most some lines. */
const found = [reference('get_weather'), reference('get_time'), text(lines(60, 'schema of get_weather'))];

interface Loading {
  readonly messages: readonly Json[];
  readonly tools: readonly Json[];
  /** What must be in the view. */
  readonly kept: readonly Json[];
}

const served = (content: Json[]): Json => ({
  type: 'tool_search_tool_result',
  tool_use_id: 'srv_1',
  content: { type: 'tool_search_tool_search_result', tool_references: content },
});
const searched: Json = { type: 'server_tool_use', id: 'srv_1', name: 'tool_search_tool_bm25', input: {} };
const listing: Json = {
  type: 'mcp_tool_listing',
  mcp_server_name: 'shop',
  tools: [{ name: 'sell', description: lines(40, 'about sell'), input_schema: { type: 'object' } }],
};

const FORMS: Readonly<Record<string, Loading>> = {
  'a search of the client': {
    messages: [said(call('s', 'search')), user([result('s', found)])],
    tools: DEFERRED,
    kept: [result('s', found)],
  },
  'a search of the client, confirmed in a line': {
    messages: [
      said(call('s', 'search')),
      user([result('s', [reference('get_weather')]), text('Tool loaded.')]),
    ],
    tools: DEFERRED,
    kept: [result('s', [reference('get_weather')])],
  },
  'one of several calls': {
    messages: [
      said(call('a'), call('s', 'search'), call('b')),
      user([result('a'), result('s', found), result('b')]),
    ],
    tools: DEFERRED,
    kept: [result('s', found)],
  },
  'a search of the API': {
    messages: [said(searched, served([reference('get_weather')]), call('a')), user([result('a')])],
    tools: DEFERRED,
    kept: [searched, served([reference('get_weather')])],
  },
  'a search of the API whose result comes with a later answer': {
    messages: [
      said(searched, call('a')),
      user([result('a')]),
      said(served([reference('get_weather')]), call('b')),
      user([result('b')]),
    ],
    tools: DEFERRED,
    kept: [searched, served([reference('get_weather')])],
  },
  'the listing of an MCP server': {
    messages: [said(listing, text('I look.'), call('a')), user([result('a')])],
    tools: [own('run'), TOOLSET],
    kept: [listing],
  },
  'a tool of an MCP server': {
    messages: [said(call('s', 'search')), user([result('s', [reference('sell')])])],
    tools: [own('run'), own('search'), TOOLSET],
    kept: [result('s', [reference('sell')])],
  },
};

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'compact', compact_trigger_steps: 3, compact_keep_steps: 1 },
  { mode: 'trim', token_budget: 1_500 },
  { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 },
  { mode: 'summarize', token_budget: 1_500 },
  { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1, keep_first_user: false },
  { mode: 'auto', token_budget: 1_500, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 700, min_reclaim_tokens: 0, compact_keep_steps: 1 },
];

const bodyOf = (messages: readonly Json[], tools: readonly Json[]): Json => ({
  model: 'claude-sonnet-5-5',
  max_tokens: 1_000,
  tools,
  messages,
});

function conversation({ messages }: Loading): Json[] {
  const steps = (name: string): Json[] =>
    Array.from({ length: 4 }, (_, of) => [
      said(call(`${name}_${of}`)),
      user([result(`${name}_${of}`)]),
    ]).flat();
  return [
    user('Is it cold in the shop?'),
    ...steps('one'),
    ...messages,
    ...steps('two'),
    said(text('It is.')),
    user('And now?'),
    ...steps('three'),
    said(text('No.')),
    user('Thanks.'),
  ];
}

const requestEnds = (messages: readonly Json[]): number[] =>
  messages.flatMap(({ role }, at) => (role === 'user' ? [at + 1] : []));

describe.each(Object.entries(FORMS))('%s, which has loaded a tool', (_, form) => {
  it.each(STRATEGIES)('F27: stays whole while the tool is deferred (%j)', (strategy) => {
    const messages = conversation(form);
    let before: ReturnType<typeof viewInMessages> | undefined;
    let edits = 0;
    for (const end of requestEnds(messages)) {
      const body = bodyOf(messages.slice(0, end), form.tools);
      expect(violations(body)).toEqual([]);
      const viewed = viewInMessages(body, strategy, {});
      expect(brokenInMessages(viewed)).toEqual([]);
      expect(violations(parsed(viewed.bytes))).toEqual([]);
      if (before) expect(brokenPrefixInMessages(before, viewed)).toEqual([]);
      const shown = new TextDecoder().decode(viewed.bytes);
      if (end > messages.indexOf(form.messages.at(-1) as Json))
        for (const block of form.kept) expect(shown).toContain(JSON.stringify(block));
      edits += viewed.report.applied_edits.length;
      before = viewed;
    }
    expect(edits).toBeGreaterThan(0);
  });

  it.each(STRATEGIES)('F27: stays whole though an earlier request did not defer it (%j)', (strategy) => {
    const arrays = new KnownArrays(1e8, 0).of('a tenant');
    const undeferred = [own('run'), own('search'), own('get_weather')];
    const shown = [undeferred, form.tools].map((tools) => {
      const { messages, ...fields } = bodyOf(conversation(form), tools);
      const bytes = new TextEncoder().encode(JSON.stringify({ messages, ...fields }));
      const known = arrays.find(bytes, 'messages');
      const read = readMessagesRequest(bytes, known);
      if (!read.ok) throw new Error(read.reason.message);
      const viewed = viewOfRequest(read.value, strategy);
      arrays.keep(read.value, known);
      return new TextDecoder().decode(viewed.bytes);
    });
    for (const block of form.kept) expect(shown.at(-1)).toContain(JSON.stringify(block));
  });

  it('leaves as any other once no such tool is deferred', () => {
    const body = bodyOf(conversation(form), [own('run'), own('search'), own('get_weather')]);
    const viewed = viewInMessages(body, { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 }, {});
    const shown = new TextDecoder().decode(viewed.bytes);
    for (const block of form.kept) expect(shown).not.toContain(JSON.stringify(block));
  });
});

describe('a search for tools in Responses', () => {
  const asked = (content: string): Json => ({ type: 'message', role: 'user', content });
  const answer = (content: string): Json => ({ type: 'message', role: 'assistant', content });
  const work = (name: string): Json[] =>
    Array.from({ length: 4 }, (_, of) => [
      { type: 'function_call', call_id: `${name}_${of}`, name: 'run', arguments: '{}' },
      { type: 'function_call_output', call_id: `${name}_${of}`, output: lines(60, name) },
    ]).flat();
  const weather: Json = { type: 'function', name: 'get_weather', parameters: {}, defer_loading: true };
  const found = (call_id: string | null): Json[] => [
    { type: 'tool_search_call', call_id, execution: call_id ? 'client' : 'server', arguments: {} },
    { type: 'tool_search_output', call_id, execution: call_id ? 'client' : 'server', tools: [weather] },
  ];
  const inputOf = (search: readonly Json[]): Json[] => [
    asked('Is it cold?'),
    ...work('one'),
    ...search,
    ...work('two'),
    answer('It is.'),
    asked('And now?'),
    ...work('three'),
    answer('No.'),
    asked('Thanks.'),
  ];
  const view = (search: readonly Json[], tools: readonly Json[], input: MemoryStrategyRequest): string => {
    const body = { model: 'gpt-5.6', tools, input: inputOf(search) };
    const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify(body)));
    if (!read.ok) throw new Error(read.reason.message);
    const { bytes, report } = viewOfRequest(read.value, input, {});
    expect(report.applied_edits).not.toEqual([]);
    return new TextDecoder().decode(bytes);
  };

  it.each(STRATEGIES.slice(1))('F27: keeps what it has loaded (%j)', (input) => {
    const run: Json = { type: 'function', name: 'run', parameters: {} };
    const ofClient = view(found('s'), [run, { type: 'tool_search', execution: 'client' }], input);
    for (const item of found('s')) expect(ofClient).toContain(JSON.stringify(item));
    const ofServer = view(found(null), [run, weather, { type: 'tool_search' }], input);
    for (const item of found(null)) expect(ofServer).toContain(JSON.stringify(item));
  });

  it('leaves with its call where the request has no such tool', () => {
    const run: Json = { type: 'function', name: 'run', parameters: {} };
    const shown = view(found('s'), [run], { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 });
    expect(shown).not.toContain('tool_search');
  });
});
