/** Outputs of OpenAI's own tools leave the view as a function's outputs do. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MARKER_START, refsIn } from '../../../../src/memory/conversation/refs.ts';
import { contentOf } from '../../../../src/memory/edits/removed-content.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { Item as ReadItem } from '../../../../src/protocol/responses/item.ts';
import { ItemGroup } from '../../../../src/protocol/responses/message.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { responsesViolations } from '../../../../tools/upstream/strict-responses.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { linesAbout } from '../../../support/conversations/conversations.ts';
import {
  asks,
  codeRun,
  fileSearch,
  hostedConversation,
  type Item,
  localShellStep,
  mcpCall,
  patchStep,
  requestsIn,
  says,
  shellStep,
  webSearch,
} from '../../../support/conversations/hosted-items.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, viewOfRequest } from '../../../support/laws/view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 } as const;

function requestOf(input: readonly Item[]) {
  const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input })));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

function viewed(input: readonly Item[], strategy: MemoryStrategyRequest = OLD) {
  const made = viewOfRequest(requestOf(input), strategy);
  const body = JSON.parse(new TextDecoder().decode(made.bytes));
  return { ...made, body, sent: body.input as Item[] };
}

const long = (topic: string) => linesAbout(topic, 40);
const [apples, pears] = [long('apples'), long('pears')];

/** An item of an old turn, in a view. */
function shown(...items: Item[]) {
  const { sent, view, body, request } = viewed([
    asks('Find it.'),
    ...items,
    says('1', 'Found.'),
    asks('Thanks.'),
    says('2', 'Welcome.'),
    asks('Go on.'),
  ]);
  expect(responsesViolations(body)).toEqual([]);
  const removals = [...view.removals.values()].flat();
  const contents = removals.map((removal) => contentOf(removal, request.messages).text);
  return { item: sent[items.length] as Item, removals, contents };
}

const placeholder = expect.stringMatching(/^⟦removed: tool output for .*; ref=ref_[a-z2-7]{26}; tokens=\d+⟧/);

