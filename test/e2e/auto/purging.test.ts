import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { tokensOf } from '../../support/clients/agent-caller.ts';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

const model = 'gpt-4.1';

const step = (id: string, name: string, input: object, content = 'Done.'): Message[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  },
  { role: 'tool', tool_call_id: id, content },
];

const write = (id: string, path: string, draft: string): Message[] =>
  step(id, 'write_file', { path, content: rows(draft, 25) });

const messages: Message[] = [
  { role: 'user', content: 'Write a.md.' },
  ...write('first', 'a.md', 'the first draft'),
  ...step('refused', 'upload', { page: rows('the page', 25) }, 'Error: 403 Forbidden'),
  ...write('other', 'b.md', 'another file'),
  ...write('last', 'a.md', 'the last draft'),
  ...[1, 2, 3].flatMap((at) => step(`look_${at}`, 'look', { at }, `It looks fine, ${at}.`)),
];

/** The arguments of each call in a view, by id. */
function argumentsIn(view: readonly Message[]): Record<string, string> {
  const calls = view.flatMap(({ tool_calls }) => (tool_calls ?? []) as Call[]);
  return Object.fromEntries(calls.map(({ id, function: { arguments: input } }) => [id, input]));
}

interface Call {
  readonly id: string;
  readonly function: { readonly arguments: string };
}

const strategy = {
  mode: 'auto',
  // Over the soft budget nothing is summarized.
  token_soft_budget: tokensOf({ model, messages }) - 1,
  low_watermark_pct: 0,
  min_reclaim_tokens: 0,
};

overProtocols('mode auto purges the arguments of calls', deployment, () => {
  it.each(ofTurn(1, [false, true]))(
    'that failed, or that a later write replaces (stream: %s)',
    async (stream) => {
      const response = await deployment.chat({ model, memory_strategy: strategy, stream, messages });

      expect(response.status).toBe(200);
      expect(response.headers.get('x-memory-applied')).toBe('compact');
      await response.text();
      const sent = argumentsIn(deployment.lastChat().body.messages);
      const original = argumentsIn(messages);
      const changed = Object.keys(original).filter((id) => sent[id] !== original[id]);
      expect(changed).toEqual(['first', 'refused']);
      for (const id of changed) {
        const { _removed: marker, ...rest } = JSON.parse(sent[id] ?? '');
        expect(rest).toEqual({});
        const [, ref] = /reason=context_compaction; ref=(ref_[a-z2-7]{26})⟧$/.exec(marker) ?? [];
        const kept = await deployment.fetch(`/v1/refs/${ref}`);
        expect(await kept.text()).toBe(original[id]);
      }
    },
  );

  it('and says so in its report', async () => {
    const response = await deployment.chat({
      model,
      memory_strategy: strategy,
      memory_report: true,
      messages,
    });

    const { memory } = (await response.json()) as { memory: Report };
    expect(memory.applied_edits).toMatchObject([
      { type: 'compact', cleared_tool_results: 0, cleared_tool_inputs: 2 },
    ]);
    expect(memory.refs.map(({ tool_call_id }) => tool_call_id)).toEqual(['first', 'refused']);
  });

  it('unless compact_purge is false', async () => {
    const memory_strategy = { ...strategy, compact_purge: false };
    const response = await deployment.chat({ model, memory_strategy, messages });

    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(argumentsIn(deployment.lastChat().body.messages)).toEqual(argumentsIn(messages));
  });

  it('and refuses a compact_purge that is no boolean', async () => {
    const memory_strategy = { ...strategy, compact_purge: 'always' };
    const response = await deployment.chat({ model, memory_strategy, messages });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_memory_strategy', param: 'memory_strategy.compact_purge' },
    });
  });
});
