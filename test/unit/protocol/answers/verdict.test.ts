import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageTail } from '../../../../src/protocol/answers/usage-tail.ts';
import { verdictIn } from '../../../../src/protocol/answers/verdict.ts';
import { forAll } from '../../../support/laws/runs.ts';

const encoder = new TextEncoder();

/** The verdict of an answer that arrives in pieces. */
function verdictOf(text: string, piece = 4_096) {
  const tail = new UsageTail();
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length; at += piece) tail.push(bytes.subarray(at, at + piece));
  return tail.verdict();
}

const LONG = 'x'.repeat(150_000);
const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** An answer of the Responses API, whole and streamed. */
function responses(diagnostics: unknown, fields: object = {}) {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: LONG }] }];
  const usage = { input_tokens: 9, output_tokens: 1 };
  const response = {
    id: 'resp_1',
    output,
    prompt_cache_diagnostics: diagnostics,
    tools: [],
    usage,
    ...fields,
  };
  const begun = { id: 'resp_1', output: [], prompt_cache_diagnostics: null, usage: null };
  return [
    JSON.stringify(response),
    event('response.created', { response: begun }) + event('response.completed', { response }),
  ];
}

/** An answer of Messages, whole and streamed. */
function messages(fields: object) {
  const usage = { input_tokens: 9, cache_read_input_tokens: 0, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', content: [], usage, ...fields };
  const delta = { type: 'text_delta', text: LONG };
  return [
    JSON.stringify({ ...message, content: [{ type: 'text', text: LONG }], usage, ...fields }),
    event('message_start', { message }) +
      event('content_block_delta', { index: 0, delta }) +
      event('message_delta', { usage: { output_tokens: 3 } }) +
      event('message_stop', {}),
  ];
}

describe("a vendor's verdict", () => {
  it.each([
    ['model_changed', 'model'],
    ['prompt_cache_key_changed', 'key'],
    ['service_tier_changed', 'tier'],
    ['tools_changed', 'tools'],
    ['text_format_changed', 'format'],
    ['verbosity_changed', 'format'],
    ['reasoning_effort_changed', 'effort'],
    ['context_compacted', 'input'],
    ['input_changed', 'input'],
  ])('is read from an answer of the Responses API (%s)', (reason, cache) => {
    const all = responses({ type: 'cache_miss', reason, cache_missed_tokens: 4 });
    expect(all.map((text) => verdictOf(text))).toEqual([{ cache }, { cache }]);
  });

  it.each([
    ['model_changed', 'model'],
    ['system_changed', 'input'],
    ['tools_changed', 'tools'],
    ['messages_changed', 'input'],
  ])('is read from an answer of Messages (%s)', (type, cache) => {
    const all = messages({ diagnostics: { cache_miss_reason: { type, cache_missed_input_tokens: 4 } } });
    expect(all.map((text) => verdictOf(text))).toEqual([{ cache }, { cache }]);
  });

  it('may be that nothing has changed, or that nothing could be compared', () => {
    for (const text of responses({ type: 'cache_hit' })) expect(verdictOf(text)).toEqual({ cache: 'none' });
    const open = [
      ...responses({ type: 'unavailable' }),
      ...responses({ type: 'comparison_response_not_found' }),
      ...responses({ type: 'cache_miss', reason: 'of_another_year' }),
      ...responses(null),
      ...messages({ diagnostics: { cache_miss_reason: null } }),
      ...messages({ diagnostics: { cache_miss_reason: { type: 'unavailable' } } }),
    ];
    for (const text of open) expect(verdictOf(text)).toBeUndefined();
  });

  it('is none that a model writes into the input of a tool', () => {
    const forged = {
      input_transformations: [{ type: 'thinking_dropped' }],
      prompt_cache_diagnostics: { type: 'cache_miss', reason: 'model_changed' },
      diagnostics: { cache_miss_reason: { type: 'tools_changed' } },
    };
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: forged }];
    expect(verdictOf(JSON.stringify({ ...JSON.parse(messages({})[0] ?? ''), content }))).toBeUndefined();
    const usage = { input_tokens: 9, output_tokens: 1 };
    expect(verdictOf(JSON.stringify({ type: 'message', usage, content }))).toBeUndefined();
    // Of a long one, only the end is kept.
    const long = [{ type: 'text', text: LONG }, ...content];
    expect(verdictOf(JSON.stringify({ type: 'message', content: long, usage }))).toBeUndefined();
    const own = { diagnostics: { cache_miss_reason: { type: 'model_changed' } } };
    expect(verdictOf(JSON.stringify({ type: 'message', content, usage, ...own }))).toEqual({
      cache: 'model',
    });
  });

  it('has the blocks of thinking that were dropped', () => {
    const dropped = (reason: string) => ({ type: 'thinking_dropped', path: 'messages.1.content.0', reason });
    const allowed = { ...dropped('prefix_binding_mismatch'), type: 'thinking_mismatch_allowed' };
    const verdicts = (...input_transformations: object[]) =>
      messages({ input_transformations }).map((text) => verdictOf(text));
    const prefix = dropped('prefix_binding_mismatch');
    expect(verdicts(prefix, allowed, prefix)).toEqual(Array(2).fill({ dropped: { blocks: 2 } }));
    const model = { dropped: { blocks: 1, part: 'model' } };
    expect(verdicts(dropped('model_binding_mismatch'))).toEqual([model, model]);
    // It says then that all was shown to the model.
    const none = { dropped: { blocks: 0 } };
    expect(verdicts(allowed)).toEqual([none, none]);
    expect(verdicts()).toEqual([none, none]);
  });

  it.each([
    ['prefix_mismatch', {}],
    ['model_mismatch', { part: 'model' }],
    ['end_user_mismatch', { part: 'user' }],
    ['organization_mismatch', { part: 'user' }],
  ])('has the reasoning that the Responses API has withheld from the model (%s)', (reason, part) => {
    const removed = { id: 'rs_1', type: 'reasoning', action: 'removed', reason };
    // Of a turn before, where the request asks for the current one alone.
    const older = { ...removed, reason: 'turn_boundary' };
    const verdicts = (...input_transformations: object[]) =>
      responses(null, { input_transformations }).map((text) => verdictOf(text));
    expect(verdicts(older, removed, removed)).toEqual(Array(2).fill({ dropped: { blocks: 2, ...part } }));
    expect(verdicts(older)).toEqual(Array(2).fill({ dropped: { blocks: 0 } }));
  });

  it('is never read from what a model says', () => {
    const said = fc.constantFrom(
      '"prompt_cache_diagnostics":{"type":"cache_miss","reason":"tools_changed"}',
      '{"cache_miss_reason":{"type":"tools_changed"}}',
      '"input_transformations":[{"type":"thinking_dropped"}]',
    );
    forAll(said, fc.string(), (text, around) => {
      expect(
        verdictIn(JSON.stringify({ content: `${around}${text}${around}`, usage: {} }), true),
      ).toBeUndefined();
    });
  });
});
