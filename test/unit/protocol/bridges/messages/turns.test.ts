import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leastCachedPrompt } from '../../../../../src/memory/models/prompt-caches.ts';
import type { KeptOutput } from '../../../../../src/protocol/bridges/bridge.ts';
import { MESSAGES_MARKS } from '../../../../../src/protocol/messages/block.ts';
import { readMessagesRequest } from '../../../../../src/protocol/messages/request.ts';
import { isTooShort } from '../../../../../src/protocol/moving-marks.ts';
import { nextThought } from '../../../../../tools/upstream/bound-thinking.ts';
import { violations } from '../../../../../tools/upstream/strict-messages.ts';
import {
  type ConversationBody,
  conversation,
  richConversation,
} from '../../../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../../../support/laws/runs.ts';
import { bridged, bytesOf, calls, type Json, parsed, result, says, sentOf, text, user } from './bridged.ts';

const PNG = 'iVBORw0KGgo=';
const JPEG = '/9j/4AAQSkY=';
const PDF = 'JVBERi0=';
const system = (content: unknown): Json => ({ role: 'system', content });
const use = (id: string, input: Json = {}, name = 'read'): Json => ({ type: 'tool_use', id, name, input });
const output = (id: string, content: unknown = 'ok'): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const NOTHING = text('(no message)');
/** An id that comes for the second time. */
const AGAIN = expect.stringMatching(/^call_[\w-]{43}$/) as unknown;

const kept = (...blocks: Json[]): KeptOutput => ({ api: 'messages', json: JSON.stringify(blocks) });
const thought = (words: string): Json => ({
  type: 'thinking',
  thinking: words,
  signature: `signed ${words}`,
});

/** A model without messages of the system in the array. */
const OLDER = 'claude-opus-4-6';

function turnsOf(messages: Json[], more: Json = {}): unknown {
  return bridged({ messages, ...more }).body.messages;
}

