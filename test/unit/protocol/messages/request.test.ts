import { describe, expect, it, vi } from 'vitest';
import { ElementMessage } from '../../../../src/protocol/messages/message.ts';
import { type MessagesRequest, readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import { viewOfRequest } from '../../../support/laws/view-of.ts';
import {
  assistant,
  type Json,
  LONG,
  MARK,
  read,
  removal,
  result,
  STEP,
  sent,
  text,
  thinking,
  use,
  user,
  view,
  written,
} from './edited.ts';

describe('a body of Messages', () => {
  it('has a message for each result, and for the text after them', () => {
    const { messages } = read(STEP, { system: [text('Help.'), text('Today is Monday.')] });
    expect(messages.map(({ role, answers }) => [role, answers])).toEqual([
      ['preamble', undefined],
      ['preamble', undefined],
      ['user', undefined],
      ['assistant', undefined],
      ['tool', 'a'],
      ['tool', 'b'],
      ['user', undefined],
    ]);
    expect(messages.map((message) => message.content().text).slice(2)).toEqual([
      'Find both.',
      'I look.',
      'found a',
      'found b',
      'And c?',
    ]);
    expect(messages[3]?.calls).toEqual([
      { id: 'a', name: 'search', input: '{"q":1}' },
      { id: 'b', name: 'search', input: '{"q":2}' },
    ]);
    expect(messages[5]?.facts.failed).toBe(true);
  });

  it('knows a paused answer by its texts and ids, and the answer that continues it', () => {
    const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] };
    const paused = [assistant(text('Now the web.'), search), assistant(found, text('It is 42.'))];
    const { messages } = read([user('Go.'), ...paused, user('And now?')]);
    const names = (of: MessagesRequest['messages']) =>
      of.map((message) => message instanceof ElementMessage && message.names());
    const resumes = (of: MessagesRequest['messages']) =>
      of.map((message) => message instanceof ElementMessage && message.resumes);
    expect(resumes(messages)).toEqual([false, false, true, false]);
    expect(names(messages)).toEqual([['Go.'], ['Now the web.', 'srv_1'], ['', 'It is 42.'], ['And now?']]);
    const rewritten = assistant({ ...text('Now the web.'), citations: null }, { caller: null, ...search });
    expect(names(read([user('Go.'), rewritten]).messages)[1]).toEqual(['Now the web.', 'srv_1']);
    const prefilled = read([user('Go.'), assistant(text('It')), assistant(text('is 42.'))]);
    expect(resumes(prefilled.messages)).toEqual([false, false, false]);
  });

  it('takes what a harness says after results for a part of them', () => {
    const reminder = text('<system-reminder>\nThe list is empty.\n</system-reminder>');
    const { messages } = read([...STEP.slice(0, 2), user([result('a', '1'), result('b', '2'), reminder])]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(messages[3]?.content().text).toBe('2');
    expect(messages[3]?.otherTexts()).toEqual([reminder.text]);
  });

  it('takes words of the user between two reminders for a request', () => {
    const [todo, date] = ['Todo.', 'It is Monday.'].map(
      (said) => `<system-reminder>${said}</system-reminder>`,
    );
    const roles = (words: string) =>
      read([user('Go.'), assistant(use('a')), user([result('a', '1'), text(words)])])
        .messages.slice(2)
        .map(({ role }) => role);
    expect(roles(`${todo}\n${date}\n`)).toEqual(['tool']);
    for (const words of [`${todo}\nStop!\n${date}`, `Stop! ${todo}`, `${todo} Stop!`])
      expect(roles(words)).toEqual(['tool', 'user']);
  });

  it('has the same messages however its JSON is escaped', () => {
    const reminder = text('<system-reminder>Todo.</system-reminder>');
    const { bytes, messages } = read([user('Go.'), assistant(use('a')), user([result('a', '1'), reminder])]);
    const escaped = new TextDecoder().decode(bytes).replaceAll('<', '\\u003c');
    const request = readMessagesRequest(new TextEncoder().encode(escaped));
    const names = request.ok && request.value.messages.map(({ identity }) => identity);
    expect(names).toEqual(messages.map(({ identity }) => identity));
  });

  it('says the same with other marks, and with a text as a block', () => {
    const plain = read([user('Hi.'), assistant(use('a')), user([result('a', [text('found')])])]);
    const marked = read([
      user([text('Hi.', { cache_control: MARK })]),
      assistant(thinking('hm'), use('a', { q: 1 })),
      user([result('a', [text('found', { cache_control: LONG })], { cache_control: MARK })]),
    ]);
    const names = ({ messages }: MessagesRequest) => messages.map(({ identity }) => identity);
    expect(names(marked)).toEqual(names(plain));
  });

  it('does not depend on what Claude Code says of itself', () => {
    const entries = (hash: string) => [text(`x-anthropic-billing-header: cch=${hash}`), text('Help.')];
    const [one, other] = ['a', 'b'].map((hash) => read(STEP, { system: entries(hash) }).messages);
    expect(one?.map(({ identity }) => identity)).toEqual(other?.map(({ identity }) => identity));
    expect(one?.[0]?.content().text).toBe('');
  });

  it('knows names of tools, the limit of the answer, and takes our tools whatever the choice', () => {
    const tools = [
      { name: 'search', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    const request = read(STEP, { tools, tool_choice: { type: 'any' } });
    expect([...request.toolNames]).toEqual(['search', 'web_search']);
    expect(request.answerTokens).toBe(100);
    expect(request.takesTools).toBe(true);
    const parameters = { type: 'object', properties: {}, required: [], additionalProperties: false } as const;
    const json = request.toolJson({
      type: 'function',
      function: { name: 'fetch', description: 'Fetches.', parameters },
    });
    expect(JSON.parse(json)).toEqual({ name: 'fetch', description: 'Fetches.', input_schema: parameters });
    expect(written(request, undefined, { tools: [json] }).tools).toEqual([...tools, JSON.parse(json)]);
  });

  it('keeps the first answer of a pause with the one that goes on', () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] };
    const { messages } = read([user('Hi.'), assistant(search), assistant(found, text('Done.')), user('Ok.')]);
    expect(messages.map((message) => 'continues' in message && message.continues)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it('is refused without messages', () => {
    const bodies = ['{}', '{"messages":[]}', '{"messages":"Hi."}'];
    const params = bodies.map((body) => {
      const request = readMessagesRequest(new TextEncoder().encode(body));
      return request.ok ? undefined : request.reason.param;
    });
    expect(params).toEqual(['messages', 'messages', 'messages']);
  });
});

describe('a view in Messages', () => {
  it('replaces the content of a result, and nothing else of its block', () => {
    const request = read(STEP);
    const [, , answered] = sent(request, { removals: new Map([removal({ message: 3 })]) }) as Json[];
    expect(answered).toEqual(
      user([result('a', 'found a'), result('b', [text('gone')], { is_error: true }), text('And c?')]),
    );
  });

  it('replaces the arguments of a call by an object', () => {
    const cleared = { message: 1, kind: 'input', call: 1, replacement: '{"_removed":"b"}' } as const;
    const [, called] = sent(read(STEP), { removals: new Map([removal(cleared)]) }) as Json[];
    expect(called).toEqual(assistant(thinking('hm'), text('I look.'), use('a'), use('b', { _removed: 'b' })));
  });

  it('keeps the text after results that leave with their calls', () => {
    expect(sent(read(STEP), { dropped: new Set([1, 2, 3]) })).toEqual([
      user('Find both.'),
      user([text('And c?')]),
    ]);
  });

  it('cuts a message of which nothing stays', () => {
    const request = read([
      ...STEP.slice(0, 2),
      user([result('a', '1'), result('b', '2')]),
      assistant(text('Ok.')),
    ]);
    expect(sent(request, { dropped: new Set([1, 2, 3]) })).toEqual([
      user('Find both.'),
      assistant(text('Ok.')),
    ]);
  });

  it('divides a message where one of Precis’s is inside it', () => {
    const recap = { after: 4, text: 'A summary.', goesOn: false };
    const request = read([...STEP, assistant(use('c')), user([result('c', 'found c')])]);
    expect(sent(request, { recap, removals: new Map([removal({ message: 2 })]) })).toEqual([
      ...STEP.slice(0, 2),
      user([result('a', 'gone'), result('b', [text('found b')], { is_error: true }), text('And c?')]),
      { role: 'assistant', content: 'A summary.' },
      assistant(use('c')),
      user([result('c', 'found c')]),
    ]);
    const early = { after: 3, text: 'A summary.', goesOn: false };
    expect(
      sent(request, { recap: early, dropped: new Set([2]), removals: new Map([removal({ message: 3 })]) }),
    ).toEqual([
      ...STEP.slice(0, 2),
      user([result('b', [text('gone')], { is_error: true })]),
      { role: 'assistant', content: 'A summary.' },
      user([text('And c?')]),
      assistant(use('c')),
      user([result('c', 'found c')]),
    ]);
  });

  it('opens a text, or precedes the blocks of a message, after results', () => {
    const opened = (message: number) => ({
      summary: {
        block: 'A summary.',
        covers: [0, 0] as const,
        form: 'request' as const,
        request: { message, opening: 0 },
        tokens: 1,
      },
    });
    expect(sent(read(STEP), opened(0))).toEqual([user('A summary.\n\nFind both.'), ...STEP.slice(1)]);
    const [, , last] = sent(read(STEP), opened(4)) as Json[];
    expect(last).toEqual(
      user([
        result('a', 'found a'),
        result('b', [text('found b')], { is_error: true }),
        text('A summary.'),
        text('And c?'),
      ]),
    );
  });

  it('cuts thinking, and a message that has nothing else', () => {
    const request = read([
      user('Hi.'),
      assistant(thinking('alone')),
      ...STEP,
      assistant(thinking('new'), text('Ok.')),
    ]);
    expect(sent(request, { thinkingFrom: 6 })).toEqual([
      user('Hi.'),
      STEP[0],
      assistant(text('I look.'), use('a'), use('b', { q: 2 })),
      STEP[2],
      assistant(thinking('new'), text('Ok.')),
    ]);
  });

  it('puts kept rounds before their answer, which loses the thinking that they repeat', () => {
    const rounds = [assistant(thinking('hm'), use('ours')), user([result('ours', 'kept')])];
    const json = rounds.map((round) => JSON.stringify(round)).join(',');
    const shown = new Map([[1, { json, rounds: 1, tokens: 1 }]]);
    const bound = read(STEP, { model: 'claude-fable-5.2' });
    expect(sent(bound, { rounds: shown })).toEqual([
      STEP[0],
      ...rounds,
      assistant(text('I look.'), use('a'), use('b', { q: 2 })),
      STEP[2],
    ]);
  });

  it('says again what precedes kept rounds, where only thinking followed them', () => {
    const rounds = [assistant(text('I look.'), use('ours')), user([result('ours', 'kept')])];
    const json = rounds.map((round) => JSON.stringify(round)).join(',');
    const request = read([user('Go.'), assistant(text('I look.'), thinking('cut')), user('And?')]);
    expect(
      sent(request, { thinkingFrom: 2, rounds: new Map([[1, { json, rounds: 1, tokens: 1 }]]) }),
    ).toEqual([user('Go.'), ...rounds, assistant(text('I look.')), user('And?')]);
  });

  it('puts Precis’s texts after a summary of the API, where nothing else is', () => {
    const own = user([{ type: 'compaction', content: 'All so far.' }, text('Go on.')]);
    const injected = [{ role: 'user', content: 'Ours.' }] as const;
    expect(sent(read([own]), undefined, { injected })).toEqual([own, user('Ours.')]);
    const terse = { role: 'system', content: 'Be terse.' };
    expect(violations(written(read([own, terse]), undefined, { injected }))).toEqual([]);
  });

  it('puts Precis’s texts after a summary of the API that leaves out all before it', () => {
    const kept = assistant({ type: 'compaction', content: 'All so far.' }, text('So.'));
    const said = [
      user('One.'),
      assistant(text('Yes.')),
      user('Two.'),
      kept,
      user('Three.'),
      assistant(text('No.')),
    ];
    const injected = [{ role: 'user', content: 'Ours.' }] as const;
    const all = [...said, user('Four.')];
    expect(sent(read(all), undefined, { injected })).toEqual([
      ...all.slice(0, 4),
      user('Ours.'),
      ...all.slice(4),
    ]);
    const summary = { block: 'In short.', covers: [0, 5], tokens: 1 } as const;
    const ours = { dropped: new Set([0, 1, 4, 5]), summary: { ...summary, form: 'alone' as const } };
    expect(sent(read(all), ours)).toEqual([user('Two.'), kept, user('In short.'), user('Four.')]);
    // One that would open a message before it, or be a recap there.
    const opens = { ...ours.summary, form: 'request' as const, request: { message: 2, opening: 0 } };
    expect(sent(read(all), { ...ours, summary: opens })).toEqual([
      user('Two.'),
      kept,
      user('In short.'),
      user('Four.'),
    ]);
    // The API's own covers all that Precis's would say.
    const early = { dropped: new Set([0, 1]), summary: { ...ours.summary, covers: [0, 1] as const } };
    expect((sent(read(all), early) as Json[]).slice(0, 3)).toEqual([user('In short.'), user('Two.'), kept]);
    const failed = all.map((one) =>
      one === kept ? assistant({ type: 'compaction', content: null }, text('So.')) : one,
    );
    expect((sent(read(failed), undefined, { injected }) as Json[])[0]).toEqual(user('Ours.'));
  });

  describe('with a summary of the API in an answer that calls tools', () => {
    const summary = { type: 'compaction', content: 'All so far.' };
    const long = (word: string) => `${word} `.repeat(400);
    const step = (id: string, ...before: Json[]): Json[] => [
      user(`Do ${id}. ${long('asked')}`),
      assistant(...before, thinking(long('hm')), text('I look.'), use(id, { q: long('sought') })),
      user([result(id, `${id} ${long('found')}`)]),
      assistant(text('Done.')),
    ];
    const all = [step('a'), step('b', summary), step('c'), step('d'), [user('And?')]].flat();

    it.each([
      ['trim', { mode: 'trim', token_budget: 1_500 }, 'Done.'],
      ['summarize', { mode: 'summarize', token_budget: 1_500 }, 'Summary of'],
    ] as const)('keeps the summary where the calls leave (%s)', (_, strategy, left) => {
      const { bytes } = viewOfRequest(read(all), strategy);
      const { messages } = JSON.parse(new TextDecoder().decode(bytes)) as { messages: Json[] };
      expect(messages).toContainEqual(assistant(summary));
      const [before, ...behind] = JSON.stringify(messages).split(JSON.stringify(summary));
      expect(behind).toHaveLength(1);
      expect(behind[0]).toContain(left);
      expect(before).not.toContain('Summary of');
      expect(JSON.stringify(messages)).not.toContain('"id":"b"');
      expect(violations({ model: 'claude-opus-5-5', max_tokens: 100, messages })).toEqual([]);
    });

    it('keeps its bytes where arguments after it are cleared', () => {
      const strategy = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;
      const { bytes } = viewOfRequest(read(all), { ...strategy, compact_clear_tool_inputs: true });
      const { messages } = JSON.parse(new TextDecoder().decode(bytes)) as { messages: Json[] };
      const { content } = messages[5] as { content: Json[] };
      expect(content[0]).toEqual(summary);
      expect(content.at(-1)).toMatchObject({ id: 'b', input: { _removed: expect.any(String) } });
      expect(messages).toHaveLength(all.length);
    });

    const injected = [{ role: 'user', content: 'Ours.' }] as const;

    it.each([
      ['first', []],
      ['behind others', [user('One.'), assistant(text('Yes.')), user('Two.')]],
    ])('puts Precis’s texts after the summary, and the calls after these (%s)', (_, before) => {
      const answered = [assistant(summary, text('I look.'), use('a')), user([result('a', 'found')])];
      expect(sent(read([...before, ...answered]), undefined, { injected })).toEqual([
        ...before,
        assistant(summary),
        user('Ours.'),
        assistant(text('I look.'), use('a')),
        answered[1],
      ]);
    });

    it('cuts thinking and rounds from the calls that are apart from the summary', () => {
      const ends = user([result('a', 'found')]);
      const thought = [assistant(summary, thinking('hm'), text('I look.'), use('a')), ends];
      const split = [assistant(summary), user('Ours.'), assistant(text('I look.'), use('a')), ends];
      expect(sent(read(thought), undefined, { injected, thinkingFrom: 2 })).toEqual(split);

      const round = [assistant(text('First.'), use('ours')), user([result('ours', 'Kept.')])];
      const json = round.map((message) => JSON.stringify(message)).join(',');
      const joined = [assistant(summary, text('First.'), text('I look.'), use('a')), ends];
      const rounds = new Map([[1, { json, rounds: 1, tokens: 1 }]]);
      expect(sent(read(joined), { rounds })).toEqual([assistant(summary), ...round, ...split.slice(2)]);
    });

    it('leaves an answer whole that has called before it', () => {
      const all = [user('Go.'), assistant(use('a'), summary), user([result('a', 'found')])];
      expect(read(all).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
      expect(sent(read(all), undefined, { injected })).toEqual([user('Ours.'), ...all]);
    });
  });

  it('reads the calls of an answer once, however many of them lose their input', () => {
    const ids = Array.from({ length: 50 }, (_, at) => `call${at}`);
    const request = read([
      user('Go.'),
      assistant(...ids.map((id) => use(id))),
      user(ids.map((id) => result(id, '1'))),
    ]);
    const cleared = ids.flatMap(
      (_, at) => removal({ message: 1, kind: 'input', call: at, replacement: '{}' })[1],
    );
    const calls = vi.spyOn(ElementMessage.prototype, 'callBlocks', 'get');
    const [, called] = sent(request, { removals: new Map([[1, cleared]]) }) as Json[];
    expect(called).toEqual(assistant(...ids.map((id) => use(id, {}))));
    expect(calls).toHaveBeenCalledTimes(1);
    calls.mockRestore();
  });

  it('puts Precis’s texts after the entries of system, and before the first message', () => {
    const injected = [
      { role: 'system', content: 'Ours.' },
      { role: 'user', content: 'Ours, too.' },
    ] as const;
    const entries = [text('x-anthropic-billing-header: cch=1'), text('Help.', { cache_control: MARK })];
    expect(written(read(STEP, { system: entries }), undefined, { injected })).toMatchObject({
      system: [...entries, text('Ours.')],
      messages: [user('Ours, too.'), ...STEP],
    });
    const systems = ['Help.', '', null, undefined].map(
      (system) => written(read(STEP, { system }), undefined, { injected }).system,
    );
    const [alone] = [[text('Ours.')]];
    expect(systems).toEqual([[text('Help.'), text('Ours.')], alone, alone, alone]);
  });

  it('puts a message of the system that has lost its place after the next user message', () => {
    const said = { role: 'system', content: 'Be terse.' };
    const more = { role: 'system', content: [text('In German.', { cache_control: MARK })] };
    const request = read([
      user('One.'),
      assistant(text('1')),
      user('Two.'),
      said,
      assistant(text('2')),
      user('Three.'),
      more,
      assistant(text('3')),
      user('Four.'),
    ]);
    const recap = { after: 0, text: 'A summary.', goesOn: false };
    const first = written(request, { recap, dropped: new Set([1, 2, 4]) });
    expect(first.messages).toEqual([
      user('One.'),
      { role: 'assistant', content: 'A summary.' },
      user('Three.'),
      { role: 'system', content: [text('Be terse.'), text('In German.')] },
      assistant(text('3')),
      user('Four.'),
    ]);
    const second = written(request, { recap, dropped: new Set([1, 2, 4, 5, 7]) });
    expect((second.messages as Json[]).slice(2)).toEqual([
      user('Four.'),
      { role: 'system', content: [text('Be terse.'), text('In German.')] },
    ]);
    expect([first, second].flatMap((body) => violations(body))).toEqual([]);
  });

  it('cuts Precis’s fields, and adds no key of a cache that the API does not have', () => {
    const request = read(STEP, { memory_report: true, conversation_id: 'c', container: 'kept' });
    const shared = { stores: true, cacheKey: () => 'key' };
    const body = written(request, undefined, { shared, cacheKey: 'key', reasoning: true });
    expect(Object.keys(body)).toEqual(['model', 'max_tokens', 'container', 'messages']);
  });

  it('keeps what it does not know byte for byte', () => {
    const json =
      '{ "model":"m", "max_tokens":1, "big":12345678901234567890, "messages": [ {"role":"user","content":[ {"type":"new_kind","n":1.50} ]} , {"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{ "q" : 1e2 }},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"abc"}]}]}, {"role":"user","content":"Ok?"} ] }';
    const request = readMessagesRequest(new TextEncoder().encode(json));
    if (!request.ok) throw new Error(request.reason.message);
    expect(new TextDecoder().decode(request.value.write(view({})))).toBe(json);
    expect(request.value.messages[1]?.content().weight.texts.join()).not.toContain('abc');
  });
});
