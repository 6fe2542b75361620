/** Recorded conversations: in `TRACES_DIR` (JSON lines, gzipped), and the demo's own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ChatBody } from '../laws/view-of.ts';

const ROOT = join(import.meta.dirname, '../../..');

export interface Trace extends ChatBody {
  readonly id: string;
  readonly file: string;
}

/**
 * The folder of recorded conversations. They have their own licenses and are not part of this
 * repository.
 */
export function tracesDir(): string | undefined {
  const dir = process.env.TRACES_DIR ?? join(ROOT, '../shared/traces');
  return existsSync(dir) ? dir : undefined;
}

let sample: readonly Trace[] | undefined;

/** All recorded conversations that can be found, always including the demo's. */
export function readTraces(): Trace[] {
  const demo = JSON.parse(readFileSync(join(ROOT, 'fixtures/conversation.json'), 'utf8')) as ChatBody;
  const dir = tracesDir();
  const files = dir === undefined ? [] : readdirSync(dir).filter((name) => name.endsWith('.jsonl.gz'));
  const recorded = files.toSorted().flatMap((name) => {
    const lines = gunzipSync(readFileSync(join(dir ?? '', name)))
      .toString('utf8')
      .split('\n');
    return lines.filter(Boolean).map((line): Trace => {
      const row = JSON.parse(line) as Partial<Trace> & Pick<Trace, 'id' | 'messages'>;
      return {
        id: row.id,
        file: name.replace('.jsonl.gz', ''),
        model: 'gpt-4.1',
        messages: row.messages,
        ...(row.tools ? { tools: row.tools } : {}),
      };
    });
  });
  return [{ ...demo, id: 'demo', file: 'demo' }, ...recorded];
}

const encoder = new TextEncoder();

/**
 * A sample: the demo's conversation, and the shortest of each file of recordings, if there are any.
 * `npm run test:traces` takes all. Read once, since all of the files have to be unpacked for it.
 */
export function sampleTraces(): readonly Trace[] {
  sample ??= [...Map.groupBy(readTraces(), (trace) => trace.file).values()].flatMap(
    (traces) => traces.toSorted((a, b) => a.messages.length - b.messages.length)[0] ?? [],
  );
  return sample;
}

/**
 * The bodies of a conversation's requests, one per request point: every prefix that ends before an
 * assistant message.
 */
export function* requestsOf(trace: Trace): Generator<Uint8Array> {
  const messages = trace.messages.map((message) => JSON.stringify(message));
  const tools = trace.tools ? `,"tools":${JSON.stringify(trace.tools)}` : '';
  for (const [index, message] of trace.messages.entries()) {
    const previous = trace.messages[index - 1]?.role;
    if (message.role !== 'assistant' || (previous !== 'user' && previous !== 'tool')) continue;
    yield encoder.encode(
      `{"model":"${trace.model}"${tools},"messages":[${messages.slice(0, index).join(',')}]}`,
    );
  }
}
