/** Reading event streams in tests, as bytes and as events. */

/** All that an iterable yields. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The `data` of each event of a chat stream, in order; each is one line there. */
export function dataOf(stream: string): string[] {
  return stream
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []));
}
