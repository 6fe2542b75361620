/**
 * What holds for every answer and every conversation: a stream says what the answer says, however
 * it is cut; and the items of a conversation are its messages, in their order and in pairs.
 */
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { asObject } from '../../../../../src/lib/json.ts';
import { GatheredMessage } from '../../../../../src/protocol/chat/calls.ts';
import { responsesViolations } from '../../../../../tools/upstream/strict-responses.ts';
import { forAll, forAllAsync, runs } from '../../../../support/laws/runs.ts';
import { answered, bodyOf, choicesOf, deltasOf, inputOf, type Json, streamed } from './bridged.ts';

const RUNS = { numRuns: runs(30, 300) };
const HEAD = { id: 'resp_7', created_at: 1_790_000_000, model: 'gpt-6.1-sol' };
const USAGE = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const ASKS = { stream_options: { include_usage: true } };

const words = fc.string({ unit: fc.constantFrom('a', 'ß', '😀', ' ', '\n', '"', '{', '}'), maxLength: 12 });
const name = fc.constantFrom('read', 'list', 'sql');

const outputPart = fc.oneof(
  words.map((text): Json => ({ type: 'output_text', text, annotations: [], logprobs: [] })),
  words.map((refusal): Json => ({ type: 'refusal', refusal })),
);
const anItem: fc.Arbitrary<Json> = fc.oneof(
  fc.record({
    type: fc.constant('message'),
    role: fc.constant('assistant'),
    phase: fc.constantFrom('commentary', 'final_answer'),
    content: fc.array(outputPart, { maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant('reasoning'),
    summary: fc.array(
      words.map((text): Json => ({ type: 'summary_text', text })),
      { maxLength: 2 },
    ),
    encrypted_content: words,
  }),
  fc.record({ type: fc.constant('function_call'), name, arguments: words }),
  fc.record({ type: fc.constant('custom_tool_call'), name, input: words }),
  fc.record({ type: fc.constant('web_search_call'), action: fc.constant({}) }),
);

const anOutput = fc.array(anItem, { maxLength: 5 }).map((items) =>
  items.map(
    (item, index): Json => ({
      ...item,
      id: `item_${index}`,
      status: 'completed',
      ...(String(item.type).endsWith('tool_call') || item.type === 'function_call'
        ? { call_id: `call_${index}` }
        : {}),
    }),
  ),
);

/** How an upstream streams an answer. */
const aWay = fc.record({
  /** Where texts are cut, in characters; longer ones have deltas of this size each. */
  size: fc.integer({ min: 1, max: 5 }),
  /** How many of its deltas a text has: `done` has to bring the others. */
  share: fc.constantFrom(0, 0.5, 1),
  announces: fc.boolean(),
  ends: fc.boolean(),
  /** Whether texts end by events of their own, before their items do. */
  endsTexts: fc.boolean(),
  rotatesIds: fc.boolean(),
  /** Whether the events of all items but the first come item by item, or in turn. */
  interleaves: fc.boolean(),
  listsOutput: fc.boolean(),
});
type Way = typeof aWay extends fc.Arbitrary<infer T> ? T : never;

/** Events of a text, without the item that they are about. */
function textEvents(type: string, text: string, field: string, at: Json, way: Way): Json[] {
  const pieces = text.match(new RegExp(`[^]{1,${way.size}}`, 'g')) ?? [];
  const sent = pieces.slice(0, Math.ceil(pieces.length * way.share));
  return [
    ...sent.map((delta) => ({ type: `response.${type}.delta`, ...at, delta })),
    // No upstream leaves a text half said and begins the next one.
    ...(way.endsTexts || way.share === 0.5 ? [{ type: `response.${type}.done`, ...at, [field]: text }] : []),
  ];
}

function within(item: Json, way: Way): Json[] {
  if (item.type === 'function_call')
    return textEvents('function_call_arguments', String(item.arguments), 'arguments', {}, way);
  if (item.type === 'custom_tool_call')
    return textEvents('custom_tool_call_input', String(item.input), 'input', {}, way);
  const parts = (item.type === 'reasoning' ? item.summary : item.content) as Json[] | undefined;
  return (parts ?? []).flatMap((part, index) => {
    if (item.type === 'reasoning')
      return textEvents('reasoning_summary_text', String(part.text), 'text', { summary_index: index }, way);
    const at = { content_index: index };
    return part.type === 'refusal'
      ? textEvents('refusal', String(part.refusal), 'refusal', at, way)
      : textEvents('output_text', String(part.text), 'text', at, way);
  });
}

/** All events of an answer, as this upstream streams it. */
function eventsOf(output: readonly Json[], way: Way): Json[] {
  // An item that does not end is announced: else only the output of the response has it.
  const announces = way.announces || !way.ends;
  const lists = way.listsOutput || !way.ends;
  const streams = output.map((item, output_index) => {
    const { content: _, arguments: __, input: ___, summary: ____, ...head } = item;
    let count = 0;
    const idOf = (): unknown => (way.rotatesIds ? `${item.id}_${count++}` : item.id);
    const opening = { ...head, ...(item.type === 'reasoning' ? { encrypted_content: 'half' } : {}) };
    return [
      ...(announces
        ? [{ type: 'response.output_item.added', output_index, item: { ...opening, id: idOf() } }]
        : []),
      ...(announces ? within(item, way).map((event) => ({ ...event, output_index, item_id: idOf() })) : []),
      ...(way.ends
        ? [{ type: 'response.output_item.done', output_index, item: { ...item, id: idOf() } }]
        : []),
    ];
  });
  const isCalls = output.every(({ type }) => type === 'function_call' || type === 'custom_tool_call');
  const longest = Math.max(0, ...streams.map(({ length }) => length));
  const events =
    way.interleaves && isCalls
      ? Array.from({ length: longest }, (_, at) => streams.flatMap((stream) => stream[at] ?? [])).flat()
      : streams.flat();
  return [
    { type: 'response.created', response: { ...HEAD, status: 'in_progress', output: [] } },
    ...events,
    {
      type: 'response.completed',
      response: { ...HEAD, status: 'completed', output: lists ? output : [], usage: USAGE },
    },
  ];
}

/** The message that the deltas of chunks make. */
function messageOf(chunks: readonly Json[]): Json {
  const gathered = new GatheredMessage();
  const calls: Json[] = [];
  for (const delta of deltasOf(chunks)) {
    gathered.add(delta);
    for (const { index, ...piece } of (delta.tool_calls ?? []) as Json[]) {
      const at = Number(index);
      const known = calls[at];
      const kind = piece.custom === undefined ? 'function' : 'custom';
      const field = kind === 'custom' ? 'input' : 'arguments';
      const before = (known?.[kind] as Json | undefined)?.[field] ?? '';
      const inner = piece[kind] as Json;
      calls[at] = {
        ...known,
        ...piece,
        [kind]: { ...(known?.[kind] as Json), ...inner, [field]: `${before}${inner[field]}` },
      };
    }
  }
  return { ...gathered.fields, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

/** Without members that say nothing: a stream begins with an empty text. */
const said = (message: unknown): Json =>
  Object.fromEntries(Object.entries(message as Json).filter(([key, value]) => value && key !== 'role'));

/** JSON with the ids that an item has where they do not change. */
const plainIds = (json: string): string => json.replaceAll(/"id":"(item_\d)_\d+"/g, '"id":"$1"');

const response = (output: Json[]): Json => ({ ...HEAD, status: 'completed', output, usage: USAGE });

describe('every answer', () => {
  it('is in a stream what it is in JSON, however it is cut', () => {
    forAll(RUNS, anOutput, aWay, fc.boolean(), (output, way, showsReasoning) => {
      const whole = answered(response(output), {}, { showsReasoning });
      const [choice] = whole.body.choices as Json[];
      const { chunks, isDone, kept } = streamed(eventsOf(output, way), ASKS, { showsReasoning });
      expect(JSON.parse(plainIds(JSON.stringify(said(messageOf(chunks)))))).toEqual(said(choice?.message));
      expect(choicesOf(chunks).at(-1)?.finish_reason).toBe(choice?.finish_reason);
      expect(chunks.at(-1)?.usage).toEqual(whole.body.usage);
      expect(isDone).toBe(true);
      expect(kept && plainIds(kept.json)).toBe(whole.kept?.json);
      expect(JSON.parse(plainIds(JSON.stringify(kept?.message ?? null)))).toEqual(
        whole.kept?.message ?? null,
      );
    });
  });

  it('is read by the stream helper of OpenAI', async () => {
    await forAllAsync(RUNS, anOutput, aWay, async (output, way) => {
      // The helper knows calls of functions alone.
      const items = output.filter(({ type }) => type !== 'custom_tool_call');
      const { frames } = streamed(eventsOf(items, way), ASKS);
      const client = new OpenAI({
        apiKey: 'none',
        fetch: async () =>
          new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } }),
      });
      const stream = client.chat.completions.stream({ model: 'gpt-6.1-sol', messages: [], ...ASKS });
      const completion = await stream.finalChatCompletion();
      const [choice] = answered(response(items)).body.choices as Json[];
      const { parsed: _, ...message } = asObject(completion.choices[0]?.message);
      const calls = (message.tool_calls as Json[] | undefined)?.map(({ function: called, ...call }) => {
        const { parsed_arguments: __, ...rest } = called as Json;
        return { ...call, function: rest };
      });
      expect(said({ ...message, tool_calls: calls })).toEqual(said(choice?.message));
      expect(completion.choices[0]?.finish_reason).toBe(choice?.finish_reason);
      expect(completion.usage).toEqual({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
    });
  });
});

/** A round of a conversation: what the model says and calls, and its results in any order. */
const aRound = fc.record({
  text: words,
  calls: fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'x'.repeat(70)), isCustom: fc.boolean() }), {
    maxLength: 3,
  }),
  isReversed: fc.boolean(),
});

