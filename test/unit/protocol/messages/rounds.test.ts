/** Kept rounds in the next request: the upstream reads what it has said, and nothing twice. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { View } from '../../../../src/memory/plan/view.ts';
import { goOnMessages } from '../../../../src/protocol/messages/calls.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import type { MessageAnswer } from '../../../../tools/upstream/message.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { call, decoder, encoder, type Json, streamed } from './joined.ts';

const ASKED = { role: 'user', content: 'Go.' };
const bodyOf = (messages: readonly object[]): Uint8Array =>
  encoder.encode(JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 9, messages }));

interface Played {
  /** What the upstream was asked last, and what it has answered. */
  readonly known: readonly Json[];
  /** The same in the view of the next request. */
  readonly next: readonly Json[];
}

/** Answers with rounds, and the request after them. */
function played(answers: readonly MessageAnswer[], last: MessageAnswer): Played {
  const { turns, message } = streamed([...answers, last]);
  let body = bodyOf([ASKED]);
  const rounds: string[] = [];
  for (const turn of turns) {
    const { body: longer, added } = goOnMessages(
      body,
      turn,
      turn.calls.map(({ id }) => `result of ${id}`),
    );
    body = longer;
    rounds.push(added);
  }
  const answer = { role: 'assistant', content: message.content };
  const read = readMessagesRequest(bodyOf([ASKED, answer, { role: 'user', content: 'And now?' }]));
  if (!read.ok) throw new Error(read.reason.message);
  const shown = { json: rounds.join(','), rounds: rounds.length, tokens: 9 };
  const view: View = {
    removals: new Map(),
    dropped: new Set(),
    tokens: 0,
    incomplete: false,
    ...(rounds.length > 0 ? { rounds: new Map([[1, shown]]) } : {}),
  };
  const content = (streamed([last]).message.content as Json[]).filter(
    ({ type, text }) => type !== 'text' || String(text).trim() !== '',
  );
  return {
    known: [...JSON.parse(decoder.decode(body)).messages, { role: 'assistant', content }],
    next: JSON.parse(decoder.decode(read.value.write(view))).messages.slice(0, -1),
  };
}

const fetch = (): ReturnType<typeof call> => call('retrieve_ref', '{"ref":"ref_1"}');

describe('the view after an answer with rounds', () => {
  it('has thinking after exactly what it was thought after', () => {
    const { known, next } = played(
      [{ thinking: { text: 'One.', signature: 'sig1' }, content: 'Let me look.', toolCalls: [fetch()] }],
      { thinking: { text: 'Two.', signature: 'sig2' }, content: 'It is 42.' },
    );
    expect(next).toEqual(known);
  });

  it('keeps words that the answer says again', () => {
    const { known, next } = played([{ content: 'Let me look.', toolCalls: [fetch()] }], {
      content: 'Let me look.',
    });
    expect(next).toEqual(known);
  });

  it('keeps the last words where they are all that was said', () => {
    const { next } = played([{ content: 'Let me look.', toolCalls: [fetch()] }], {
      thinking: { text: '', signature: '' },
      content: '',
    });
    expect(next.at(-1)).toEqual({ role: 'assistant', content: expect.arrayContaining([expect.anything()]) });
  });

  it('is what the upstream has asked and said, whatever it said', () => {
    let signatures = 0;
    const words = fc.constantFrom('Let me look.', 'It is 42.', '\n\n', 'Grüße 😀 \u2028"');
    const thought = fc
      .option(fc.string({ unit: 'grapheme' }), { nil: undefined })
      .map((text) => ({ ...(text === undefined ? {} : { text }), signature: `sig${signatures++}` }));
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
    const round = fc.record(
      { content: words, thinking: thought, blocks: fc.constantFrom([search, found], []) },
      { requiredKeys: ['blocks'] },
    );
    const answer = fc.record(
      { content: words.filter((text) => text.trim() !== ''), thinking: thought },
      { requiredKeys: ['content'] },
    );
    forAll(runs(50, 300), fc.array(round, { minLength: 1, maxLength: 3 }), answer, (rounds, last) => {
      const { known, next } = played(
        rounds.map((each) => ({ ...each, toolCalls: [fetch()] })),
        last,
      );
      expect(next).toEqual(known);
    });
  });
});
