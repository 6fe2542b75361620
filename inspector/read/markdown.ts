/**
 * The Markdown that summaries are written in, as data: headings, lists, code, and bold. All else is
 * text. Nothing of it becomes markup by itself, and no address becomes a link.
 */

export interface Inline {
  readonly kind: 'text' | 'bold' | 'code';
  readonly text: string;
}

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly inlines: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly inlines: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly Inline[])[] };

const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:([-*+])|\d{1,9}[.)])\s+(.*)$/;
const FENCE = /^\s*(`{3,}|~{3,})/;

/** Sections that say “(none)” are left out. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  let paragraph: string[] = [];
  const end = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', inlines: inlinesOf(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const [, fence] = FENCE.exec(line) ?? [];
    const [, hashes = '', title = ''] = HEADING.exec(line) ?? [];
    const [found, bullet, item = ''] = ITEM.exec(line) ?? [];
    if (fence !== undefined) {
      end();
      const close = lines.findIndex((one, n) => n > at && one.trim().startsWith(fence));
      const last = close < 0 ? lines.length : close;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, last).join('\n') });
      at = last;
    } else if (hashes !== '') {
      end();
      blocks.push({ kind: 'heading', level: hashes.length, inlines: inlinesOf(title) });
    } else if (found !== undefined) {
      end();
      const isOrdered = bullet === undefined;
      const before = blocks.at(-1);
      if (before?.kind === 'list' && before.isOrdered === isOrdered)
        blocks[blocks.length - 1] = { ...before, items: [...before.items, inlinesOf(item)] };
      else blocks.push({ kind: 'list', isOrdered, items: [inlinesOf(item)] });
    } else if (line.trim() === '') end();
    else paragraph.push(line);
  }
  end();
  return withoutEmpty(blocks);
}

function withoutEmpty(blocks: readonly Block[]): Block[] {
  return blocks.filter((block, at) => {
    const next = blocks[at + 1];
    return !isNone(block) && !(block.kind === 'heading' && next !== undefined && isNone(next));
  });
}

function isNone(block: Block): boolean {
  const inlines =
    block.kind === 'paragraph' ? block.inlines : block.kind === 'list' ? block.items.flat() : [];
  return inlines.length === 1 && /^\(?none\.?\)?\.?$/i.test(inlines[0]?.text.trim() ?? '');
}

function inlinesOf(text: string): Inline[] {
  const inlines: Inline[] = [];
  let last = 0;
  for (const match of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*/g)) {
    const [whole, code, bold = ''] = match;
    if (match.index > last) inlines.push({ kind: 'text', text: text.slice(last, match.index) });
    inlines.push(code === undefined ? { kind: 'bold', text: bold } : { kind: 'code', text: code });
    last = match.index + whole.length;
  }
  if (last < text.length || inlines.length === 0) inlines.push({ kind: 'text', text: text.slice(last) });
  return inlines;
}
