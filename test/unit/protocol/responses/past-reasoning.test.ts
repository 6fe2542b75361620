import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { responsesViolations } from '../../../../tools/upstream/strict-responses.ts';
import { type AutoRequest, autoStrategy } from '../../../support/conversations/arbitrary-conversation.ts';
import { lines } from '../../../support/conversations/chat.ts';
import { asks, type Item, requestsIn } from '../../../support/conversations/hosted-items.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, viewOfRequest } from '../../../support/laws/view-of.ts';

const CLEARING = {
  mode: 'auto',
  min_reclaim_tokens: 0,
  low_watermark_pct: 0,
  compact_keep: 0,
} as const satisfies MemoryStrategyRequest;

const encrypted = 'gAAAAABo'.repeat(60);

const reasoning = (id: string, more: Item = {}): Item => ({
  type: 'reasoning',
  id: `rs_${id}`,
  summary: [],
  encrypted_content: encrypted,
  ...more,
});
const says = (id: string, text = 'Well.'): Item => ({
  type: 'message',
  id: `msg_${id}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const asksTool = (id: string, type = 'function_call'): Item => ({
  id: `fc_${id}`,
  type,
  call_id: `call_${id}`,
  name: 'look',
  ...(type === 'function_call' ? { arguments: '{"at":1}' } : { input: 'go();' }),
  status: 'completed',
});
const tells = (id: string, output = 'Nothing.'): Item => ({
  type: 'function_call_output',
  call_id: `call_${id}`,
  output,
});

/** An answer's items, each of which the upstream knows to follow the reasoning before it. */
function reasonedIn(input: readonly Item[]): Map<string, string> {
  const reasoned = new Map<string, string>();
  let thought: unknown;
  for (const { type = 'message', id, call_id, role } of input) {
    if (type === 'reasoning') thought = id;
    else if (role === 'user' || String(type).endsWith('_output')) thought = undefined;
    else if (typeof thought === 'string')
      for (const name of [id, call_id]) if (typeof name === 'string') reasoned.set(name, thought);
  }
  return reasoned;
}

function viewOfItems(input: readonly Item[], strategy: AutoRequest, model = 'gpt-5.6') {
  const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify({ model, store: false, input })));
  if (!read.ok) throw new Error(read.reason.message);
  const whole = viewOfRequest(read.value, { mode: 'auto', token_budget: 1_000_000 });
  // One token over the hard budget, and no summary and no trim is ready.
  const token_budget = (whole.report.tokens?.before ?? 0) - 1;
  const options = { words: () => undefined, isStored: () => false };
  const viewed = viewOfRequest(read.value, { token_budget, ...strategy }, options);
  const sent = JSON.parse(new TextDecoder().decode(viewed.bytes)) as { input: Item[] };
  return { ...viewed, sent: sent.input, body: sent };
}

const thoughtsIn = (input: readonly Item[]): unknown[] =>
  input.flatMap(({ type, id }) => (type === 'reasoning' ? [id] : []));

const OLD = [asks('go'), reasoning('a'), asksTool('a'), tells('a'), reasoning('b'), says('b')];
const NEW = [asks('on'), reasoning('c'), asksTool('c'), tells('c'), reasoning('d'), says('d'), asks('and?')];

const searched = (id: string): Item => ({
  type: 'web_search_call',
  id: `ws_${id}`,
  status: 'completed',
  action: { type: 'search', query: 'rows' },
});

describe('old reasoning items', () => {
  it('leave the view with the ids that refer to them, and nothing else does', () => {
    const { sent, report } = viewOfItems([...OLD, ...NEW], CLEARING);
    const { id: _, ...call } = asksTool('a');
    const { id: __, ...answer } = says('b');

    expect(sent).toEqual([asks('go'), call, tells('a'), answer, ...NEW]);
    expect(report.applied_edits).toEqual([
      { type: 'clear_reasoning', messages: 2, cleared_tokens: 2 * Math.ceil(encrypted.length / 4) },
    ]);
  });

  it('have the tokens of their texts and of what is encrypted', () => {
    const summary = [{ type: 'summary_text', text: lines(20) }];
    const content = [{ type: 'reasoning_text', text: lines(9, 'thought') }];
    const old = [asks('go'), reasoning('a', { summary, content }), asksTool('a'), tells('a')];
    const { report } = viewOfItems([...old, ...NEW], CLEARING);
    const [edit] = report.applied_edits;

    expect(edit?.cleared_tokens).toBe(
      counter.text(lines(20)) + counter.text(lines(9, 'thought')) + encrypted.length / 4,
    );
  });

  it.each<[what: string, old: Item[]]>([
    ['of a call of a custom tool', [reasoning('a'), asksTool('a', 'custom_tool_call'), reportedByCustom()]],
    ['of several calls', [reasoning('a'), asksTool('a'), asksTool('b'), tells('b'), tells('a')]],
    ['of an answer with a call', [reasoning('a'), says('a'), asksTool('b'), tells('b')]],
    ['that come in several items', [reasoning('a'), reasoning('b'), asksTool('a'), tells('a')]],
    ['of two answers in a row', [reasoning('a'), says('a'), reasoning('b'), asksTool('a'), tells('a')]],
    ['whose call has no id', [reasoning('a'), { ...asksTool('a'), id: undefined }, tells('a')]],
  ])('leave %s', (_, old) => {
    const input = [asks('go'), ...old, ...NEW];
    const { sent, body } = viewOfItems(input, CLEARING);

    expect(thoughtsIn(sent)).toEqual(['rs_c', 'rs_d']);
    expect(responsesViolations(body, { reasoned: reasonedIn(input) })).toEqual([]);
    const without = [asks('go'), ...old, ...NEW].filter(
      ({ id }) => id === undefined || !/^rs_[ab]$/.test(`${id}`),
    );
    expect(sent).toHaveLength(without.length);
  });

  it.each<[what: string, old: Item[]]>([
    ['before an item of a hosted tool', [reasoning('a'), searched('1'), says('a')]],
    ['where the answer goes on without any', [reasoning('a'), says('a'), says('b')]],
    ['of which only the id is there', [reasoning('a', { encrypted_content: undefined }), says('a')]],
  ])('stay %s', (_, old) => {
    const input = [asks('go'), ...old, ...NEW];
    const { sent, body } = viewOfItems(input, CLEARING);

    expect(sent).toEqual(JSON.parse(JSON.stringify(input)));
    expect(responsesViolations({ ...body, store: true }, { reasoned: reasonedIn(input) })).toEqual([]);
  });

  it.each([
    ['gpt-5.5', undefined, true],
    ['gpt-5.5', true, false],
    ['gpt-5.6', undefined, false],
    ['gpt-5.6', false, true],
    ['gpt-6.1-sol', undefined, false],
    ['claude-opus-4-5', true, true],
    ['my-deployment', undefined, true],
  ])('with %s and clear_reasoning %s, stay: %s', (model, clear_reasoning, stays) => {
    const strategy = { ...CLEARING, ...(clear_reasoning === undefined ? {} : { clear_reasoning }) };
    const { sent } = viewOfItems([...OLD, ...NEW], strategy, model);
    expect(thoughtsIn(sent).length).toBe(stays ? 4 : 2);
  });

  it.each([undefined, true, false])(
    'leave with all others where they are bound to what has changed (clear_reasoning %s)',
    (clear_reasoning) => {
      const { sent } = viewOfItems([...OLD, ...NEW], { ...CLEARING, clear_reasoning }, 'claude-opus-5-5');
      expect(thoughtsIn(sent)).toEqual([]);
    },
  );
});

describe('reasoning that the API leaves out by itself', () => {
  const viewOfDropped = (input: readonly Item[], model: string) => {
    const body = JSON.stringify({ model, store: true, input });
    const read = readResponsesRequest(new TextEncoder().encode(body));
    if (!read.ok) throw new Error(read.reason.message);
    const viewed = viewOfRequest(read.value, { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 });
    return { ...viewed, sent: JSON.parse(new TextDecoder().decode(viewed.bytes)) };
  };
  const oldIn = (input: readonly Item[]) => thoughtsIn(input).filter((id) => id !== 'rs_d');
  const answered = [asksTool('z'), tells('z', lines(60))];
  const call = (type: string): Item => ({ type, id: 'x_1', call_id: 'call_x', action: {} });

  it.each<[what: string, old: Item[], kept: string[]]>([
    ['a search', [reasoning('a'), searched('1'), says('a')], ['rs_a']],
    ['a search behind words', [reasoning('a'), says('a'), searched('1'), says('b')], ['rs_a']],
    ['a search behind two messages', [reasoning('a'), says('a'), says('b'), searched('1')], ['rs_a']],
    ['one of two', [reasoning('a'), searched('1'), reasoning('b'), says('b')], ['rs_a', 'rs_b']],
    [
      'a shell',
      [reasoning('a'), call('shell_call'), { type: 'shell_call_output', call_id: 'call_x', output: [] }],
      ['rs_a'],
    ],
    [
      'a list of tools',
      [reasoning('a'), { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] }, says('a')],
      ['rs_a'],
    ],
    ['words', [reasoning('a'), says('a')], []],
    ['a search of another answer', [reasoning('a'), says('a'), asks('go'), searched('1')], []],
  ])('stays before %s, which is refused without it', (_, old, kept) => {
    const input = [asks('go'), ...old, asks('look'), ...answered, ...NEW];
    const { sent, report, view } = viewOfDropped(input, 'gpt-6.2-sol');
    expect(report.applied_edits.map(({ type }) => type)).toContain('compact');
    expect(oldIn(sent.input)).toEqual(kept);
    expect(responsesViolations(sent, { reasoned: reasonedIn(input) })).toEqual([]);
    expect(report.tokens?.after).toBe(view.tokens);
    // Where an error says that it has changed, all of it leaves.
    expect(oldIn(viewOfDropped(input, 'claude-opus-5-5').sent.input)).toEqual([]);
  });

  it('counts as it is sent, and as lost', () => {
    const old = (thought: Item) => [
      ...[asks('go'), thought, searched('1'), says('a'), asks('look'), ...answered],
      ...NEW,
    ];
    const [some, more] = [60, 120].map((size) =>
      viewOfDropped(old(reasoning('a', { encrypted_content: 'gAAAAABo'.repeat(size) })), 'gpt-6.2-sol'),
    );
    expect((more?.report.tokens?.after ?? 0) - (some?.report.tokens?.after ?? 0)).toBe(120);
    expect(more?.plan.thinking?.blocks).toBe(2);
  });
});

function reportedByCustom(): Item {
  return { type: 'custom_tool_call_output', call_id: 'call_a', output: 'Nothing.' };
}

/** Conversations as OpenAI's models have them, with unique ids. */
const conversation: fc.Arbitrary<Item[]> = fc
  .array(
    fc.array(
      fc.record({
        thinks: fc.integer({ min: 0, max: 2 }),
        size: fc.integer({ min: 1, max: 60 }),
        /** Beside the last, comments of the model on its work. */
        says: fc.integer({ min: 0, max: 2 }),
        calls: fc.integer({ min: 0, max: 3 }),
        searches: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
        said: fc.integer({ min: 1, max: 60 }),
      }),
      { maxLength: 4 },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) => {
    let made = 0;
    const next = (): string => `${made++}`;
    return turns.flatMap((answers, turn) => [
      asks(`Do ${turn}.`),
      ...answers.flatMap(({ thinks, size, says: speaks, calls: some, searches, said }, at) => {
        // The model goes on after results alone.
        const calls = at < answers.length - 1 ? Math.max(1, some) : some;
        const ids = Array.from({ length: calls }, next);
        const items = [
          ...(searches ? [searched(next())] : []),
          ...Array.from({ length: speaks || (calls === 0 && !searches ? 1 : 0) }, () =>
            says(next(), lines(2)),
          ),
          ...ids.map((id) => asksTool(id)),
        ];
        const thoughts = Array.from({ length: thinks }, () =>
          reasoning(next(), { encrypted_content: 'gAAAAABo'.repeat(size) }),
        );
        return [...thoughts, ...items, ...ids.map((id) => tells(id, lines(said)))];
      }),
    ]);
  });

describe('any conversation with reasoning items', () => {
  it('is accepted at each request, keeps the current turn’s, and changes only when the frontier moves', () => {
    let cleared = 0;
    forAll(
      { numRuns: runs(8, 150), endOnFailure: true },
      conversation,
      autoStrategy,
      fc.integer({ min: 100, max: 2_500 }),
      (input, given, budget) => {
        const { clear_reasoning: _, token_soft_budget: __, ...rest } = given;
        const strategy = { ...rest, token_budget: budget };
        const reasoned = reasonedIn(input);
        let before: Item[] = [];
        for (const end of requestsIn(input)) {
          const array = input.slice(0, end);
          const { sent, body, report, view } = viewOfItems(array, strategy);
          if (responsesViolations({ ...body, input: array }, { reasoned }).length === 0)
            expect(responsesViolations(body, { reasoned })).toEqual([]);
          const current = array.slice(array.findLastIndex(({ role }) => role === 'user'));
          const left = [...view.removals.values()].flat().filter(({ kind }) => kind === 'reasoning');
          cleared += left.length;
          const kept = new Set(thoughtsIn(sent));
          if (view.dropped.size === 0) for (const id of thoughtsIn(current)) expect(kept.has(id)).toBe(true);
          if (!report.frontier.moved) expect(sent.slice(0, before.length)).toEqual(before);
          before = sent;
        }
      },
    );
    expect(cleared).toBeGreaterThan(0);
  });
});
