/** Tools of the API whose results come with a later answer, after results of the caller's. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import { lines } from '../../../support/conversations/chat.ts';
import {
  brokenInMessages,
  brokenPrefixInMessages,
  parsed,
  viewInMessages,
} from '../../../support/laws/in-messages.ts';
import type { Json } from './edited.ts';

const user = (content: unknown): Json => ({ role: 'user', content });
const said = (...content: Json[]): Json => ({ role: 'assistant', content });
const text = (of: string): Json => ({ type: 'text', text: of });
const call = (id: string, program?: string): Json => ({
  type: 'tool_use',
  id,
  name: 'read_file',
  input: {},
  ...(program ? { caller: { type: 'code_execution_20260120', tool_id: program } } : {}),
});
const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: lines(40, id) });
const use = (id: string, name = 'code_execution'): Json => ({
  type: 'server_tool_use',
  id,
  name,
  input: {},
});
const served = (id: string, name = 'code_execution'): Json => ({
  type: `${name}_tool_result`,
  tool_use_id: id,
  content: { type: `${name}_result`, text: lines(30, name) },
});

/** A turn with a client's call beside a tool of the API. */
const mixed = (name: string, uses = use('srv_1', name), comes = served('srv_1', name)): Json[] => [
  said(text('I look.'), uses, call('call_1')),
  user([result('call_1')]),
  said(comes, text('Found.'), call('call_2')),
  user([result('call_2')]),
];

const FORMS: Readonly<Record<string, readonly Json[]>> = {
  'a search of the web': mixed('web_search'),
  'a page of the web': mixed('web_fetch'),
  code: mixed('code_execution'),
  'a shell': mixed('bash_code_execution'),
  'an editor': mixed('text_editor_code_execution'),
  'a search for tools': mixed('tool_search_tool_regex', use('srv_1', 'tool_search_tool_regex'), {
    type: 'tool_search_tool_result',
    tool_use_id: 'srv_1',
    content: { type: 'tool_search_tool_search_result', tool_references: [] },
  }),
  'a tool of an MCP server': mixed(
    'mcp',
    { type: 'mcp_tool_use', id: 'srv_1', name: 'look', server_name: 'shop', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 'srv_1', is_error: false, content: [text(lines(30, 'mcp'))] },
  ),
  'words of the user behind the results': [
    said(use('srv_1', 'web_search'), call('call_1')),
    user([result('call_1'), text('Only this year, please.')]),
    said(served('srv_1', 'web_search'), call('call_2')),
    user([result('call_2')]),
  ],
  'code that calls tools, over many messages': [
    said(text('I write a program.'), use('srv_1'), call('call_1', 'srv_1')),
    user([result('call_1')]),
    said(call('call_2', 'srv_1'), call('call_3', 'srv_1')),
    user([result('call_2'), result('call_3')]),
    said(call('call_4', 'srv_1')),
    user([result('call_4')]),
    said(served('srv_1'), text('It has run.')),
  ],
  'a search in code that pauses twice': [
    said(use('srv_1'), use('srv_2', 'web_search'), served('srv_2', 'web_search')),
    said(use('srv_3', 'web_search'), served('srv_3', 'web_search')),
    said(served('srv_1'), text('It has run.'), call('call_1')),
    user([result('call_1')]),
  ],
  'one run after the other': [
    said(use('srv_1', 'web_search'), call('call_1')),
    user([result('call_1')]),
    said(served('srv_1', 'web_search'), use('srv_2', 'web_fetch'), call('call_2')),
    user([result('call_2')]),
    said(served('srv_2', 'web_fetch'), text('Both are there.')),
  ],
};

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'trim', token_budget: 1_500, keep_last_n_turns: 1 },
  { mode: 'trim', max_messages: 6, keep_last_n_turns: 1 },
  { mode: 'summarize', token_budget: 1_500, keep_last_n_turns: 1 },
  { mode: 'summarize', max_messages: 5, keep_last_n_turns: 1, keep_first_user: false },
  { mode: 'auto', token_budget: 1_500, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 600, min_reclaim_tokens: 0, compact_keep_steps: 1 },
];

const bodyOf = (messages: readonly Json[]): Json => ({
  model: 'claude-sonnet-5-5',
  max_tokens: 1_000,
  messages,
});

/** A conversation with such a turn early, amid others. */
function conversation(form: readonly Json[]): Json[] {
  const step = (of: number): Json[] => [said(call(`more_${of}`)), user([result(`more_${of}`)])];
  const steps = Array.from({ length: 6 }, (_, of) => step(of)).flat();
  const asked = [user('What is new in the shop?'), ...step(100), ...form, ...steps, said(text('Done.'))];
  return [...asked, user('And now?'), ...step(200), ...step(201), said(text('Well.')), user('Thanks.')];
}

describe.each(Object.entries(FORMS))('%s, in a run with calls of the client', (_, form) => {
  it.each(STRATEGIES)('F25: stays whole or leaves whole at each request (%j)', (strategy) => {
    const messages = conversation(form);
    let before: ReturnType<typeof viewInMessages> | undefined;
    let moved = 0;
    for (let end = 1; end <= messages.length; end++) {
      if (messages[end - 1]?.role === 'assistant') continue;
      const body = bodyOf(messages.slice(0, end));
      expect(violations(body)).toEqual([]);
      const viewed = viewInMessages(body, strategy, {});
      expect(brokenInMessages(viewed)).toEqual([]);
      expect(violations(parsed(viewed.bytes))).toEqual([]);
      if (before) expect(brokenPrefixInMessages(before, viewed)).toEqual([]);
      if (viewed.report.frontier.moved) moved++;
      before = viewed;
    }
    expect(moved).toBeGreaterThan(0);
  });
});

describe('a use without its result', () => {
  it('is not waited for after an answer that ends its turn', () => {
    const ended = [
      user('What is new?'),
      said(use('srv_1', 'web_search'), call('call_1')),
      user([result('call_1')]),
      said(text('I have lost it.')),
    ];
    const more = Array.from({ length: 4 }, (_, of) => [
      user(`And ${of}?`),
      said(call(`more_${of}`)),
      user([result(`more_${of}`)]),
      said(text('So.')),
    ]).flat();
    const body = bodyOf([...ended, ...more, user('Thanks.')]);
    const viewed = viewInMessages(body, { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 }, {});
    expect(JSON.stringify(parsed(viewed.bytes).messages)).not.toContain('srv_1');
  });
});
