import { describe, expect, it } from 'vitest';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import { addReport } from '../../../../src/protocol/answers/answer-format.ts';
import { readChatRequest, writeCompactedMessages } from '../../../../src/protocol/chat/request.ts';
import { searchDefinitionOf } from '../../../../src/retrieval/search-memory.ts';
import { assistant, body, calls, lines, read, result, user } from '../../../support/conversations/chat.ts';
import { viewOf } from '../../../support/laws/view-of.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

function readText(text: string) {
  const request = readChatRequest(encode(text));
  if (!request.ok) throw new Error(request.reason.message);
  return request.value;
}

const forwarded = (text: string): string => decode(readText(text).write(undefined));

describe('a tool of Precis in a chat', () => {
  const strict = { type: 'function', function: { name: 'a', strict: true } };
  const loose = { type: 'function', function: { name: 'b' } };

  it.each([
    ['where all are', 'gpt-oss-120b', [strict, strict], true],
    ['where one is not', 'gpt-oss-120b', [strict, loose], undefined],
    ['where there is none', 'gpt-oss-120b', [], undefined],
    ['where all are, of a model that takes a mixture', 'openai/gpt-6-sol', [strict], undefined],
  ])('is as strict as the caller’s %s', (_, model, tools, isStrict) => {
    const request = readText(JSON.stringify({ model, messages: [{}], tools }));
    const written = JSON.parse(request.toolJson(searchDefinitionOf('search_memory', 'words', true)));
    const { query, scope } = written.function.parameters.properties;
    const { required } = written.function.parameters;
    expect(written.function.strict).toBe(isStrict);
    expect([query.type, scope.type, scope.enum, required]).toEqual(
      isStrict
        ? ['string', ['string', 'null'], ['conversation', 'user', null], ['query', 'scope']]
        : ['string', 'string', ['conversation', 'user'], ['query']],
    );
  });
});

describe('a chat body without edits', () => {
  it('is forwarded in the caller’s bytes', () => {
    const text =
      ' {"messages" : [ {"content":"\\u0041\\/", "role":"user", "n":12345678901234567890} ],\n"seed":1.0, "model":"m"} ';
    expect(forwarded(text)).toBe(text);
  });

  it.each([
    [
      '{"memory_strategy":"none","model":"m","messages":[{"role":"user"}]}',
      '{"model":"m","messages":[{"role":"user"}]}',
    ],
    [
      '{"model":"m","messages":[{"role":"user"}],"memory_report":true}',
      '{"model":"m","messages":[{"role":"user"}]}',
    ],
    [
      '{"model":"m", "agent_type":"a" ,"messages":[{"role":"user"}]}',
      '{"model":"m", "messages":[{"role":"user"}]}',
    ],
    [
      '{"memory_injection":{},"memory_summary":null,"messages":[{"role":"user"}],"conversation_id":"c","agent_type":"a"}',
      '{"messages":[{"role":"user"}]}',
    ],
    ['{"messages":[{"compacted":true,"role":"user"}]}', '{"messages":[{"role":"user"}]}'],
    ['\ufeff {"conversation_id":"c","messages":[{}]}', '\ufeff {"messages":[{}]}'],
    [
      '{"messages":[{"x":1,"compacted":true,"y":2,"role":"user"}]}',
      '{"messages":[{"x":1,"y":2,"role":"user"}]}',
    ],
    ['{"messages":[{"role":"user","compacted": true }]}', '{"messages":[{"role":"user" }]}'],
    [
      '{"messages":[{"role":"user","compacted":"true"}]}',
      '{"messages":[{"role":"user","compacted":"true"}]}',
    ],
    [
      '{"messages":[{"role":"user"}],"user":"u","safety_identifier":"s"}',
      '{"messages":[{"role":"user"}],"user":"u","safety_identifier":"s"}',
    ],
  ])('loses own fields and marks, and nothing else: %s', (text, expected) => {
    expect(forwarded(text)).toBe(expected);
  });
});

describe('a chat body that can’t be read', () => {
  it.each([
    ['', 'invalid_json', null],
    ['{"messages":', 'invalid_json', null],
    ['[]', 'invalid_json', null],
    ['{"a":1,"messages":[{}],"a":2}', 'invalid_json', 'a'],
    ['{"model":"m"}', 'invalid_messages', 'messages'],
    ['{"messages":[]}', 'invalid_messages', 'messages'],
    ['{"messages":"hello"}', 'invalid_messages', 'messages'],
    ['{"messages":null}', 'invalid_messages', 'messages'],
  ])('%j is refused with a code and the field', (text, code, param) => {
    expect(readChatRequest(encode(text))).toMatchObject({ ok: false, reason: { code, param } });
  });
});

