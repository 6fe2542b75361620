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

/**
 * The same answer. Calls `work` as soon as its reader has been given this many matches of a sign,
 * so that an upstream can be silent until its caller has noticed that, however slow the machine is.
 */
export function onceSeen(answer: Response, sign: RegExp, times: number, work: () => void): Response {
  const signs = new RegExp(sign, 'gm');
  const decoder = new TextDecoder();
  let text = '';
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      text += decoder.decode(bytes, { stream: true });
      if ((text.match(signs)?.length ?? 0) >= times) work();
      controller.enqueue(bytes);
    },
  });
  return new Response(answer.body?.pipeThrough(watched), answer);
}