describe('messages of chat in Messages', () => {
  it.each<[what: string, messages: Json[], turns: Json[]]>([
    ['a text', [user('Hi.')], [user([text('Hi.')])]],
    [
      'images and a file',
      [
        user([
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
          { type: 'image_url', image_url: `data:image/jpg;base64,${JPEG}` },
          { type: 'image_url', image_url: `data:image/png;base64,${JPEG}` },
          { type: 'image_url', image_url: 'data:image/jpg;base64,AAAA' },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
          { type: 'file', file: { file_data: PDF } },
          { type: 'file', file: { file_data: `data:text/plain;base64,${btoa('Words.')}` } },
          { type: 'file', file: { file_data: `data:text/csv;base64,${btoa('a,b')}`, filename: 'a.csv' } },
          { type: 'file', file: { file_data: `data:application/json;base64,${btoa('{}')}` } },
        ]),
      ],
      [
        user([
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'image', source: { type: 'url', url: 'https://a.test/b.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: JPEG } },
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: JPEG } },
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Words.' } },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'a,b' },
            title: 'a.csv',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '{}' } },
        ]),
      ],
    ],
    [
      'all results of a round and the user after them, results first',
      [
        user('Hi.'),
        calls(['a', '{}'], ['b', '{"n":1}']),
        user('Well?'),
        result('b', ''),
        result('a'),
        user('Now?'),
      ],
      [
        user([text('Hi.')]),
        says([use('a'), use('b', { n: 1 })]),
        user([output('b', ''), output('a'), text('Well?'), text('Now?')]),
      ],
    ],
    [
      'parts of a result, with the mark on the result',
      [
        user('Hi.'),
        calls(['a', '{}']),
        result('a', [text('x', { cache_control: { type: 'ephemeral' } }), text('')]),
      ],
      [
        user([text('Hi.')]),
        says([use('a')]),
        user([{ ...output('a', 'x'), cache_control: { type: 'ephemeral' } }]),
      ],
    ],
    [
      'a text beside calls, and a refusal',
      [
        user('Hi.'),
        { ...calls(['a', '']), content: 'I look.' },
        result('a'),
        says('', { refusal: 'No.' }),
        user('Ok.'),
      ],
      [
        user([text('Hi.')]),
        says([text('I look.'), use('a')]),
        user([output('a')]),
        says([text('No.')]),
        user([text('Ok.')]),
      ],
    ],
    [
      'an answer first',
      [says('Hello.'), user('Hi.')],
      [user([NOTHING]), says([text('Hello.')]), user([text('Hi.')])],
    ],
    [
      'no words at the end',
      [user('Hi.'), says('Hm.'), user(' ')],
      [user([text('Hi.')]), says([text('Hm.')]), user([NOTHING])],
    ],
    [
      'a system message before an answer without words',
      [user('Hi.'), { role: 'system', content: 'Be brief.' }, says(''), user('Ok.')],
      [user([text('Hi.'), text('Be brief.')]), user([text('Ok.')])],
    ],
    [
      'an answer without words',
      [user('Hi.'), says(null), user('Ok?')],
      [user([text('Hi.')]), user([text('Ok?')])],
    ],
    ['instructions alone', [system('Be terse.'), system('Say hi.')], [user([text('Say hi.')])]],
    ['a name', [{ ...user('Hi.'), name: 'ann' }], [user([text('Hi.')])]],
  ])('are turns: %s', (_, messages, turns) => {
    expect(turnsOf(messages)).toEqual(turns);
    expect(violations(bridged({ messages }).body)).toEqual([]);
  });

  it.each<[model: string, last: Json[], notices: string[]]>([
    ['claude-sonnet-4-5', [says([text('Well,')])], []],
    [
      'claude-sonnet-4-6',
      [says([text('Well, \n')]), user([text('Please continue where this leaves off.')])],
      ['continuation_asked'],
    ],
  ])('continue an answer as the model can: %s', (model, last, notices) => {
    const sent = bridged({ model, messages: [user('Hi.'), says('Well, \n')] });

    expect(sent.body.messages).toEqual([user([text('Hi.')]), ...last]);
    expect(sent.notices).toEqual(notices);
    expect(violations(sent.body)).toEqual([]);
  });

  it('begin with `system`, an entry for each', () => {
    const messages = [system('Be terse.'), { role: 'developer', content: [text('No jokes.')] }, user('Hi.')];

    expect(bridged({ messages }).body.system).toEqual([text('Be terse.'), text('No jokes.')]);
  });

  const LATE = [
    user('Hi.'),
    says('Hm.'),
    system('Be terse.'),
    user('Ok?'),
    says('Yes.'),
    user('And?'),
    system('Now.'),
  ];

  it('may have the system after a user message, where the model takes it', () => {
    const chat = { model: 'claude-opus-5-5', messages: LATE };

    expect(turnsOf(LATE, { model: 'claude-opus-5-5' })).toEqual([
      user([text('Hi.')]),
      says([text('Hm.')]),
      user([text('Ok?')]),
      system([text('Be terse.')]),
      says([text('Yes.')]),
      user([text('And?')]),
      system([text('Now.')]),
    ]);
    expect(violations(bridged(chat).body)).toEqual([]);
  });

  it('have it in the turn of the user otherwise, or without a user', () => {
    expect(turnsOf(LATE, { model: OLDER })).toEqual([
      user([text('Hi.')]),
      says([text('Hm.')]),
      user([text('Be terse.'), text('Ok?')]),
      says([text('Yes.')]),
      user([text('And?'), text('Now.')]),
    ]);
    expect(turnsOf(LATE.slice(0, 3))).toEqual([
      user([text('Hi.')]),
      says([text('Hm.')]),
      user([text('Be terse.')]),
    ]);
  });

  it.each(['[1]', '"x"', 'not json', '{"a":'])(
    'keep arguments that are no object as a text in one: %s',
    (input) => {
      const { body, notices } = bridged({ messages: [user('Hi.'), calls(['a', input]), result('a')] });

      expect((body.messages as Json[])[1]).toEqual(says([use('a', { input })]));
      expect(notices).toContain('arguments_not_object');
    },
  );

  it('keep the input of a custom tool, and results and words that are neither a text nor parts', () => {
    const patch = { id: 'a', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
    const messages = [
      user({ asks: 'this' }),
      { role: 'assistant', content: null, tool_calls: [patch] },
      { ...result('a'), content: { applied: true } },
    ];

    expect(turnsOf(messages)).toEqual([
      user([text('{"asks":"this"}')]),
      says([use('a', { input: '*** Begin' }, 'patch')]),
      user([output('a', '{"applied":true}')]),
    ]);
  });

  it.each([
    ['UTF-8', Buffer.from('São Paulo')],
    ['Latin-1, as spreadsheets write it', Buffer.from('São Paulo', 'latin1')],
    ['UTF-16', Buffer.from('\ufeffSão Paulo', 'utf16le')],
  ])('have the words of a file of text in %s', (_, bytes) => {
    const file = { file_data: `data:text/csv;base64,${bytes.toString('base64')}` };

    expect(turnsOf([user([{ type: 'file', file }])])).toEqual([
      user([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'São Paulo' } }]),
    ]);
  });

  it('keep each digit of arguments', () => {
    const json = sentOf({
      messages: [user('Hi.'), calls(['a', '{"id": 12345678901234567890}']), result('a')],
    });

    expect(json).toContain('"input":{"id": 12345678901234567890}');
  });

  it('map ids that the API refuses, the same in call and result, and never two to one', () => {
    const odd = ['a b', 'a/b', 'a_b', '', 'x'.repeat(200)];
    const messages = [
      user('Hi.'),
      calls(...odd.map((id) => [id, '{}'] as const)),
      ...odd.map((id) => result(id)),
    ];
    const { body } = bridged({ messages });

    expect(violations(body)).toEqual([]);
    expect(bridged({ messages }).body).toEqual(body);
  });

  it('use an id once, where a caller uses it again in a later round', () => {
    const round = [calls(['a', '{}']), result('a')];
    const { body } = bridged({ messages: [user('Hi.'), ...round, ...round] });

    expect(idsIn(body)).toEqual(['a', 'a', AGAIN, AGAIN]);
    expect(violations(body)).toEqual([]);
  });

  it('give each of two calls with one id its own result', () => {
    const { body } = bridged({
      messages: [user('Hi.'), calls(['', '{"n":1}'], ['', '{"n":2}']), result('', 'one'), result('', 'two')],
    });
    const blocks = (body.messages as Json[]).flatMap(({ content }) => content as Json[]);
    const inputs = blocks.flatMap(({ id, input }) => (id ? [[id, input]] : []));
    const outputs = blocks.flatMap(({ tool_use_id: id, content }) => (id ? [[id, content]] : []));

    expect(outputs).toEqual([
      [inputs[0]?.[0], 'one'],
      [inputs[1]?.[0], 'two'],
    ]);
    expect(violations(body)).toEqual([]);
  });

  it.each<[what: string, messages: Json[]]>([
    ['no result', [user('Hi.'), calls(['a', '{}'])]],
    ['a result of nothing', [user('Hi.'), result('a')]],
    ['two results', [user('Hi.'), calls(['a', '{}']), result('a'), result('a')]],
  ])('are refused by the API as by chat, and not repaired: %s', (_, messages) => {
    expect(violations(bridged({ messages }).body)).not.toEqual([]);
  });
});

