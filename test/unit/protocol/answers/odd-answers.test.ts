/** Answers in shapes that no specification has. Answers that can't be read are passed on. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerFormat } from '../../../../src/protocol/answers/answer-format.ts';
import { dataFrame, eventFrame, Frame } from '../../../../src/protocol/answers/sse.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { mutated, mutations } from '../../../support/conversations/mutations.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';

const OURS: ReadonlySet<string> = new Set(['retrieve_ref']);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const request = encoder.encode('{"messages":[],"input":[]}');

type Json = Record<string, unknown>;

const frameOf = (event: Json): Uint8Array =>
  typeof event?.type === 'string' && event.type !== ''
    ? eventFrame(event.type, JSON.stringify(event))
    : dataFrame(JSON.stringify(event));

/**
 * The answers as the caller sees them, each a list of events, and the bodies that were sent between
 * them.
 */
function streamed(format: AnswerFormat, answers: readonly (readonly unknown[])[]): string {
  const joined = format.joinStreams(OURS, () => true);
  const seen = format.stream(() => ({}) as never);
  const gathered = format.gather();
  let text = '';
  const show = (frames: readonly Frame[]): void => {
    for (const { bytes } of frames) text += decoder.decode(bytes);
  };
  for (const events of answers) {
    for (const event of events) {
      const frame = event === '[DONE]' ? dataFrame(event) : frameOf(event as Json);
      const data = event === '[DONE]' ? event : JSON.stringify(event);
      for (const shown of joined.take(new Frame(frame))) {
        gathered.push(Frame.of(data));
        show(seen.push(shown));
      }
    }
    joined.end();
    if (!joined.turn || !joined.isThrough) break;
    format.goOn(
      request,
      joined.turn,
      joined.turn.calls.map(() => 'A result.'),
    );
    joined.begin();
  }
  gathered.text();
  void joined.usage;
  show(seen.end().frames);
  return text;
}

/** The caller's body for these answers. */
function whole(format: AnswerFormat, answers: readonly unknown[]): string {
  const joined = format.joinBodies(OURS, () => true);
  for (const answer of answers) {
    const body = encoder.encode(JSON.stringify(answer));
    format.text(body);
    const taken = joined.take(body);
    if (taken instanceof Uint8Array) return decoder.decode(taken);
    format.goOn(
      request,
      taken,
      taken.calls.map(() => 'A result.'),
    );
  }
  return '';
}

/** Makes unique texts, so that each can be found again: `<7>`. */
function marker(): () => string {
  let next = 0;
  return () => `<${next++}>`;
}

const MARK = /<\d+>/g;
const marksIn = (value: unknown): string[] => JSON.stringify(value)?.match(MARK) ?? [];

/** @param name of the tool that is called first */
function chatChunks(mark: () => string, name: string): Json[] {
  const chunk = (delta: Json, finish_reason: string | null = null, more: Json = {}): Json => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
  const call = (index: number, id: string, called: string): Json => ({
    tool_calls: [{ index, id, type: 'function', function: { name: called, arguments: '' } }],
  });
  const args = (index: number): Json => ({ tool_calls: [{ index, function: { arguments: mark() } }] });
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: mark() }),
    chunk({ reasoning_content: mark(), content: mark() }),
    chunk(call(0, 'a', name)),
    chunk(args(0)),
    chunk(call(1, 'b', 'search')),
    chunk(args(1)),
    chunk({ content: mark() }, 'tool_calls', { usage: { prompt_tokens: 3, completion_tokens: 1 } }),
  ];
}

function chatBody(mark: () => string, name: string): Json {
  const call = (id: string, called: string): Json => ({
    id,
    type: 'function',
    function: { name: called, arguments: mark() },
  });
  const message = { role: 'assistant', content: mark(), tool_calls: [call('a', name), call('b', 'search')] };
  return {
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 1 } },
  };
}

function responseBody(mark: () => string, name: string): Json {
  const call = (id: string, called: string): Json => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: called,
    arguments: mark(),
    status: 'completed',
  });
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    tools: [{ type: 'function', name: 'search' }],
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: mark() }] },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: mark() }] },
      call('a', name),
      call('b', 'search'),
    ],
    usage: { input_tokens: 3, output_tokens: 1, output_tokens_details: { reasoning_tokens: 1 } },
  };
}

function responseEvents(mark: () => string, name: string): Json[] {
  const { output, ...response } = responseBody(mark, name) as Json & { output: Json[] };
  let sequence_number = 0;
  const event = (type: string, fields: Json): Json => ({
    type,
    sequence_number: sequence_number++,
    ...fields,
  });
  return [
    event('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
    ...output.flatMap((item, output_index) => [
      event('response.output_item.added', { output_index, item }),
      event('response.output_text.delta', { output_index, item_id: item.id, delta: mark() }),
      event('response.output_item.done', { output_index, item }),
    ]),
    event('response.completed', { response: { ...response, output } }),
  ];
}

function messageBody(mark: () => string, name: string): Json {
  const call = (id: string, called: string): Json => ({
    type: 'tool_use',
    id,
    name: called,
    input: { ref: mark() },
  });
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: mark(), signature: mark() },
      { type: 'text', text: mark(), citations: [{ cited_text: mark() }] },
      call('a', name),
      call('b', 'search'),
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 1, output_tokens_details: { thinking_tokens: 1 } },
  };
}

