/** The edits inside a message, in the caller's bytes. */
import type { Removal } from '../../memory/edits/removal.ts';
import { openedText, openingPart, outputSplice, replacementJson } from '../edits.ts';
import type { Span } from '../json/outline.ts';
import { type Splice, wrapSplices } from '../json/spans.ts';
import { type Block, MARK_FIELD, PARTS } from './block.ts';
import type { ElementMessage } from './message.ts';

/** What becomes of a message that stays. */
interface MessageEdits {
  readonly removals: readonly Removal[];
  /** The text to put at its beginning, and how many characters of that it replaces. */
  readonly opened?: { readonly text: string; readonly taken: number } | undefined;
  /** The mark of the prompt cache to put after it, as its JSON. */
  readonly mark?: string | undefined;
}

export function editSplices(message: ElementMessage, edits: MessageEdits): Splice[] {
  if (message.role === 'tool') return resultSplices(message, edits);
  if (message.role === 'assistant') return answerSplices(message, edits);
  return message.blocks ? blockSplices(message, message.blocks, edits) : textSplices(message, edits);
}

function resultSplices(message: ElementMessage, { removals, mark }: MessageEdits): Splice[] {
  const { result, element } = message;
  const outputs = removals.filter(({ kind }) => kind === 'output');
  return [
    ...outputs.map((removal) => outputSplice(element.body, result?.field('content'), removal, PARTS)),
    ...(mark === undefined ? [] : markAfter(message.blocks?.at(-1), mark)),
  ];
}

function answerSplices(message: ElementMessage, { removals, mark }: MessageEdits): Splice[] {
  const inputs = removals.filter(({ kind }) => kind === 'input');
  const calls = inputs.length > 0 ? message.callBlocks : [];
  const cleared = inputs.map((removal) => {
    const input = calls[removal.call]?.field('input');
    if (!input)
      throw new Error(`call ${removal.call} of message ${removal.message} has no arguments to clear`);
    return { start: input.start, end: input.end, with: removal.replacement };
  });
  return [
    ...cleared,
    ...(message.blocks ? markAfter(message.blocks.at(-1), mark) : textSplices(message, { removals, mark })),
  ];
}

/** A content that is a string: its text, or the one in its place. */
function textSplices(message: ElementMessage, { removals, opened, mark }: MessageEdits): Splice[] {
  const { content, span } = message.element;
  const removal = removals.find(({ kind }) => kind === 'output');
  const text =
    removal?.replacement ?? (opened && openedText(opened.text, message.opening().slice(opened.taken)));
  if (!content) {
    const at = span.end - 1;
    return text === undefined ? [] : [{ start: at, end: at, with: `,"content":${JSON.stringify(text)}` }];
  }
  if (text === undefined && mark === undefined) return [];
  // Content of another kind is invalid; it is kept for the upstream to reject.
  if (content.kind !== 'string') return [];
  const { start, end } = content;
  const [head, tail] =
    mark === undefined ? ['', ''] : ['[{"type":"text","text":', `,"${MARK_FIELD}":${mark}}]`];
  if (text !== undefined) return [{ start, end, with: `${head}${JSON.stringify(text)}${tail}` }];
  return wrapSplices(content, head, tail);
}

function blockSplices(
  message: ElementMessage,
  blocks: readonly Block[],
  { removals, opened, mark }: MessageEdits,
): Splice[] {
  const output = removals.find(({ kind }) => kind === 'output');
  if (output) {
    const last = blocks.findLast((block) => block.mark !== undefined)?.mark;
    return [replaced(message.range, output, mark ?? last)];
  }
  const parts = new Map(
    removals.flatMap((removal) => (removal.kind === 'part' ? [[removal.call, removal]] : [])),
  );
  const last = blocks.length - 1;
  const { content } = message.element;
  const splices = [...parts].map(([at, removal]) => {
    const part = blocks[at];
    if (!part) throw new Error(`message ${removal.message} has no part ${at} to remove`);
    return replaced(part.span, removal, (at === last ? mark : undefined) ?? part.mark);
  });
  return [
    // Before a text that replaces the first block, which begins where this one is put.
    ...(opened && content
      ? [openingPart(message, content, blocks[0]?.span, opened.text, opened.taken, 'text')]
      : []),
    ...splices,
    ...(parts.has(last) ? [] : markAfter(blocks[last], mark)),
  ];
}

/** A text of Precis instead of blocks. */
function replaced({ start, end }: Span, removal: Removal, mark: string | undefined): Splice {
  const marked = mark === undefined ? '' : `,"${MARK_FIELD}":${mark}`;
  return { start, end, with: `{"type":"text","text":${replacementJson(removal)}${marked}}` };
}

function markAfter(block: Block | undefined, mark: string | undefined): Splice[] {
  if (!block || mark === undefined) return [];
  const empty = block.field(MARK_FIELD);
  if (empty) return [{ start: empty.start, end: empty.end, with: mark }];
  const at = block.span.end - 1;
  return [{ start: at, end: at, with: `,"${MARK_FIELD}":${mark}` }];
}
