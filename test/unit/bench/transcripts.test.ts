/** The format of `npm run bench:replay -- --transcripts FILE`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { tracesIn } from '../../../bench/reuse.ts';

const dir = mkdtempSync(join(tmpdir(), 'transcripts-'));
afterAll(() => rmSync(dir, { recursive: true }));

const messages = [{ role: 'user', content: 'Hello' }];

function written(name: string, bytes: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  return path;
}

describe('a file of transcripts', () => {
  it('has one conversation per line, and may be compressed', () => {
    const lines = [
      { messages },
      { messages, tools: [{ type: 'function' }], reuse: [{ value: 'x', used: 0 }] },
    ];
    const text = `${lines.map((line) => JSON.stringify(line)).join('\n\n')}\n`;
    const traces = [
      { file: 'runs', messages, reuse: [] },
      { file: 'runs', messages, tools: [{ type: 'function' }], reuse: [{ value: 'x', used: 0 }] },
    ];

    expect(tracesIn(written('runs.jsonl', text))).toEqual(traces);
    expect(tracesIn(written('runs.jsonl.gz', gzipSync(text)))).toEqual(traces);
  });

  const user = { role: 'user', content: 'Go' };
  const toolUse = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] };
  const one = JSON.stringify({ messages });

  it.each([
    ['bad.jsonl', `${one}\n{"input":[]}\n`, /line 2: there are no messages/],
    ['array.jsonl', `[${one}]`, /line 1: this is a JSON array; each line is an object/],
    ['pretty.jsonl', `[\n  ${one}\n]`, /line 1: this is a JSON array over several lines/],
    ['text.jsonl', `${one}\nhello\n`, /line 2: this is not JSON/],
    ['null.jsonl', 'null', /line 1: there are no messages/],
    ['empty.jsonl', '\n', /has no conversations/],
    ['anthropic.jsonl', JSON.stringify({ messages: [user, toolUse] }), /messages\[1\] is in Anthropic's/],
    ['strings.jsonl', '{"messages":["Hello"]}', /line 1: .*messages\[0\]/],
    ['plain.jsonl.gz', one, /can't be read: incorrect header check/],
  ])('is refused with its name, the line, and what is wrong: %s', (name, text, sentence) => {
    const path = written(name, text);

    expect(() => tracesIn(path)).toThrow(path);
    expect(() => tracesIn(path)).toThrow(sentence);
  });
});