describe('the weight of a chat message', () => {
  it('is a flat rate for an image, by its detail, never its text', () => {
    const image = (detail?: string) => ({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${'A'.repeat(9999)}`, detail },
    });
    const [high, low] = read([user([image()]), user([image('low')])]);
    expect(high?.content().weight).toEqual({ texts: [], flat: 765 });
    expect(low?.content().weight).toEqual({ texts: [], flat: 85 });
  });

  // Mistral's (`document-mistral` in `tests/models/cassettes/test_multimodal_tool_returns` of
  // https://github.com/pydantic/pydantic-ai), and OpenRouter's
  // (https://openrouter.ai/docs/features/multimodal/videos).
  it.each([
    [
      'a document',
      { type: 'document_url', document_url: `data:application/pdf;base64,${'A'.repeat(9_000)}` },
    ],
    ['a video', { type: 'video_url', video_url: { url: `data:video/mp4;base64,${'A'.repeat(9_000)}` } }],
  ])('is a flat rate for %s that is data, in any vendor’s part', (_, part) => {
    const [message] = read([user([{ type: 'text', text: 'What is it?' }, part])]);
    const { texts, flat } = message?.content().weight ?? {};
    expect(flat).toBe(1500);
    expect(texts?.join('').length).toBeLessThan(100);
  });

  it('is all the text that the model reads', () => {
    const [message] = read([
      assistant('said', {
        refusal: 'no',
        reasoning_content: 'thought',
        ...{ tool_calls: [{ id: '1', type: 'custom', custom: { name: 'f', input: 'i' } }] },
      }),
    ]);
    expect(message?.content().weight.texts).toEqual(['said']);
    expect(message?.otherTexts()).toEqual(['no', 'thought', 'f', 'i']);
  });

  it('is the thinking among its parts, as a text or as a list of texts', () => {
    const said = { type: 'text', text: 'Yes.' };
    const [listed, plain] = read([
      assistant([{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }, said]),
      assistant([{ type: 'thinking', thinking: 'Hm.' }, said]),
    ]);
    for (const message of [listed, plain]) {
      expect(message?.content().weight.texts).toEqual(['Hm.', 'Yes.']);
      expect(message?.thinking()?.weight.texts).toEqual(['Hm.']);
    }
  });

  it('is nothing for content that is null or absent', () => {
    expect(
      read([assistant(null), { role: 'assistant' }]).map((message) => message.content().weight.texts),
    ).toEqual([[], []]);
  });
});

// As Snowflake answers (`tests/models/cassettes/test_snowflake` of
// https://github.com/pydantic/pydantic-ai), and clients send answers back.
it('an answer with all members that a message can have has the calls that have a name', () => {
  const named = { name: 'search', arguments: '{"q":1}' };
  const empty = { function_call: { arguments: '', name: '' }, refusal: '', annotations: null };
  const [called, said, patched] = read([
    assistant('', {
      ...empty,
      ...{ tool_calls: [{ custom: { input: '', name: '' }, function: named, id: 'x', type: 'function' }] },
    }),
    assistant('Yes.', { ...empty, ...{ tool_calls: null } }),
    assistant('', {
      ...{
        tool_calls: [
          {
            custom: { input: 'i', name: 'f' },
            function: { name: '', arguments: '' },
            id: 'y',
            type: 'custom',
          },
        ],
      },
    }),
  ]);
  expect(called?.calls).toEqual([{ id: 'x', name: 'search', input: '{"q":1}' }]);
  expect(said?.calls).toEqual([]);
  expect(patched?.calls).toEqual([{ id: 'y', name: 'f', input: 'i', form: 'text' }]);
});

it('an answer of chat says the same with thinking among its parts and without', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
  const said = [
    { type: 'text', text: 'Y' },
    { type: 'text', text: 'es.' },
  ];
  const image = { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } };
  const [whole, plain, other, drawn] = read([
    assistant([thought, ...said]),
    assistant('Yes.'),
    assistant([thought, ...said, { type: 'text', text: '!' }]),
    assistant([thought, ...said, image]),
  ]).map(({ identity }) => identity);
  expect(whole).toBe(plain);
  expect(new Set([whole, other, drawn]).size).toBe(3);
});

describe('an edited chat body', () => {
  it('keeps the bytes of every message that is not edited', () => {
    const odd = '{"role":"user", "content":"caf\\u00e9", "big":12345678901234567890, "one":1.0}';
    const old = JSON.stringify(lines(60));
    const text = `{"model":"m","messages":[${odd},${JSON.stringify(calls(['1', 'f']))},{"role":"tool","tool_call_id":"1" , "content":${old}, "k":1e2},${JSON.stringify(assistant('x'))}]}`;
    const viewed = viewOf(encode(text), { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 });
    const sent = decode(viewed.bytes);
    expect(sent).toContain(odd);
    expect(sent).toMatch(/\{"role":"tool","tool_call_id":"1" , "content":"⟦removed: [^"]*", "k":1e2\}/);
  });

  it('marks what it changed for /v1/compact, once', () => {
    const messages = [
      user('a'),
      calls(['1', 'f']),
      { ...result('1', lines(60)), compacted: true },
      assistant('x'),
    ];
    const viewed = viewOf(body(messages), { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 });
    const marked = JSON.parse(decode(writeCompactedMessages(viewed.request, viewed.view)));
    expect(marked.map((message: { compacted?: boolean }) => message.compacted)).toEqual([
      undefined,
      undefined,
      true,
      undefined,
    ]);
    expect(decode(writeCompactedMessages(viewed.request, viewed.view)).match(/compacted"/g)).toHaveLength(1);
  });
});

describe('the report in a chat answer', () => {
  const report = idleReport('none', 'default');

  it('is the last member of the object, all else being unchanged', () => {
    expect(decode(addReport(encode('{"id": "x", "n": 1.0 }\n'), report))).toBe(
      `{"id": "x", "n": 1.0 ,"memory":${JSON.stringify(report)}}\n`,
    );
    expect(decode(addReport(encode('{}'), report))).toBe(`{"memory":${JSON.stringify(report)}}`);
  });

  it.each(['[1]', 'not json', ''])('is left out where there is no object: %j', (text) => {
    expect(decode(addReport(encode(text), report))).toBe(text);
  });
});
