import { describe, expect, it, vi } from 'vitest';
import type { BlockEdit } from '../../../src/memory/strategy/memory-blocks.ts';
import {
  appendDefinitionOf,
  type BlockShelf,
  BlockWriter,
  replaceDefinitionOf,
} from '../../../src/retrieval/write-blocks.ts';
import type { Changed } from '../../../src/storage/tenant/blocks.ts';

/** A writer of the block `team` whose shelf answers with these changes, in turn. */
function writer(...changes: (Changed | Error)[]) {
  const asked: { label: string; edit: BlockEdit }[] = [];
  const shelf = {
    change: async (label: string, edit: BlockEdit) => {
      asked.push({ label, edit });
      const change = changes.shift();
      if (!change || change instanceof Error) throw change ?? new Error('nothing more is expected');
      return change;
    },
    failed: vi.fn<BlockShelf['failed']>(),
  };
  return { asked, failed: shelf.failed, writer: new BlockWriter(['team'], shelf) };
}

const changed = (version: number, isNew = true): Changed => ({
  state: 'changed',
  isNew,
  block: { label: 'team', version, text: 'Note.', updated_at: 1 },
});
const APPEND = '{"label":"team","content":"Note."}';

describe('the tools that write memory blocks', () => {
  it('name the labels that may be written', () => {
    for (const { function: tool } of [
      appendDefinitionOf('core_memory_append', ['a', 'b']),
      replaceDefinitionOf('core_memory_replace', ['a', 'b']),
    ])
      expect(tool.parameters.properties.label).toMatchObject({ enum: ['a', 'b'] });
  });

  it('hand over what the model says', async () => {
    const { writer: tools, asked } = writer(changed(1), changed(2));

    await tools.append(APPEND);
    await tools.replace('{"label":"team","old_content":"Note","new_content":""}');

    expect(asked).toEqual([
      { label: 'team', edit: { kind: 'append', content: 'Note.' } },
      { label: 'team', edit: { kind: 'replace', old: 'Note', content: '' } },
    ]);
    expect([...tools.written.values()]).toMatchObject([{ label: 'team', version: 2 }]);
  });

  it('tell the text, and in brief the version alone', async () => {
    const { writer: tools } = writer(changed(4), changed(4, false));

    expect(await tools.append(APPEND)).toEqual({
      brief: 'Written: team has version 4.',
      text: 'Written: team has version 4.\n<memory_block label="team" version="4">\nNote.\n</memory_block>',
    });
    expect((await tools.append(APPEND)).brief).toBe('Nothing has changed: team has version 4.');
  });

  it.each<[string, Changed, RegExp]>([
    ['too long', { state: 'too_long', characters: 5_001 }, /would have 5001 characters, and may have 5000/],
    ['without a match', { state: 'no_match' }, /is not in team/],
    ['one too many', { state: 'too_many' }, /can't be created/],
    ['stale', { state: 'stale', version: 2 }, /has changed meanwhile/],
  ])('say in words what is %s', async (_, change, words) => {
    const { writer: tools } = writer(change);

    expect((await tools.append(APPEND)).text).toMatch(words);
    expect(tools.written.size).toBe(0);
  });

  it.each([
    'no JSON',
    '{}',
    '{"label":"team"}',
    '{"label":"team","content":""}',
    '{"label":"team","content":1}',
    '{"label":"other","content":"Note."}',
  ])('do not write %s', async (args) => {
    const { writer: tools, asked } = writer();

    expect((await tools.append(args)).text).not.toBe('');
    expect(asked).toEqual([]);
  });

  it('log a failure, tell it, and go on', async () => {
    const { writer: tools, failed } = writer(new Error('down'), changed(1));

    expect((await tools.append(APPEND)).text).toContain('Storage does not answer');
    expect((await tools.append(APPEND)).text).toContain('version 1');
    expect(failed).toHaveBeenCalledTimes(1);
  });

  it('keep the order of the calls', async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const tools = new BlockWriter(['team'], {
      failed: () => undefined,
      change: async (_, edit) => {
        if (order.length === 0) await gate.promise;
        order.push(edit.kind);
        return changed(order.length);
      },
    });

    const answers = [
      tools.append(APPEND),
      tools.replace('{"label":"team","old_content":"Note","new_content":"x"}'),
    ];
    gate.resolve();
    await Promise.all(answers);

    expect(order).toEqual(['append', 'replace']);
  });
});