function idsIn({ messages }: Json): unknown[] {
  return (messages as Json[]).flatMap(({ content }) =>
    (content as Json[]).flatMap(({ id, tool_use_id }) => id ?? tool_use_id ?? []),
  );
}

describe('answers that are kept', () => {
  const CALLED = { ...calls(['toolu_1', '{}']), content: 'I look.' };
  const MESSAGES = [user('Hi.'), CALLED, result('toolu_1')];
  const BLOCKS = [thought('First.'), text('I look.'), thought('Then.'), use('toolu_1')];
  const keeps = (at: number) => (at === 1 ? kept(...BLOCKS) : undefined);

  it('are sent as they are, instead of the whole message', () => {
    const { body } = bridged({ messages: MESSAGES }, {}, keeps);

    expect((body.messages as Json[])[1]).toEqual(says(BLOCKS));
    expect(violations(body)).toEqual([]);
    const cited = { ...CALLED, annotations: [{ type: 'url_citation' }] };
    const messages = [user('Hi.'), cited, result('toolu_1')];
    expect(bridged({ messages }, {}, keeps).notices).toEqual(['called_tools_added']);
  });

  it('are sent with their bytes', () => {
    const json = '[{"type":"tool_use","id":"toolu_1","name":"read","input":{ "n": 1.0e2 }}]';

    expect(sentOf({ messages: MESSAGES }, {}, () => ({ api: 'messages', json }))).toContain(json);
  });

  it('are one for two neighboring messages, into which a client has divided them', () => {
    const divided = [user('Hi.'), says('I look.'), calls(['toolu_1', '{}']), result('toolu_1')];
    const whole = (at: number) => (at === 1 ? kept(...BLOCKS) : kept());

    expect(bridged({ messages: divided }, {}, whole).body).toEqual(
      bridged({ messages: MESSAGES }, {}, keeps).body,
    );
  });

  it('keep the mark of their message', () => {
    const marked = { ...CALLED, content: [text('I look.', { cache_control: { type: 'ephemeral' } })] };
    const { body } = bridged({ messages: [user('Hi.'), marked, result('toolu_1')] }, {}, keeps);

    expect((body.messages as Json[])[1]).toEqual(
      says([...BLOCKS.slice(0, 3), { ...use('toolu_1'), cache_control: { type: 'ephemeral' } }]),
    );
  });

  it('of another API are not sent', () => {
    const { body } = bridged({ messages: MESSAGES }, {}, () => ({ api: 'responses', json: '[]' }));

    expect((body.messages as Json[])[1]).toEqual(says([text('I look.'), use('toolu_1')]));
  });

  const SIGNED = { format: 'anthropic-claude-v1', index: 0 };

  it.each<[what: string, echoed: Json, blocks: Json[]]>([
    [
      'in `reasoning_details`',
      {
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm.', signature: 's', ...SIGNED },
          { type: 'reasoning.encrypted', data: 'd', ...SIGNED },
        ],
      },
      [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'd' },
      ],
    ],
    ['in `thinking_blocks`', { thinking_blocks: [thought('Hm.')] }, [thought('Hm.')]],
    ['repeated there', { provider_specific_fields: { thinking_blocks: [thought('Hm.')] } }, [thought('Hm.')]],
    ['in the content', { content: [thought('Hm.'), text('I look.')] }, [thought('Hm.')]],
    ['in the content, as a text', { content: [{ type: 'reasoning', text: 'Hm.' }, text('I look.')] }, []],
    ['unsigned', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }] }, []],
    ['of another vendor', { reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }] }, []],
    ['as a text', { reasoning_content: 'Hm.' }, []],
  ])('may be echoed by the caller: %s', (_, echoed, blocks) => {
    const messages = [user('Hi.'), { ...CALLED, ...echoed }, result('toolu_1')];
    const sent = (options = {}) => (bridged({ messages }, options).body.messages as Json[])[1];

    expect(sent()).toEqual(says([...blocks, text('I look.'), use('toolu_1')]));
    expect(sent({ leavesOutReasoning: true })).toEqual(says([text('I look.'), use('toolu_1')]));
  });

  it.each([1, 2, 5, 8])('stay valid through a loop of %i rounds, bound to all before them', (rounds) => {
    const messages: Json[] = [system('Help.'), user('Hi.')];
    const outputs = new Map<number, KeptOutput>();
    const chat = {
      model: 'claude-opus-5-5',
      messages,
      tools: [{ type: 'function', function: { name: 'read' } }],
    };
    for (let round = 0; round < rounds; round++) {
      const { body } = bridged(chat, {}, (at) => outputs.get(at));
      expect(violations(body, { binds: true })).toEqual([]);
      const { text: thinking, signature } = nextThought(body, `Round ${round}.`);
      const id = `toolu_${round}`;
      outputs.set(messages.length, kept({ type: 'thinking', thinking, signature }, use(id)));
      messages.push(calls([id, '{}']), result(id));
      if (round % 2 === 1) messages.push(system('Be terse.'));
    }
    expect(outputs.size).toBe(rounds);
    expect(violations(bridged(chat, {}, (at) => outputs.get(at)).body, { binds: true })).toEqual([]);
  });
});