describe('what a tool of the upstream was asked for', () => {
  const CLEARED = { ...OLD, compact_clear_tool_inputs: true } as const;
  const cleared = (field: object, ...items: Item[]) => {
    const { sent, body } = viewed(
      [asks('Do it.'), ...items, says('1', 'Done.'), asks('a'), says('2', 'b'), asks('c')],
      CLEARED,
    );
    expect(responsesViolations(body)).toEqual([]);
    expect(sent[1]).toMatchObject(field);
  };
  const line = expect.stringMatching(/^⟦removed: tool input for .*; ref=ref_[a-z2-7]{26}⟧$/);

  it('is cleared as arguments are: code, arguments of an MCP server, commands, patches', () => {
    cleared({ type: 'code_interpreter_call', code: line }, { ...codeRun('a', ['x']), code: pears });
    const json = JSON.stringify({ text: pears });
    cleared(
      { type: 'mcp_call', arguments: expect.stringMatching(/^\{"_removed":"⟦removed/) },
      { ...mcpCall('a', 'x'), arguments: json },
    );
    const [shell, ran] = shellStep('a', ['x']) as [Item, Item];
    cleared(
      { action: { commands: [line] } },
      { ...shell, action: { commands: [pears, 'ls'], timeout_ms: 9 } },
      ran,
    );
    const [patch, patched] = patchStep('a', 'x') as [Item, Item];
    const operation = { type: 'update_file', path: 'a.ts', diff: pears };
    cleared({ operation: { ...operation, diff: line } }, { ...patch, operation }, patched);
  });

  it('stays where it is short, and without the setting', () => {
    const came = { ...codeRun('a', ['x']), code: 'print(1)' };
    expect(
      viewed([asks('a'), came, says('1', 'b'), asks('c'), says('2', 'd'), asks('e')], CLEARED).sent[1],
    ).toEqual(came);
    const long = { ...came, code: pears };
    expect(viewed([asks('a'), long, says('1', 'b'), asks('c'), says('2', 'd'), asks('e')]).sent[1]).toEqual(
      long,
    );
  });
});

describe('an old output of a hosted tool', () => {
  it('of a file search keeps each result with its file, and loses the texts', () => {
    const came = fileSearch('a', [apples, pears]);
    const { item, removals, contents } = shown(came);
    const [first, second] = came.results as Item[];
    expect(item).toEqual({
      ...came,
      results: [
        { ...first, text: placeholder },
        { ...second, text: '' },
      ],
    });
    expect(removals).toMatchObject([{ kind: 'hosted', call: 0, tool: 'file_search', callId: 'fs_a' }]);
    expect(JSON.parse(contents[0] ?? '')).toEqual(came.results);
  });

  it('of a web search keeps addresses, titles and sources', () => {
    const came = webSearch('a', [apples]);
    const [only] = came.results as Item[];
    expect(shown(came).item).toEqual({ ...came, results: [{ ...only, snippet: placeholder }] });
  });

  it('of code keeps its images', () => {
    const came = codeRun('a', [apples]);
    const [, image] = came.outputs as Item[];
    const { item, contents } = shown(came);
    expect(item).toEqual({ ...came, outputs: [{ type: 'logs', logs: placeholder }, image] });
    expect(contents[0]).toBe(apples);
  });

  it('of an MCP server is known by its tool’s name', () => {
    const came = mcpCall('a', apples);
    const { item, removals } = shown(came);
    expect(item).toEqual({ ...came, output: placeholder });
    expect(removals).toMatchObject([{ tool: 'list_orders', callId: 'mcp_a' }]);
  });

  it('of a shell keeps how each command ended', () => {
    const [call, came] = shellStep('a', ['', apples, pears]) as [Item, Item];
    const { item, removals, contents } = shown(call, came);
    const [, second, third] = came.output as Item[];
    const [first] = came.output as Item[];
    const output = [first, { ...second, stdout: placeholder }, { ...third, stdout: '' }];
    expect(item).toEqual({ ...came, output });
    expect(removals).toMatchObject([{ kind: 'output', call: -1, tool: 'shell' }]);
    expect(JSON.parse(contents[0] ?? '')).toEqual([second, third]);
  });

  it.each([
    ['a local shell', localShellStep('a', apples)],
    ['a patch', patchStep('a', apples)],
  ])('of %s is a text', (_, [call, came]) => {
    const { item, contents } = shown(call as Item, came as Item);
    expect(item).toEqual({ ...came, output: placeholder });
    expect(contents[0]).toBe(apples);
  });

  it.each([
    ['an MCP call without one', mcpCall('a', null)],
    ['a search without results', { ...fileSearch('a', []), results: null }],
    ['an MCP server with parts of another kind', { ...mcpCall('a', ''), output: [{ data: apples }] }],
    ['image generation', { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: apples }],
    ['a list of tools', { type: 'mcp_list_tools', id: 'l_1', server_label: 's', tools: [{ name: apples }] }],
  ])('of %s stays', (_, came) => {
    const input = [asks('Go.'), came, says('1', 'Done.'), asks('And?'), says('2', 'Yes.'), asks('So.')];
    expect(viewed(input).sent).toEqual(input);
  });

  it('stays where the strategy leaves out its tool', () => {
    const input = [asks('Go.'), fileSearch('a', [apples]), mcpCall('b', pears), asks('And?'), asks('So.')];
    const { view } = viewed(input, { ...OLD, compact_exclude_tools: ['file_search'] });
    expect([...view.removals.values()].flat().map(({ tool }) => tool)).toEqual(['list_orders']);
  });

  it('leaves one by one, each with its own preview', () => {
    const words = 'and so on '.repeat(100);
    const items = [mcpCall('a', `${words}ORD-4711`), mcpCall('b', `${words}ORD-4712`)];
    const input = [asks('Find it.'), ...items, says('1', 'Found.'), asks('And?'), asks('So.')];
    const { view } = viewed(input, { ...OLD, compact_preview_tokens: 48 });
    const removals = [...view.removals.values()].flat();
    expect(removals.map(({ call }) => call)).toEqual([0, 1]);
    expect(removals.map(({ replacement }) => /ORD-47\d\d/.exec(replacement)?.[0])).toEqual([
      'ORD-4711',
      'ORD-4712',
    ]);
  });

  it('takes as much work for each item of an answer, however many it has', () => {
    const looks = [
      vi.spyOn(ReadItem.prototype, 'calls', 'get'),
      vi.spyOn(ItemGroup.prototype, 'spoken', 'get'),
      vi.spyOn(ItemGroup.prototype, 'hostedItems', 'get'),
      vi.spyOn(ItemGroup.prototype, 'callItems', 'get'),
    ];
    const looksAt = (count: number): number[] => {
      for (const look of looks) look.mockClear();
      const items = Array.from({ length: count }, (_, at) => [
        { type: 'reasoning', id: `rs_${at}`, summary: [] },
        { ...codeRun(`${at}`, [apples]), code: pears },
      ]);
      const input = [
        asks('Find it.'),
        ...items.flat(),
        asks('Thanks.'),
        says('2', 'Welcome.'),
        asks('Go on.'),
      ];
      const { view } = viewed(input, { ...OLD, compact_clear_tool_inputs: true });
      expect([...view.removals.values()].flat()).toHaveLength(2 * count);
      return looks.map((look) => look.mock.calls.length);
    };
    const some = looksAt(40);
    for (const [at, count] of looksAt(160).entries()) expect(count).toBeLessThan(6 * (some[at] ?? 0));
  });

  it('is not edited again when its placeholder comes back', () => {
    const input = [
      asks('Go.'),
      fileSearch('a', [apples, pears]),
      codeRun('b', [apples]),
      mcpCall('c', pears),
      ...shellStep('d', [apples, pears]),
      ...localShellStep('e', pears),
      says('1', 'Done.'),
      asks('And?'),
      says('2', 'Yes.'),
      asks('So.'),
    ];
    const { sent, view } = viewed(input);
    expect([...view.removals.values()].flat()).toHaveLength(5);
    const again = viewed(sent);
    expect(again.sent).toEqual(sent);
    expect(again.view.removals.size).toBe(0);
  });
});

const tokensOf = (input: readonly Item[]): number =>
  requestOf(input).messages.reduce((sum, message) => sum + counter.message(message), 0);

describe.each([
  ['every mode but auto', anyStrategy],
  ['auto', fc.tuple(autoStrategy, fc.integer({ min: 50, max: 2_500 })).map(withBudget)],
])('any conversation with hosted tools, %s', (_, strategies) => {
  it('is accepted, counted as it is sent, and changes only when the frontier moves', () => {
    let edited = 0;
    forAll(
      { numRuns: runs(25, 100), endOnFailure: true },
      hostedConversation,
      strategies,
      (input, strategy) => {
        let before: Item[] = [];
        for (const end of requestsIn(input)) {
          const array = input.slice(0, end);
          const { sent, body, view, report } = viewed(array, strategy);
          expect(responsesViolations(body)).toEqual([]);
          const removals = [...view.removals.values()].flat();
          edited += removals.filter(({ kind }) => kind === 'hosted').length;
          for (const { ref, replacement } of removals)
            if (ref !== undefined) expect(refsIn(replacement)).toContain(ref);
          if (view.dropped.size === 0 && !removals.some(({ kind }) => kind === 'reasoning'))
            expect(tokensOf(sent) - tokensOf(array)).toBe(view.tokens - (report.tokens?.before ?? 0));
          if (!report.frontier.moved) expect(sent.slice(0, before.length)).toEqual(before);
          before = sent;
        }
      },
    );
    expect(edited).toBeGreaterThan(0);
  });

  it('gives each content back that its view has left out', () => {
    forAll(runs(12, 60), hostedConversation, strategies, (input, strategy) => {
      const { view, sent, request } = viewed(input, strategy);
      const all = JSON.stringify(sent);
      for (const removal of [...view.removals.values()].flat()) {
        const { kind, message, call } = removal;
        if (kind !== 'hosted') continue;
        const came = requestOf(input).messages[message]?.hosted?.()[call]?.content().text;
        expect(contentOf(removal, request.messages).text).toBe(came);
        expect(all).toContain(MARKER_START);
      }
    });
  });
});

function withBudget([given, token_budget]: [MemoryStrategyRequest & { mode: 'auto' }, number]) {
  const { token_soft_budget: _, ...rest } = given;
  return { ...rest, token_budget };
}
