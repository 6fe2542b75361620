/**
 * Reasoning in a loop of tools: an upstream that refuses an item without the reasoning that led to
 * it, reasoning without its item, and reasoning that it has not issued, takes every next request.
 */
import { describe, expect, it } from 'vitest';
import type { KeptOutput } from '../../../../../src/protocol/bridges/bridge.ts';
import { responsesViolations } from '../../../../../tools/upstream/strict-responses.ts';
import { answered, bodyOf, choicesOf, type Json, streamed } from './bridged.ts';

const HEAD = { id: 'resp_7', created_at: 1_790_000_000, model: 'gpt-6-astra', status: 'completed' };
const TOOLS = [
  { type: 'function', function: { name: 'read', parameters: { type: 'object', properties: {} } } },
  { type: 'custom', custom: { name: 'sql' } },
];

/** What an answer is made of, by the turn that it is the answer of. */
const reasoning = (name: string): Json => ({
  type: 'reasoning',
  id: `rs_${name}`,
  summary: [],
  encrypted_content: `thought ${name}`,
});
const message = (name: string, phase: string): Json => ({
  type: 'message',
  id: `msg_${name}`,
  role: 'assistant',
  status: 'completed',
  phase,
  content: [{ type: 'output_text', text: `Words ${name}.`, annotations: [], logprobs: [] }],
});
const call = (name: string, called = 'read', args = '{}'): Json => ({
  type: 'function_call',
  id: `fc_${name}`,
  call_id: `call_${name}`,
  name: called,
  arguments: args,
  status: 'completed',
});
const custom = (name: string): Json => ({
  type: 'custom_tool_call',
  id: `ctc_${name}`,
  call_id: `call_${name}`,
  name: 'sql',
  input: 'select 1',
  status: 'completed',
});
const search = (name: string): Json => ({
  type: 'web_search_call',
  id: `ws_${name}`,
  status: 'completed',
  action: { type: 'search', query: 'q' },
});
const PACK = JSON.stringify({
  tool_uses: ['read', 'read'].map((name) => ({ recipient_name: `functions.${name}`, parameters: {} })),
});

const SHAPES: Readonly<Record<string, (turn: number) => Json[]>> = {
  'a call': (n) => [reasoning(`${n}`), call(`${n}`)],
  'a preamble and a call': (n) => [reasoning(`${n}`), message(`${n}`, 'commentary'), call(`${n}`)],
  'calls at once': (n) => [reasoning(`${n}`), call(`${n}a`), custom(`${n}b`), call(`${n}c`)],
  'reasoning between calls': (n) => [
    reasoning(`${n}a`),
    call(`${n}a`),
    reasoning(`${n}b`),
    message(`${n}`, 'commentary'),
    custom(`${n}b`),
  ],
  'a hosted call': (n) => [reasoning(`${n}a`), search(`${n}`), reasoning(`${n}b`), call(`${n}`)],
  'calls in one': (n) => [reasoning(`${n}`), call(`${n}`, 'parallel', PACK)],
  'texts alone': (n) => [
    reasoning(`${n}a`),
    message(`${n}a`, 'commentary'),
    reasoning(`${n}b`),
    message(`${n}b`, 'final_answer'),
  ],
};

/** An upstream that knows what it has thought, and a client that knows nothing of it. */
class Loop {
  readonly messages: Json[] = [
    { role: 'developer', content: 'Be.' },
    { role: 'user', content: 'Go.' },
  ];
  readonly kept = new Map<number, KeptOutput>();
  private readonly issued = new Set<string>();
  private readonly reasoned = new Map<string, string>();

  body(kept: ReadonlyMap<number, KeptOutput> = this.kept): Json {
    return bodyOf({ messages: this.messages, tools: TOOLS }, { kept });
  }

  violations(body: Json): string[] {
    const { issued, reasoned } = this;
    return responsesViolations(body, { issued, reasoned, strictByDefault: true, jsonArguments: true });
  }

  /** How much of the reasoning so far is not in a body. */
  lost(body: Json): number {
    const sent = (body.input as Json[]).filter(({ type }) => type === 'reasoning');
    return this.issued.size - sent.length;
  }

  /** The upstream answers, and the client sends the answer back with what follows it. */
  answer(output: readonly Json[], streams: boolean): void {
    let thought = '';
    for (const { type, id, call_id, encrypted_content } of output) {
      if (type === 'reasoning') {
        thought = String(id);
        this.issued.add(String(encrypted_content));
      } else for (const name of [id, call_id]) if (name) this.reasoned.set(String(name), thought);
    }
    const { said, kept } = streams ? this.streamed(output) : this.whole(output);
    if (kept) this.kept.set(this.messages.length, kept);
    this.messages.push({ role: 'assistant', ...said });
    const calls = (said.tool_calls ?? []) as Json[];
    for (const { id } of calls) this.messages.push({ role: 'tool', tool_call_id: id, content: 'out' });
    if (calls.length === 0) this.messages.push({ role: 'user', content: 'More.' });
  }

  private whole(output: readonly Json[]): { said: Json; kept: KeptOutput | undefined } {
    const { body, kept } = answered({ ...HEAD, output });
    return { said: ((body.choices as Json[])[0] as Json).message as Json, kept };
  }

  private streamed(output: readonly Json[]): { said: Json; kept: KeptOutput | undefined } {
    const { chunks, kept } = streamed([
      { type: 'response.created', response: { ...HEAD, status: 'in_progress', output: [] } },
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response: { ...HEAD, output } },
    ]);
    const deltas = choicesOf(chunks).map(({ delta }) => delta as Json);
    const calls = deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as Json[]);
    const content = deltas.map((delta) => delta.content ?? '').join('');
    return { said: { content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }, kept };
  }
}

describe.each(Object.entries(SHAPES))('an answer of %s', (_, outputOf) => {
  describe.each([
    ['in JSON', false],
    ['in a stream', true],
  ])('%s', (__, streams) => {
    it.each([1, 2, 5, 8])('is sent back with its reasoning for %i turns', (turns) => {
      const loop = new Loop();
      for (let turn = 0; turn < turns; turn++) {
        loop.answer(outputOf(turn), streams);
        const body = loop.body();
        expect(loop.violations(body)).toEqual([]);
        expect(loop.lost(body)).toBe(0);
      }
    });
  });

  it('loses its reasoning where nothing is kept', () => {
    const loop = new Loop();
    loop.answer(outputOf(0), false);
    expect(loop.lost(loop.body(new Map()))).toBeGreaterThan(0);
  });
});

it('is refused where a call comes back without the reasoning that led to it', () => {
  const loop = new Loop();
  loop.answer([reasoning('0'), call('0')], false);
  expect(loop.violations(loop.body(new Map()))).toEqual([
    'input[2]: item of type function_call was provided without its required reasoning item: rs_0',
  ]);
});
