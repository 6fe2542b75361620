import { describe, expect, it } from 'vitest';
import { nextThought } from '../../../tools/upstream/bound-thinking.ts';
import { COMPACTION_BETA, compactionOf } from '../../../tools/upstream/compaction.ts';
import { violations } from '../../../tools/upstream/strict-messages.ts';

type Json = Record<string, unknown>;

const MARK = { type: 'ephemeral' };
const LONG = { type: 'ephemeral', ttl: '1h' };

const user = (content: unknown): Json => ({ role: 'user', content });
const assistant = (content: unknown): Json => ({ role: 'assistant', content });
const system = (content: string): Json => ({ role: 'system', content });
const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
const use = (id: string): Json => ({ type: 'tool_use', id, name: 'search', input: {} });
const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: '' });
const served = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] };

const CODE = { type: 'code_execution_20260120', tool_id: 's' };

const body = (messages: readonly unknown[], more: Json = {}): Json => ({
  model: 'claude-opus-5-5',
  max_tokens: 1,
  messages,
  ...more,
});

const HI = user('Hi.');

describe('bodies of Messages', () => {
  it.each<[what: string, body: Json]>([
    ['a text', body([HI])],
    ['equal roles in a row', body([HI, user('And?'), assistant('Hm.'), assistant('Yes.'), user('Ok.')])],
    ['results in any order', body([HI, assistant([use('a'), use('b')]), user([result('b'), result('a')])])],
    [
      'results of one answer in two messages',
      body([HI, assistant([use('a'), use('b')]), user([result('a')]), user([result('b'), text('Ok?')])]),
    ],
    [
      'a message of the system before an answer',
      body([HI, system('Be terse.'), assistant('Hm.'), user('Ok.')]),
    ],
    ['a tool of the API with its result', body([HI, assistant([served, found, text('Done.')]), user('Ok.')])],
    ['an answer that has paused', body([HI, assistant([served])])],
    ['one that goes on', body([HI, assistant([served]), assistant([found, text('Done.')]), user('Ok.')])],
    [
      'a tool of the API that waits for the results of others',
      body([HI, assistant([served, use('a')]), user([result('a')]), assistant([found, text('Done.')])]),
    ],
    [
      'code that calls tools of the caller in several answers',
      body([
        HI,
        assistant([served, { ...use('a'), caller: CODE }]),
        user([result('a')]),
        assistant([{ ...use('b'), caller: CODE }]),
        user([result('b')]),
        assistant([found, text('Done.')]),
      ]),
    ],
    [
      'four marks, the longer ones first',
      body(
        [
          user([text('a', { cache_control: LONG }), text('b', { cache_control: MARK })]),
          assistant('Hm.'),
          user('Ok.'),
        ],
        { system: [text('Help.', { cache_control: LONG })], cache_control: MARK },
      ),
    ],
  ])('are accepted: %s', (_, given) => {
    expect(violations(given)).toEqual([]);
  });

  it.each<[what: string, words: string, body: Json]>([
    ['no limit of the answer', 'max_tokens', body([HI], { max_tokens: undefined })],
    ['an unknown field', 'memory_strategy', body([HI], { memory_strategy: 'auto' })],
    ['no messages', 'at least one message', body([])],
    ['a stop of white space', 'must contain non-whitespace', body([HI], { stop_sequences: ['END', '\n'] })],
    [
      'a limit in an enforced schema',
      "For 'integer' type, properties minimum are not supported",
      body([HI], { output_config: { format: { schema: { type: 'integer', minimum: 1 } } } }),
    ],
    [
      'an open object in a strict tool',
      "'additionalProperties' must be explicitly set to false",
      body([HI], { tools: [{ name: 'a', strict: true, input_schema: { type: 'object' } }] }),
    ],
    [
      'an image of another type',
      'appears to be a image/jpeg image',
      body([
        user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '/9j/4AAQ' } }]),
      ]),
    ],
    ['an answer first', 'first message must use the "user" role', body([assistant('Hm.'), HI])],
    ['the system first', "use the top-level 'system'", body([system('Help.'), HI])],
    [
      'the system behind an answer',
      "must follow a 'user' message",
      body([HI, assistant('Hm.'), system('Be terse.')]),
    ],
    ['the system before a user', "'assistant' message must follow", body([HI, system('Be terse.'), HI])],
    ['an unknown role', 'unknown role', body([HI, { role: 'tool', content: 'found' }])],
    ['an unknown field of a message', 'Extra inputs', body([{ ...HI, name: 'me' }])],
    ['an empty text', 'non-empty', body([user([text('')])])],
    ['white space alone', 'non-whitespace', body([user('  ')])],
    ['an empty list', 'non-empty content', body([user([]), assistant('Hm.')])],
    [
      'a call without a result',
      'without `tool_result` blocks',
      body([HI, assistant([use('a')]), user('Ok.')]),
    ],
    ['a call at the end', 'without `tool_result` blocks', body([HI, assistant([use('a')])])],
    ['a result without a call', 'unexpected `tool_use_id`', body([user([result('a')])])],
    [
      'a result too late',
      'unexpected `tool_use_id`',
      body([HI, assistant([use('a')]), user([result('a')]), assistant('Hm.'), user([result('a')])]),
    ],
    [
      'two results of a call',
      'single result',
      body([HI, assistant([use('a')]), user([result('a'), result('a')])]),
    ],
    [
      'a text before a result',
      'must come before',
      body([HI, assistant([use('a')]), user([text('Ok.'), result('a')])]),
    ],
    [
      'an id twice',
      'ids must be unique',
      body([HI, assistant([use('a')]), user([result('a')]), assistant([use('a')]), user([result('a')])]),
    ],
    [
      'arguments that are no object',
      'valid dictionary',
      body([HI, assistant([{ ...use('a'), input: 'x' }]), user([result('a')])]),
    ],
    ['a result of the API alone', 'without its use', body([HI, assistant([found]), user('Ok.')])],
    [
      'a use of the API alone',
      'without its result',
      body([HI, assistant([served]), user('Ok.'), assistant('Hm.'), user('Ok.')]),
    ],
    [
      'a use of the API that its turn did not wait for',
      'without its result',
      body([
        HI,
        assistant([served, use('a')]),
        user([result('a')]),
        assistant('Hm.'),
        user('Ok.'),
        assistant('Hm.'),
        user('Ok.'),
      ]),
    ],
    [
      'a call of code that is not there',
      'the code that calls a tool does not run',
      body([HI, assistant([{ ...use('a'), caller: CODE }]), user([result('a')])]),
    ],
    [
      'five marks',
      'Found 5',
      body([user(['a', 'b', 'c', 'd', 'e'].map((of) => text(of, { cache_control: MARK })))]),
    ],
    [
      'a longer mark behind a shorter',
      'must not come after',
      body([user([text('a', { cache_control: LONG })])], {
        system: [text('Help.', { cache_control: MARK })],
      }),
    ],
    [
      'a mark behind thinking',
      'thinking blocks',
      body([
        HI,
        assistant([{ type: 'thinking', thinking: 'hm', signature: 's', cache_control: MARK }, text('Ok.')]),
      ]),
    ],
    [
      'thinking without a signature',
      'signature',
      body([HI, assistant([{ type: 'thinking', thinking: 'hm' }, text('Ok.')])]),
    ],
    [
      'a tool of chat',
      'input_schema',
      body([HI], {
        tools: [{ type: 'function', function: { name: 'a' }, name: 'a' }].map(({ type: _, ...tool }) => tool),
      }),
    ],
    [
      'a name of a tool with spaces',
      'should match pattern',
      body([HI], { tools: [{ name: 'a b', input_schema: { type: 'object' } }] }),
    ],
    [
      'a tool twice',
      'must be unique',
      body([HI], { tools: ['a', 'a'].map((name) => ({ name, input_schema: { type: 'object' } })) }),
    ],
    ['a choice without tools', 'tool_choice', body([HI], { tool_choice: { type: 'any' } })],
    [
      'a summary of the API behind others',
      'compaction_block_misplaced',
      body([HI, assistant([{ type: 'compaction', content: 'x', signature: 's' }]), HI]),
    ],
    ['half a character', 'lone surrogate', body([user('\ud83d')])],
  ])('are refused: %s', (_, words, given) => {
    expect(violations(given).join('\n')).toContain(words);
  });

  it('are refused where thinking is bound to something else, the system too', () => {
    const asked = body([HI], { system: [text('Help.')] });
    const { text: thinking, signature } = nextThought(asked, 'hm');
    const answered = [HI, assistant([{ type: 'thinking', thinking, signature }, text('Ok.')]), HI];
    const marked = [text('Help.', { cache_control: MARK })];
    const found = [[text('Help.')], marked, [text('Other.')]].map(
      (entries) => violations(body(answered, { system: entries }), { binds: true }).length,
    );
    expect(found).toEqual([0, 0, 1]);
  });
});

