/** Reads event streams in tests, as bytes and as events. */

/** All items of an iterable. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The `data` of each event in a chat stream, in order; there each is one line. */
export function dataOf(stream: string): string[] {
  return stream
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []));
}
