import { describe, expect, it } from 'vitest';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
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
  use,
  user,
  view,
  written,
} from './edited.ts';

describe('marks of the cache in Messages', () => {
  const marksOf = (body: Json): string[] =>
    JSON.stringify(body).match(/"cache_control":\{"type":"ephemeral"/g) ?? [];

  it('move to the block before, or to Precis’s text, where their block leaves', () => {
    const request = read([
      user('One.'),
      assistant(text('1', { cache_control: LONG })),
      user([text('Two.', { cache_control: MARK })]),
      assistant(text('2')),
      user('Three.'),
    ]);
    const moved = [text('One.', { cache_control: LONG })];
    expect(sent(request, { dropped: new Set([1, 2, 3]) })).toEqual([user(moved), user('Three.')]);
    const recap = { after: 0, text: 'A summary.', goesOn: false };
    expect(sent(request, { recap, dropped: new Set([1, 2, 3]) })).toEqual([
      user('One.'),
      assistant(text('A summary.', { cache_control: LONG })),
      user('Three.'),
    ]);
  });

  it('stay after a result whose content is replaced', () => {
    const request = read([
      ...STEP.slice(0, 2),
      user([
        result('a', [text('found', { cache_control: LONG })]),
        result('b', 'b', { cache_control: MARK }),
      ]),
    ]);
    const [, , answered] = sent(request, {
      removals: new Map([removal({ message: 2 }), removal({ message: 3 })]),
    }) as Json[];
    expect(answered).toEqual(
      user([
        result('a', [text('gone', { cache_control: LONG })]),
        result('b', 'gone', { cache_control: MARK }),
      ]),
    );
  });

  it.each([
    ['claude-opus-5-5', 1_500, 0],
    ['claude-opus-5-5', 3_000, 2],
    ['claude-haiku-4-5', 5_000, 0],
    ['claude-haiku-4-5', 17_000, 2],
    ['a-model-of-nobody', 5_000, 0],
  ])('of Precis follow tools and system that the cache of %s keeps: %s bytes', (model, length, many) => {
    const tools = [{ name: 'search', description: 'x'.repeat(length), input_schema: { type: 'object' } }];
    const request = read(STEP, { model, tools, system: 'Help.' });
    const { tools: listed, system } = written(request, { marks: [1] }, { marks: 3 });
    expect(JSON.stringify([listed, system]).split('cache_control')).toHaveLength(many + 1);
  });

  it('of Precis follow tools, system and the places of the view, where the caller sets none', () => {
    const tools = [{ name: 'search', description: 'x'.repeat(5_000), input_schema: { type: 'object' } }];
    const request = read(STEP, { tools, system: 'Help.' });
    const body = written(
      request,
      { marks: [1, 4] },
      { marks: 3, tools: ['{"name":"ours","input_schema":{"type":"object"}}'] },
    );
    expect(body).toMatchObject({
      tools: [tools[0], { name: 'ours', cache_control: MARK }],
      system: [text('Help.', { cache_control: MARK })],
      messages: [
        user([text('Find both.', { cache_control: MARK })]),
        STEP[1],
        user([
          result('a', 'found a'),
          result('b', [text('found b')], { is_error: true, cache_control: MARK }),
          text('And c?'),
        ]),
      ],
    });
    expect(violations(body)).toEqual([]);
    expect(marksOf(written(request, { marks: [1, 4] }, { marks: 0 }))).toEqual([]);
  });

  it('of Precis fill what the caller leaves, as long-lived as one after them', () => {
    const entries = [text('Help.', { cache_control: LONG }), text('More.', { cache_control: LONG })];
    const messages = [...STEP, assistant(text('Ok.')), user([text('And d?', { cache_control: LONG })])];
    const body = written(read(messages, { system: entries }), { marks: [2, 5] }, { marks: 3 });
    expect(marksOf(body)).toHaveLength(4);
    expect(violations(body)).toEqual([]);
    expect(JSON.stringify((body.messages as Json[])[2])).toContain('"ttl":"1h"');
    const full = written(
      read(messages, { system: entries, cache_control: LONG }),
      { marks: [2, 5] },
      { marks: 3 },
    );
    expect(marksOf(full)).toHaveLength(4);
  });

  it('move to the last message before that can bear one', () => {
    const marked = result('a', 'found', { cache_control: MARK });
    const request = read([
      user([text('One.', { cache_control: null })]),
      { role: 'system', content: 'Be terse.' },
      assistant(use('a')),
      user([marked]),
      assistant(text('Ok.')),
      user('Two.'),
    ]);
    const body = written(request, { dropped: new Set([2, 3]) });
    expect((body.messages as Json[])[0]).toEqual(user([text('One.', { cache_control: MARK })]));
    expect(violations(body)).toEqual([]);
  });

  it('move after the message that opens with a summary, where nothing precedes it', () => {
    const request = read([user('One.'), assistant(text('1', { cache_control: LONG })), user('Two.')]);
    const summary = {
      block: 'A summary.',
      covers: [0, 1] as const,
      form: 'request' as const,
      request: { message: 2, opening: 0 },
      tokens: 1,
    };
    expect(sent(request, { dropped: new Set([0, 1]), summary })).toEqual([
      user([text('A summary.\n\nTwo.', { cache_control: LONG })]),
    ]);
  });

  it('keep their order where a request stays before the message that opens with a summary', () => {
    const request = read([
      user('One.'),
      assistant(text('1', { cache_control: LONG })),
      user('Two.'),
      assistant(text('2', { cache_control: MARK })),
      user('Three.'),
      assistant(text('3', { cache_control: MARK })),
      user('Four.'),
    ]);
    const summary = {
      block: 'A summary.',
      covers: [0, 5] as const,
      form: 'request' as const,
      request: { message: 6, opening: 0 },
      tokens: 1,
    };
    const body = written(request, { dropped: new Set([0, 1, 3, 4, 5]), summary });
    expect(violations(body)).toEqual([]);
    expect(body.messages).toEqual([
      user([text('Two.', { cache_control: LONG })]),
      user('A summary.\n\nFour.'),
    ]);
  });

  it('of Precis replace a null', () => {
    const request = read([
      ...STEP.slice(0, 2),
      user([result('a', 'a'), result('b', 'b', { cache_control: null })]),
    ]);
    const bytes = request.write(view({ marks: [3], removals: new Map([removal({ message: 3 })]) }), {
      marks: 3,
    });
    const json = new TextDecoder().decode(bytes);
    expect(json.match(/"cache_control"/g)).toHaveLength(1);
    expect(json).toContain(JSON.stringify(result('b', 'gone', { cache_control: MARK })));
  });

  it.each(['', ' \n'])('of Precis follow no system of white space: %j', (system) => {
    const tools = [{ name: 'search', description: 'x'.repeat(5_000), input_schema: { type: 'object' } }];
    const request = read(STEP, { tools, system });
    const body = written(request, { marks: [1] }, { marks: 3 });
    expect(body.system).toBe(system);
    const injected = [{ role: 'system', content: 'Ours.' }] as const;
    expect(written(request, { marks: [1] }, { marks: 3, injected }).system).toEqual([text('Ours.')]);
    expect(marksOf(body)).toHaveLength(2);
  });
});