describe('compactions', () => {
  const headers = { 'x-api-key': 'sk-one', 'anthropic-beta': `some-beta-2026-01-01, ${COMPACTION_BETA}` };
  const said = [HI, assistant('Hello.'), user('Go on.')];
  const asked = (more: Json = {}) => body(said, { compaction: { type: 'summarize' }, ...more });
  const [block] = compactionOf(asked(), headers).blocks ?? [];
  const next = (...messages: Json[]) => body([assistant([block]), user('And now?'), ...messages]);

  it('are accepted with the beta, and the block first in what follows', () => {
    expect(violations(asked(), { headers })).toEqual([]);
    expect(violations(next(), { headers })).toEqual([]);
    const again = compactionOf(body([assistant([block]), HI]), headers).blocks ?? [];
    expect(violations(body([assistant(again), user('So?')]), { headers })).toEqual([]);
  });

  it('may come of a threshold, after what they replace', () => {
    const other = assistant([{ type: 'compaction', content: 'x' }, text('Hello.')]);
    expect(violations(body([HI, other, user('Go on.')]), { headers })).toEqual([]);
  });

  it.each<[what: string, words: string, given: Json, from?: Json]>([
    ['a request without the beta', 'requires anthropic-beta', asked(), { 'x-api-key': 'sk-one' }],
    ['a block without the beta', "Input tag 'compaction'", next(), { 'x-api-key': 'sk-one' }],
    ['a model without it', 'does not support', asked({ model: 'claude-haiku-5-5' })],
    ['another edit of the context', 'context_management', asked({ context_management: { edits: [] } })],
    ['stop sequences', 'stop_sequences', asked({ stop_sequences: ['.'] })],
    ['a forced tool', 'forced tool', asked({ tool_choice: { type: 'any' } })],
    ['a remaining budget', 'task_budget', next(), headers],
    ['a changed block', 'content_mismatch', body([assistant([{ ...block, content: 'y' }]), HI])],
    ['a member that it did not have', 'citations', body([assistant([{ ...block, citations: null }]), HI])],
    ['a block of another account', 'signature_invalid', next(), { ...headers, 'x-api-key': 'sk-two' }],
    ['a second block', 'at most one', next(assistant([block]), HI)],
    ['what it replaces beside it', 'is beside', next(...said)],
  ])('are refused: %s', (_, words, given, from = headers) => {
    const budget = words === 'task_budget' ? { output_config: { task_budget: { remaining: 1 } } } : {};
    const found = violations({ ...given, tools: [], ...budget }, { headers: from });
    expect(found.join('\n')).toContain(words);
  });
});
