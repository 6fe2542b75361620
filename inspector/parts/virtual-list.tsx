/**
 * A list of rows of equal height, of which only those in sight are in the document. A screen has
 * one at most.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { keepListPosition, listPosition, onTakeOver } from '../scroll.ts';

/** Rows above and below those in sight. */
const AROUND = 8;

interface Props<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  /** In pixels. */
  readonly rowHeight: number;
  /** The most that the list takes, in pixels. */
  readonly height: number;
  readonly keyOf: (item: Item) => string | number;
  /** @param at its index in `items` */
  readonly row: (item: Item, at: number) => ComponentChildren;
  /** This item is brought into sight when it changes. */
  readonly current?: number | undefined;
}

export function VirtualList<Item>({ label, items, rowHeight, height, keyOf, row, current }: Props<Item>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [returnsTo, setReturnsTo] = useState(listPosition);
  const shown = Math.min(height, items.length * rowHeight + 2);
  useEffect(() => {
    const element = box.current;
    if (!element || returnsTo === 0) return;
    element.scrollTop = returnsTo;
    // Further rows may still be loading.
    if (element.scrollTop >= Math.floor(returnsTo)) setReturnsTo(0);
  }, [items.length, returnsTo]);
  useEffect(() => {
    const element = box.current;
    if (!element || returnsTo === 0) return undefined;
    return onTakeOver(element, () => setReturnsTo(0));
  }, [returnsTo]);
  useEffect(() => {
    const element = box.current;
    if (!element || current === undefined || current < 0) return;
    const at = current * rowHeight;
    if (at < element.scrollTop || at + rowHeight > element.scrollTop + shown)
      element.scrollTop = Math.max(0, at - shown / 2);
  }, [current, rowHeight, shown]);
  const first = Math.max(0, Math.floor(top / rowHeight) - AROUND);
  const last = Math.min(items.length, Math.ceil((top + shown) / rowHeight) + AROUND);
  return (
    <section
      ref={box}
      class="virtual"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      style={{ height: `${shown}px` }}
      onScroll={({ currentTarget }) => {
        setTop(currentTarget.scrollTop);
        if (returnsTo === 0) keepListPosition(currentTarget.scrollTop);
      }}
    >
      <ol style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, index) => (
          <li
            key={keyOf(item)}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            class={first + index === current ? 'current' : undefined}
            style={{ top: `${(first + index) * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {row(item, first + index)}
          </li>
        ))}
      </ol>
    </section>
  );
}
