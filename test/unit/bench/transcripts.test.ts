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

  it('is refused with the number of the line that has no messages', () => {
    const path = written('bad.jsonl', `${JSON.stringify({ messages })}\n{"input":[]}\n`);

    expect(() => tracesIn(path)).toThrow('bad.jsonl, line 2');
  });
});