/** A conversation without marks, of which callers may set too many, as in any API. */
function unmarked({ messages }: ConversationBody): Json[] {
  return JSON.parse(
    JSON.stringify(messages, (key, value) => (key === 'cache_control' ? undefined : value)),
  ) as Json[];
}

/** Whether an answer says and calls nothing. */
function isEmpty({ content, tool_calls }: Json = {}): boolean {
  return (content ?? '') === '' && tool_calls === undefined;
}

const MODELS = fc.constantFrom('claude-opus-5-5', 'claude-opus-4-6', 'claude-sonnet-4-5');

describe.each([
  ['plain', conversation],
  ['rich', richConversation],
])('any conversation in Messages, %s', (_, any) => {
  const RUNS = { numRuns: runs(15, 400), endOnFailure: true };

  it('is accepted by the API', () => {
    forAll(RUNS, any, MODELS, (spoken, model) => {
      expect(violations(bridged({ model, messages: unmarked(spoken) }).body)).toEqual([]);
    });
  });

  it.each([1, 3])('uses no id twice, whichever answer of two is kept (message %i)', (at) => {
    const called = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', function: { name: 'read' } }],
    };
    const answered = [called, { role: 'tool', tool_call_id: 'a', content: 'ok' }];
    const messages = [user('Go.'), ...answered, ...answered];
    const output = kept(thought('I look.'), use('a'));
    const { body } = bridged({ messages }, {}, (index) => (index === at ? output : undefined));
    const blocks = (body.messages as Json[]).flatMap(({ content }) => content as Json[]);
    const ids = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
    expect(ids).toEqual(['a', AGAIN]);
    expect(blocks.flatMap(({ tool_use_id: id }) => id ?? [])).toEqual(ids);
    expect(blocks.filter(({ type }) => type === 'thinking')).toHaveLength(1);
  });

  it('loses no call and no result', () => {
    forAll(RUNS, any, (spoken) => {
      const messages = unmarked(spoken);
      const paired = messages.flatMap(({ role, tool_calls }) =>
        role === 'tool' ? [role] : ((tool_calls ?? []) as Json[]).map(() => 'call'),
      );
      expect(idsIn(bridged({ messages }).body)).toHaveLength(paired.length);
    });
  });

  it("has Precis's marks where a view of Messages has them", () => {
    const spread = fc.constantFrom(0, 3_000, 20_000);
    const tools = [{ type: 'function', function: { name: 'read', description: 'x'.repeat(9_000) } }];
    forAll(RUNS, any, MODELS, spread, fc.boolean(), (spoken, model, more, hasTools) => {
      const opening = { role: 'system', content: `You help.${'y'.repeat(more)}` };
      const chat = {
        model,
        messages: [opening, ...unmarked(spoken)],
        ...(hasTools ? { tools } : {}),
      };
      const bytes = bytesOf(bridged(chat).body);
      // A view of Messages measures all of its body, and a bridge what can have marks.
      const least = leastCachedPrompt(model);
      fc.pre(isTooShort(bytes.length, least) === isTooShort(0.8 * bytes.length, least));
      const request = readMessagesRequest(bytes);
      const native =
        request.ok && request.value.write(undefined, { marks: MESSAGES_MARKS.most, movesMark: true });
      expect(bridged(chat, { marksCache: true }).body).toEqual(native && parsed(native));
    });
  });

  it('begins with what it began with, whatever comes after an answer', () => {
    forAll(RUNS, any, MODELS, fc.nat(), (spoken, model, seed) => {
      const messages = unmarked(spoken);
      const answers = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
      const at = answers[seed % Math.max(1, answers.length)] ?? messages.length;
      const first = messages.slice(0, at);
      // An answer at the end is one to be continued.
      fc.pre(first.some(({ role }) => role === 'user') && first.at(-1)?.role !== 'assistant');
      // The API takes a message of the system before an answer, and an empty one has no turn.
      const asked = first.slice(first.findLastIndex(({ role }) => role === 'assistant') + 1);
      fc.pre(!asked.some(({ role }) => role === 'system' || role === 'developer') || !isEmpty(messages[at]));
      const before = bridged({ model, messages: first }).body.messages as Json[];
      const after = bridged({ model, messages }).body.messages as Json[];
      expect(after.slice(0, before.length)).toEqual(before);
    });
  });
});
