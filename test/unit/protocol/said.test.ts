/** What a client may write in another way with each request, and is the same conversation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { bareJson, leftOut } from '../../../src/protocol/json/bare.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { unmarked } from '../../../src/protocol/unmarked.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { itemsOf } from '../../../tools/upstream/items.ts';
import {
  autoOptions,
  autoStrategy,
  conversation,
  richConversation,
} from '../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import { reportBesideLine, type Viewed, viewOf } from '../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const MARKS: readonly Json[] = [
  { cache_control: { type: 'ephemeral' } },
  { cache_control: { type: 'ephemeral', ttl: '1h' } },
  { cache_control: null },
  { prompt_cache_breakpoint: { mode: 'explicit' } },
];

/** Takes the next of some choices. */
type Choose = (most: number) => number;

const choices = fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }).map((numbers): Choose => {
  let next = 0;
  return (most) => (numbers[next++ % numbers.length] ?? 0) % most;
});

function marked(value: Json, choose: Choose): Json {
  const { cache_control: _, prompt_cache_breakpoint: __, ...rest } = value;
  const at = choose(MARKS.length + 2);
  const mark = MARKS[at] ?? {};
  return choose(2) === 0 ? { ...mark, ...rest } : { ...rest, ...mark };
}

function rewritten(content: unknown, choose: Choose, type: string): unknown {
  if (Array.isArray(content)) {
    const [only] = content as Json[];
    // A text has no place for what a part says beside its own.
    const isText = content.length === 1 && typeof only?.text === 'string' && !('source' in only);
    return isText && choose(2) === 0 ? only?.text : content.map((part) => marked(part as Json, choose));
  }
  if (typeof content !== 'string' || choose(2) === 0) return content;
  return [marked({ type, text: content }, choose)];
}

/** A message of chat, in other words of the same meaning. */
function message(one: Json, choose: Choose): Json {
  const { content, tool_calls } = one;
  const calls = Array.isArray(tool_calls)
    ? { tool_calls: tool_calls.map((call) => marked(call as Json, choose)) }
    : {};
  return marked({ ...one, content: rewritten(content, choose, 'text'), ...calls }, choose);
}

/** An item likewise. */
function item(one: Json, choose: Choose): Json {
  const { id: _, status: __, type = 'message', ...rest } = one;
  const said = Object.entries(rest).map(([key, value]) => {
    const isContent = key === (type === 'message' ? 'content' : 'output');
    return [key, isContent ? rewritten(value, choose, 'input_text') : value];
  });
  const named = [{}, { id: `id_${choose(9)}` }, { status: 'completed' }, { id: null, status: null }][
    choose(4)
  ];
  const typed = type === 'message' && choose(2) === 0 ? {} : { type };
  const whole = { ...typed, ...Object.fromEntries(said) };
  return marked(choose(2) === 0 ? { ...named, ...whole } : { ...whole, ...named }, choose);
}

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function hashesOf(read: typeof readChatRequest | typeof readResponsesRequest, body: unknown) {
  const request = read(encode(body));
  if (!request.ok) throw new Error(request.reason.message);
  return prefixHashes(request.value.messages, sha256Hex);
}

describe('a conversation whose client moves its cache marks, and writes texts as strings and parts', () => {
  it('has the same hashes in chat', () => {
    forAll({ endOnFailure: true }, conversation, choices, (body, choose) => {
      const messages = body.messages.map((one) => message(one, choose));
      expect(hashesOf(readChatRequest, { ...body, messages })).toEqual(hashesOf(readChatRequest, body));
    });
  });

  it('has the same hashes in the Responses API, with ids, states and types or without', () => {
    forAll({ endOnFailure: true }, conversation, choices, ({ messages }, choose) => {
      const input = itemsOf(messages);
      const other = input.map((one) => item(one, choose));
      expect(hashesOf(readResponsesRequest, { input: other })).toEqual(
        hashesOf(readResponsesRequest, { input }),
      );
    });
  });

  it('has the same edits, refs and tokens', () => {
    const outcomeOf = (viewed: Viewed) => [
      reportBesideLine(viewed),
      [...viewed.view.removals.values()].flat().map(({ replacement, message: at }) => [at, replacement]),
    ];
    forAll(
      { numRuns: runs(13, 60), endOnFailure: true },
      richConversation,
      autoStrategy,
      autoOptions(false),
      choices,
      (body, strategy, options, choose) => {
        const messages = body.messages.map((one) => message(one, choose));
        expect(outcomeOf(viewOf({ ...body, messages }, strategy, options))).toEqual(
          outcomeOf(viewOf(body, strategy, options)),
        );
      },
    );
  });
});

