/**
 * The tools with which a model writes memory blocks (docs/memory-blocks.md): definitions,
 * arguments, results. Names and arguments are Letta's
 * (https://docs.letta.com/guides/agents/memory-blocks).
 */
import * as z from 'zod';
import type { Result } from '../lib/result.ts';
import { within } from '../lib/time-limit.ts';
import { type BlockEdit, LONGEST_BLOCK, writeBlock } from '../memory/strategy/memory-blocks.ts';
import { type FunctionTool, functionTool } from '../protocol/tools.ts';
import type { Changed, StoredBlock } from '../storage/tenant/blocks.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { parseArguments } from './arguments.ts';

/** The tools' names. The second is for callers with a tool of the first name. */
export const APPEND_NAMES = ['core_memory_append', 'precis_core_memory_append'] as const;
export const REPLACE_NAMES = ['core_memory_replace', 'precis_core_memory_replace'] as const;

/** Rounds of a request whose strategy sets no number of them. */
export const WRITING_ROUNDS = 3;

type AppendName = (typeof APPEND_NAMES)[number];
type ReplaceName = (typeof REPLACE_NAMES)[number];

const LATER = `What you write is kept, also for other conversations. The blocks above show it later, so don't write it twice. A block has at most ${LONGEST_BLOCK} characters.`;

/** The tool that appends, under one of its names. @param labels the blocks that may be written */
export function appendDefinitionOf(name: AppendName, labels: readonly string[]): FunctionTool<AppendName> {
  return functionTool(
    name,
    `Appends a line to a memory block. ${LATER}`,
    { label: labelProperty(labels), content: { type: 'string', description: 'What to append' } },
    ['label', 'content'],
  );
}

export function replaceDefinitionOf(name: ReplaceName, labels: readonly string[]): FunctionTool<ReplaceName> {
  return functionTool(
    name,
    `Replaces a text in a memory block wherever it occurs. ${LATER}`,
    {
      label: labelProperty(labels),
      old_content: { type: 'string', description: 'The text to replace, exactly as it is written' },
      new_content: { type: 'string', description: 'The text in its place; empty deletes it' },
    },
    ['label', 'old_content', 'new_content'],
  );
}

function labelProperty(labels: readonly string[]): object {
  return { type: 'string', enum: labels, description: 'The label of the block' };
}

/** A call of one of these tools. */
interface Write {
  readonly label: string;
  readonly edit: BlockEdit;
}

const appendSchema = z
  .object({ label: z.string(), content: z.string().min(1) })
  .transform(({ label, content }): Write => ({ label, edit: { kind: 'append', content } }));

const replaceSchema = z
  .object({ label: z.string(), old_content: z.string().min(1), new_content: z.string() })
  .transform(({ label, old_content: old, new_content: content }): Write => {
    return { label, edit: { kind: 'replace', old, content } };
  });

export interface BlockShelf {
  /** @throws if storage fails */
  change(label: string, edit: BlockEdit): Promise<Changed>;
  /** Logs why a block could not be written. The model only learns that it could not. */
  failed(error: unknown): void;
}

export interface Written {
  readonly text: string;
  /** The result where there is no room for the block's text. */
  readonly brief: string;
}

/** Writes the blocks of one request, one after the other. */
export class BlockWriter {
  /** The blocks written so far, in their last versions. */
  readonly written = new Map<string, StoredBlock>();
  private readonly labels: ReadonlySet<string>;
  private readonly shelf: BlockShelf;
  private last: Promise<unknown> = Promise.resolve();

  /** @param labels the blocks that may be written */
  constructor(labels: readonly string[], shelf: BlockShelf) {
    this.labels = new Set(labels);
    this.shelf = shelf;
  }

  /** The result of a call of the tool that appends. @param args as the model wrote them */
  append(args: string): Promise<Written> {
    return this.answer(parseArguments(args, appendSchema, '{"label": "…", "content": "…"}'));
  }

  /** The result of a call of the tool that replaces. @param args as the model wrote them */
  replace(args: string): Promise<Written> {
    const form = '{"label": "…", "old_content": "…", "new_content": "…"}';
    return this.answer(parseArguments(args, replaceSchema, form));
  }

  /** Never throws. Calls of one turn may build on each other, so they keep their order. */
  private answer(read: Result<Write, string>): Promise<Written> {
    const answer = this.last.then(() => this.write(read));
    this.last = answer;
    return answer;
  }

  private async write(read: Result<Write, string>): Promise<Written> {
    if (!read.ok) return refused(read.reason);
    const { label, edit } = read.value;
    if (!this.labels.has(label))
      return refused(
        `There is no memory block ${JSON.stringify(label.slice(0, 64))} that you may write. The labels are ${[...this.labels].join(', ')}.`,
      );
    try {
      const changed = await within(TIME_LIMITS.toolStorageMs, this.shelf.change(label, edit));
      if (changed.state !== 'changed') return refused(faultOf(changed, label));
      const { block, isNew } = changed;
      if (isNew) this.written.set(label, block);
      const brief = `${isNew ? 'Written' : 'Nothing has changed'}: ${label} has version ${block.version}.`;
      return { brief, text: `${brief}\n${writeBlock(block)}` };
    } catch (error) {
      this.shelf.failed(error);
      return refused(
        'Storage does not answer at the moment. The block may not be written; say so if it matters.',
      );
    }
  }
}

function refused(text: string): Written {
  return { text, brief: text };
}

function faultOf(changed: Exclude<Changed, { state: 'changed' }>, label: string): string {
  if (changed.state === 'no_match')
    return `The text to replace is not in ${label}. It must be exactly as it is written there.`;
  if (changed.state === 'too_long')
    return `${label} would have ${changed.characters} characters, and may have ${LONGEST_BLOCK}. First replace what is no longer useful with something shorter.`;
  if (changed.state === 'too_many')
    return `${label} can't be created: there are as many memory blocks as there may be.`;
  return `${label} has changed meanwhile. Call again.`;
}