function messageEvents(mark: () => string, name: string): Json[] {
  const { content, stop_reason, usage, ...message } = messageBody(mark, name) as Json & { content: Json[] };
  return [
    { type: 'message_start', message: { ...message, content: [], usage } },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: mark() } },
      { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_delta', index, delta: { type: 'citations_delta', citation: { n: 1 } } },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}

const RUNS = { numRuns: runs(125, 2_000) };

const FORMATS = [
  { name: 'chat', format: chatFormat, events: chatChunks, body: chatBody, end: ['[DONE]'] },
  { name: 'responses', format: responsesFormat, events: responseEvents, body: responseBody, end: [] },
  { name: 'messages', format: messagesFormat, events: messageEvents, body: messageBody, end: [] },
] as const;

describe.each(FORMATS)('answers of $name with anything in them', ({ format, events, body, end }) => {
  const names = fc.constantFrom('retrieve_ref', 'search');

  it('F33: never make the joining of streams throw', () => {
    forAll(RUNS, fc.array(names, { minLength: 1, maxLength: 3 }), mutations, (called, changes) => {
      const mark = marker();
      const answers = called.map((name) => mutated<unknown[]>(events(mark, name), changes));
      streamed(
        format,
        answers.map((answer) => [...(Array.isArray(answer) ? answer : [answer]), ...end]),
      );
    });
  });

  it('F33: never make the joining of bodies throw', () => {
    forAll(RUNS, fc.array(names, { minLength: 1, maxLength: 3 }), mutations, (called, changes) => {
      const mark = marker();
      whole(
        format,
        called.map((name) => mutated<unknown>(body(mark, name), changes)),
      );
    });
  });

  it('F33: come through in full where no call of Precis’s tools is in them', () => {
    forAll(RUNS, mutations, (changes) => {
      const sent = mutated<unknown>(body(marker(), 'search'), changes);
      expect(whole(format, [sent])).toBe(JSON.stringify(sent));
    });
  });
});

describe('null in the calls of an answer', () => {
  const call = { id: 'a', type: 'function', function: { name: 'retrieve_ref', arguments: '{"ref":"x"}' } };
  const answered = { id: 'a', name: 'retrieve_ref', arguments: '{"ref":"x"}' };

  it('F33: does not keep a body’s call of Precis’s tool from being answered', () => {
    const message = { role: 'assistant', content: null, tool_calls: [null, call] };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    const taken = chatFormat.joinBodies(OURS, () => true).take(encoder.encode(body));
    expect(taken).toMatchObject({ calls: [answered], messages: [{ tool_calls: [call] }] });
  });

  it('F33: does not keep a stream’s call of Precis’s tool from being answered', () => {
    const joined = chatFormat.joinStreams(OURS, () => true);
    const take = (delta: Json, finish_reason: string | null) => {
      const data = JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] });
      return joined.take(Frame.of(data));
    };
    expect(take({ tool_calls: [null, { index: 0, ...call }] }, null)).toEqual([]);
    expect(take({}, 'tool_calls')).toEqual([]);
    expect(joined.turn?.calls).toEqual([answered]);
  });

  it('F33: stays in a joined response, and is never forwarded', () => {
    const ours = { type: 'function_call', call_id: 'a', name: 'retrieve_ref', arguments: '{}' };
    const body = encoder.encode(JSON.stringify({ status: 'completed', output: [null, ours, 'odd'] }));
    const dropped = responsesFormat.joinBodies(OURS, () => false).take(body);
    expect(JSON.parse(decoder.decode(dropped as Uint8Array)).output).toEqual([null, 'odd']);
    expect(responsesFormat.joinBodies(OURS, () => true).take(body)).toMatchObject({ messages: [ours] });
  });

  it('F33: reads arguments that are an object, as some servers send them', () => {
    const odd = { ...call, function: { name: 'retrieve_ref', arguments: { ref: 'x' } } };
    const message = { role: 'assistant', content: null, tool_calls: [odd] };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    const taken = chatFormat.joinBodies(OURS, () => true).take(encoder.encode(body));
    expect(taken).toMatchObject({ calls: [answered], messages: [{ tool_calls: [call] }] });
  });
});

describe.each([
  ['chat', chatFormat, chatChunks, ['[DONE]']],
  ['messages', messagesFormat, messageEvents, []],
] as const)('a stream of %s with anything in it', (_, format, events, end) => {
  it('F33: loses no text and no call where none of Precis’s is in it', () => {
    forAll(RUNS, mutations, (changes) => {
      const sent = mutated<unknown>(events(marker(), 'search'), changes);
      const list = Array.isArray(sent) ? sent : [sent];
      const shown = streamed(format, [[...list, ...end]]);
      for (const mark of marksIn(list)) expect(shown).toContain(mark);
    });
  });
});