describe('an item', () => {
  const hash = (...input: Json[]) =>
    hashesOf(readResponsesRequest, { input: [{ role: 'user', content: 'Go.' }, ...input] }).at(-1);

  it.each([
    ['a reference to a stored one', { type: 'item_reference' }, { id: 'msg_1' }, { id: 'msg_2' }],
    ['a request for approval', { type: 'mcp_approval_request', name: 'f' }, { id: 'a' }, { id: 'b' }],
    [
      'the result of a local shell',
      { type: 'local_shell_call_output', output: 'x' },
      { id: 'a' },
      { id: 'b' },
    ],
    [
      'the result of a patch',
      { type: 'apply_patch_call_output', call_id: 'c' },
      { status: 'completed' },
      { status: 'failed' },
    ],
    [
      'a text with citations',
      { role: 'user' },
      { content: [{ type: 'input_text', text: 'a', annotations: [1] }] },
      { content: 'a' },
    ],
  ])('is known by what nothing else says: %s', (_, same, one, other) => {
    expect(hash({ ...same, ...one })).not.toBe(hash({ ...same, ...other }));
  });

  it('is the same as the input that is a string', () => {
    const text = (input: unknown) => readResponsesRequest(new TextEncoder().encode(`{"input":${input}}`));
    const [one, other] = ['"caf\\u00e9"', '[{"role":"user","content":"caf\\u00e9"}]'].map(text);
    expect(one?.ok && one.value.messages[0]?.identity).toBe(other?.ok && other.value.messages[0]?.identity);
  });
});

describe('JSON without some members', () => {
  const bare = (json: string, ...members: Parameters<typeof leftOut>[]) =>
    new TextDecoder().decode(
      bareJson(
        new TextEncoder().encode(json),
        members.map((one) => leftOut(...one)),
      ),
    );

  /** A value whose objects have one more member, first or last. */
  const withMore = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withMore);
    if (typeof value !== 'object' || value === null) return value;
    const rest = Object.fromEntries(Object.entries(value).map(([key, held]) => [key, withMore(held)]));
    const more = { x: [{ y: ' }"' }, value] };
    return Object.keys(value).length % 2 === 0 ? { ...more, ...rest } : { ...rest, ...more };
  };

  it('is the JSON of a value without them, wherever they are', () => {
    forAll({ endOnFailure: true }, fc.jsonValue(), fc.constantFrom('', 1, '\t'), (value, indent) => {
      const more = withMore(value);
      const without = JSON.stringify(more, (key, held) => (key === 'x' ? undefined : held));
      expect(bare(JSON.stringify(more, null, indent), ['x'])).toBe(without);
    });
  });

  it('keeps texts that look like one, and inner members of an outer name', () => {
    expect(bare('{"a":"x","b":["x",{"x":1}], "x" : 2}', ['x', true])).toBe('{"a":"x","b":["x",{"x":1}]}');
    expect(bare('{"x":1,"y":2}', ['x'], ['y'])).toBe('{}');
    expect(bare('{"a":1,"x":{"x":[","]},"y":2,"b":3}', ['x'], ['y'])).toBe('{"a":1,"b":3}');
  });
});

describe('parts without marks', () => {
  it('keep the white space and the digits of all else', () => {
    const parts =
      '[ {"type": "text", "text": "\\"cache_control\\"", "cache_control": {"type": "ephemeral"}}, 1.0 ]';
    expect(unmarked(parts)).toBe('[ {"type": "text", "text": "\\"cache_control\\""}, 1.0 ]');
    const first = '[{ "prompt_cache_breakpoint": {"mode": "explicit"}, "type": "file" }]';
    expect(unmarked(first)).toBe('[{ "type": "file" }]');
  });
});