describe('every conversation', () => {
  const conversation = fc.array(aRound, { maxLength: 8 }).map((rounds) => {
    const messages: Json[] = [{ role: 'developer', content: 'Be.' }];
    const expected: string[] = ['developer'];
    for (const [round, { text, calls, isReversed }] of rounds.entries()) {
      // Ids are used again in later rounds, and once in each.
      const ids = [...new Map(calls.map((call) => [call.id, call])).values()];
      messages.push(
        { role: 'user', content: `Round ${round}.` },
        {
          role: 'assistant',
          content: text,
          ...(ids.length === 0
            ? {}
            : {
                tool_calls: ids.map(({ id, isCustom }) =>
                  isCustom
                    ? { id, type: 'custom', custom: { name: 'sql', input: 'x' } }
                    : { id, type: 'function', function: { name: 'read', arguments: '{}' } },
                ),
              }),
        },
      );
      const answered = isReversed ? ids.toReversed() : ids;
      messages.push(...answered.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` })));
      const family = (isCustom: boolean): string => (isCustom ? 'custom_tool_call' : 'function_call');
      expected.push(
        'user',
        ...(text === '' ? [] : ['assistant']),
        ...ids.map(({ isCustom }) => family(isCustom)),
        ...answered.map(({ isCustom }) => `${family(isCustom)}_output`),
      );
    }
    return { messages, expected };
  });

  it('keeps its order and its pairs, in a body that the API takes', () => {
    forAll(RUNS, conversation, ({ messages, expected }) => {
      const body = bodyOf({ messages });
      expect(responsesViolations(body, { uniqueCalls: true })).toEqual([]);
      const input = body.input as Json[];
      expect(input.map(({ type, role }) => type ?? role)).toEqual(expected);
      for (const { call_id = '' } of input) expect(String(call_id).length).toBeLessThanOrEqual(64);
    });
  });

  it('begins with the same items when it is continued', () => {
    forAll(RUNS, conversation, fc.nat(), ({ messages }, cut) => {
      const shorter = inputOf(messages.slice(0, 1 + (cut % messages.length)));
      expect(inputOf(messages).slice(0, shorter.length)).toEqual(shorter);
    });
  });

  it('is sent again as the output that was kept, and nothing else', () => {
    forAll(RUNS, anOutput, (output) => {
      const { body, kept } = answered(response(output));
      const [choice] = body.choices as Json[];
      const message = choice?.message as Json;
      const results = ((message.tool_calls ?? []) as Json[]).map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: 'out',
      }));
      const messages = [{ role: 'user', content: 'Go.' }, message, ...results];
      const input = inputOf(messages, { kept: new Map(kept ? [[1, kept]] : []) });
      if (kept) expect(input.slice(1, input.length - results.length)).toEqual(JSON.parse(kept.json));
      const families = input.slice(input.length - results.length).map(({ type }) => type);
      const calls = input.filter(
        ({ type }) => String(type).endsWith('tool_call') || type === 'function_call',
      );
      expect(families).toEqual(calls.map(({ type }) => `${type}_output`));
    });
  });
});
