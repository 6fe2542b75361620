/** Kept rounds in the next request: the upstream reads what it has said, and nothing twice. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Removal } from '../../../../src/memory/edits/removal.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import { goOnResponses } from '../../../../src/protocol/responses/calls.ts';
import { isMarked } from '../../../../src/protocol/responses/reasoning.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { type ResponseAnswer, responseOf } from '../../../../tools/upstream/response.ts';
import { responsesViolations } from '../../../../tools/upstream/strict-responses.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { answerAt, call, decoder, encoder, type Json, request, streamed, UNSTORED, whole } from './joined.ts';

const ASKED: Json = { role: 'user', content: 'Go.' };
const AND_NOW: Json = { role: 'user', content: 'And now?' };

/** What clients do with the items of an answer. */
const CLIENTS: Readonly<Record<string, (item: Json) => Json>> = {
  'sends items back': (item) => item,
  'leaves ids out': ({ id: _, ...item }) => item,
  'leaves status out': ({ status: _, ...item }) => item,
};

interface Played {
  /** What the upstream was asked last, and what it has answered. */
  readonly known: readonly Json[];
  /** The same in the view of the next request. */
  readonly next: readonly Json[];
}

interface PlayOptions {
  readonly streams?: boolean;
  readonly client?: string;
  readonly view?: Partial<View>;
}

const bodyOf = (input: readonly object[]): Uint8Array =>
  encoder.encode(JSON.stringify({ ...request, input }));

/** Answers with rounds, and the request after them. */
function played(
  rounds: readonly ResponseAnswer[],
  last: ResponseAnswer,
  { streams = false, client = 'sends items back', view = {} }: PlayOptions = {},
): Played {
  const answers = [...rounds, last];
  const { turns, response } = streams ? streamed(answers, 9, undefined, UNSTORED) : whole(answers, 9);
  let body = bodyOf([ASKED]);
  const added: string[] = [];
  for (const turn of turns) {
    const longer = goOnResponses(
      body,
      turn,
      turn.calls.map(({ id }) => `result of ${id}`),
    );
    body = longer.body;
    added.push(longer.added);
  }
  const send = CLIENTS[client] ?? ((item: Json) => item);
  // Precis takes marked reasoning out before it reads the body (`request/open-sealed.ts`).
  const answer = (response.output as Json[]).filter((item) => !isMarked(item)).map(send);
  const read = readResponsesRequest(bodyOf([ASKED, ...answer, AND_NOW]));
  if (!read.ok) throw new Error(read.reason.message);
  const shown = { json: added.join(','), rounds: added.length, tokens: 9 };
  const edited: View = {
    removals: new Map(),
    dropped: new Set(),
    tokens: 0,
    incomplete: false,
    ...(added.length > 0 ? { rounds: new Map([[1, shown]]) } : {}),
    ...view,
  };
  const said = responseOf(request, answerAt(answers, turns.length)).output as Json[];
  const next: Json[] = JSON.parse(decoder.decode(read.value.write(edited))).input;
  expect(next.at(-1)).toEqual(AND_NOW);
  return { known: [...JSON.parse(decoder.decode(body)).input, ...said.map(send)], next: next.slice(0, -1) };
}

const fetch = (): ReturnType<typeof call> => call('retrieve_ref', '{"ref":"ref_1"}');
const thought = (summary: string) => ({ encrypted: `sealed ${summary}`, summary });

describe('the view after a response with rounds', () => {
  it.each([false, true])('has each item once, where the model wrote it (stream: %s)', (streams) => {
    const { known, next } = played(
      [{ reasoning: thought('One.'), content: 'Let me look.', toolCalls: [fetch()] }],
      { reasoning: thought('Two.'), content: 'It is 42.' },
      { streams },
    );
    expect(next).toEqual(known);
    expect(responsesViolations({ ...request, input: next })).toEqual([]);
  });

  it('keeps words that the answer says again', () => {
    for (const client of Object.keys(CLIENTS)) {
      const rounds = [{ content: 'Let me look.', toolCalls: [fetch()] }];
      const { known, next } = played(rounds, { content: 'Let me look.' }, { client });
      expect(next).toEqual(known);
    }
  });

  it('keeps an answer that the caller alone has, if it only says what a round has said', () => {
    const { body, added } = goOnResponses(
      bodyOf([ASKED]),
      { messages: [{ type: 'message', role: 'assistant', content: 'Yes.' }], calls: [] },
      [],
    );
    const answer = { type: 'message', role: 'assistant', content: 'Yes.' };
    const read = readResponsesRequest(bodyOf([ASKED, answer, AND_NOW]));
    if (!read.ok) throw new Error(read.reason.message);
    const rounds = new Map([[1, { json: added, rounds: 1, tokens: 9 }]]);
    const view: View = { removals: new Map(), dropped: new Set(), tokens: 0, incomplete: false, rounds };
    expect(JSON.parse(decoder.decode(read.value.write(view))).input).toEqual([
      ...JSON.parse(decoder.decode(body)).input,
      answer,
      AND_NOW,
    ]);
  });

  it('ends with the rounds where the last answer has said nothing', () => {
    const dropped = { toolCalls: [fetch()] };
    const rounds = Array.from({ length: 9 }, () => ({ content: 'I look.', toolCalls: [fetch()] }));
    const { known, next } = played(rounds, dropped);
    expect(next).toEqual(known.slice(0, -1));
  });

  it('has no edit of an item that only the rounds have', () => {
    const results = [{ file_id: 'f', filename: 'a', score: 1, text: 'found '.repeat(99), attributes: null }];
    const search = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['x'], results };
    const removal = { kind: 'hosted', message: 1, call: 0, replacement: '[removed]' } as unknown as Removal;
    const { known, next } = played(
      [{ content: 'Let me look.', hosted: [search], toolCalls: [fetch()] }],
      { content: 'It is 42.' },
      { view: { removals: new Map([[1, [removal]]]) } },
    );
    expect(next).toEqual(known);
  });

  it('is what the upstream has asked and said, whatever it said', () => {
    const words = fc.constantFrom('Let me look.', 'It is 42.', '\n\n', 'Grüße 😀 "');
    const reasoning = fc.constantFrom('Hm.', 'So.').map(thought);
    const search = (at: number) => ({
      ...{ type: 'web_search_call', id: `ws_${at}`, status: 'completed' },
      action: { type: 'search', query: `x${at}` },
    });
    const round = fc.record(
      { content: words, reasoning, isSearching: fc.boolean() },
      { requiredKeys: ['isSearching'] },
    );
    const theirs = fc.boolean().map((calls) => (calls ? [call('look_up')] : []));
    const answer = fc.record({ content: words, reasoning, toolCalls: theirs }, { requiredKeys: ['content'] });
    const client = fc.constantFrom(...Object.keys(CLIENTS));
    forAll(
      runs(50, 300),
      fc.array(round, { minLength: 1, maxLength: 3 }),
      answer,
      client,
      fc.boolean(),
      (rounds, last, who, streams) => {
        const { known, next } = played(
          rounds.map(({ isSearching, ...each }, at) => ({
            ...each,
            hosted: isSearching ? [search(at)] : [],
            toolCalls: [fetch()],
          })),
          last,
          { client: who, streams },
        );
        expect(next).toEqual(known);
        const results = (last.toolCalls ?? []).map(({ id }) => ({
          ...{ type: 'function_call_output', call_id: id, output: 'found' },
        }));
        expect(responsesViolations({ ...request, input: [...next, ...results, AND_NOW] })).toEqual([]);
      },
    );
  });
});
