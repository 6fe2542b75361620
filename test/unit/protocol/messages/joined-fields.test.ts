/** What rounds have beside their blocks: the caller learns it of all rounds. */
import { describe, expect, it } from 'vitest';
import { goOnMessages } from '../../../../src/protocol/messages/calls.ts';
import type { MessageAnswer } from '../../../../tools/upstream/message.ts';
import { call, decoder, encoder, type Json, request, streamed, whole } from './joined.ts';

const box = (id: string) => ({ id, expires_at: '2026-12-01T00:00:00Z', skills: null });
const sampled = (input_tokens: number) => ({ type: 'message', input_tokens, output_tokens: 5 });
const compacted = { type: 'compaction', input_tokens: 900, output_tokens: 90 };
const usage = (iterations: unknown) => ({ input_tokens: 10, output_tokens: 5, iterations });
const cleared = (tokens: number) => ({
  type: 'clear_tool_uses_20250919',
  cleared_tool_uses: 1,
  cleared_input_tokens: tokens,
});
const dropped = (path: string) => ({ type: 'thinking_dropped', path, reason: 'prefix_binding_mismatch' });
const fetch = () => ({ toolCalls: [call('retrieve_ref')] });

const forms = [
  ['a body', whole],
  ['a stream', streamed],
] as const;

describe.each(forms)('%s of several rounds', (_, join) => {
  it.each<[what: string, first: Json | null, last: Json | null, expected: unknown]>([
    ['the first has run in', box('c1'), null, box('c1')],
    ['the last has run in', null, box('c2'), box('c2')],
    ['both have run in', box('c1'), box('c1'), box('c1')],
    ['has taken the place of an expired one', box('c1'), box('c2'), box('c2')],
    ['none has', null, null, null],
  ])('names the container that %s', (_, first, last, expected) => {
    const { message, turns } = join([
      { ...fetch(), fields: { container: first } },
      { content: 'So.', fields: { container: last } },
    ]);
    expect(message.container ?? null).toEqual(expected);
    expect(turns.map(({ container }) => container)).toEqual([first?.id]);
  });

  it('goes on in the container of any earlier round', () => {
    const { turns } = join([
      { ...fetch(), fields: { container: box('c1') } },
      { ...fetch(), fields: { container: null } },
      { content: 'So.' },
    ]);
    expect(turns.map(({ container }) => container)).toEqual(['c1', 'c1']);
  });

  it('has the iterations of all', () => {
    const answers = [
      { ...fetch(), usage: usage([compacted, sampled(10)]) },
      { ...fetch(), usage: usage(null) },
      { content: 'So.', usage: usage([sampled(20), sampled(30)]) },
    ];
    const { message } = join(answers);
    expect(message.usage).toMatchObject({
      output_tokens: 15,
      iterations: [compacted, sampled(10), sampled(20), sampled(30)],
    });
  });

  it('has what the API has cleared in each round', () => {
    const managed = (...applied_edits: object[]) => ({ context_management: { applied_edits } });
    const { message } = join([
      { ...fetch(), fields: managed(cleared(10)) },
      { ...fetch(), fields: managed() },
      { content: 'So.', fields: managed(cleared(20)) },
    ]);
    expect(message.context_management).toEqual({ applied_edits: [cleared(10), cleared(20)] });
    const early = join([{ ...fetch(), fields: managed(cleared(10)) }, { content: 'So.' }]);
    expect(early.message.context_management).toEqual({ applied_edits: [cleared(10)] });
  });

  it.each<[what: string, lists: (readonly Json[])[], expected: readonly Json[]]>([
    ['in the first', [[dropped('a')], []], [dropped('a')]],
    ['in the last', [[], [dropped('b')]], [dropped('b')]],
    [
      'in both, that of a block once',
      [[dropped('a')], [dropped('a'), dropped('b')]],
      [dropped('a'), dropped('b')],
    ],
    ['in none', [[], []], []],
  ])('has what the API has changed %s', (_, [first, last], expected) => {
    const { message } = join([
      { ...fetch(), fields: { input_transformations: first } },
      { content: 'So.', fields: { input_transformations: last } },
    ]);
    expect(message.input_transformations ?? []).toEqual(expected);
  });

  it('has no such field where no round has one', () => {
    const { message } = join([fetch(), { content: 'So.' }]);
    for (const name of ['container', 'context_management', 'input_transformations'])
      expect(message).not.toHaveProperty(name);
    expect(message.usage).not.toHaveProperty('iterations');
  });
});

describe('the next round', () => {
  const asked = (container?: unknown) =>
    encoder.encode(
      JSON.stringify({ ...request, ...(container === undefined ? {} : { container }), messages: [{}] }),
    );
  const skills = [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }];
  const roundOf = (first: MessageAnswer) => {
    const [turn] = whole([first, { content: 'So.' }]).turns;
    if (!turn) throw new Error('no round');
    return (body: Uint8Array): Json => JSON.parse(decoder.decode(goOnMessages(body, turn, ['Result.']).body));
  };
  const inBox = roundOf({ ...fetch(), fields: { container: box('c1') } });

  it.each<[what: string, given: unknown, named: unknown]>([
    ['nothing', undefined, 'c1'],
    ['null', null, 'c1'],
    ['the same one', 'c1', 'c1'],
    ['one that has expired', 'c0', 'c1'],
    ['skills', { skills }, { skills, id: 'c1' }],
    ['skills in a container', { id: 'c0', skills }, { id: 'c1', skills }],
    ['skills in no container', { id: null, skills }, { id: 'c1', skills }],
  ])('names the container of the answer where the caller names %s', (_, given, named) => {
    const body = inBox(asked(given));
    expect(body.container).toEqual(named);
    expect(body.messages).toHaveLength(3);
  });

  it('is as the caller has it where no code has run', () => {
    expect(roundOf(fetch())(asked({ skills })).container).toEqual({ skills });
    expect(roundOf(fetch())(asked())).not.toHaveProperty('container');
  });
});
