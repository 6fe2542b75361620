/** A summary as it is meant to be read. */
import { type Block, blocksOf, type Inline } from '../read/markdown.ts';
import { visible } from '../read/visible.ts';
import { useBeginning } from './text.tsx';

/** In characters. */
const MORE = 20_000;

export function Markdown({ text, shown }: { text: string; shown: number }) {
  const [part, more] = useBeginning(text, shown, MORE);
  return (
    <div class="markdown" dir="auto">
      {blocksOf(part).map((block, at) => (
        <Shown key={at} block={block} />
      ))}
      {more}
    </div>
  );
}

function Shown({ block }: { block: Block }) {
  if (block.kind === 'code') return <pre>{visible(block.text)}</pre>;
  if (block.kind === 'list') {
    const items = block.items.map((item, at) => (
      <li key={at}>
        <Inlines of={item} />
      </li>
    ));
    return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
  }
  // The page's own headings are not mixed with those in a text.
  return (
    <p class={block.kind === 'heading' ? `title-${Math.min(block.level, 3)}` : undefined}>
      <Inlines of={block.inlines} />
    </p>
  );
}

function Inlines({ of }: { of: readonly Inline[] }) {
  return (
    <>
      {of.map(({ kind, text }, at) => {
        if (kind === 'code') return <code key={at}>{visible(text)}</code>;
        return kind === 'bold' ? <strong key={at}>{visible(text)}</strong> : visible(text);
      })}
    </>
  );
}
