import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compare } from '../../../bench/replay/compare.ts';
import { rewriting } from '../../../bench/replay/policy.ts';
import { figuresOf } from '../../../bench/replay/results.ts';
import { type ResultsFile, writeResults } from '../../../bench/replay/results-file.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const folder = mkdtempSync(join(tmpdir(), 'results-'));
afterAll(() => rmSync(folder, { recursive: true }));

const prices = { cached: 0.1, written: 1, output: 4 };
const SECRET = 'ord-4711 must never be seen';

async function written(text: string): Promise<{ file: ResultsFile; bytes: string }> {
  const trace = {
    file: 'set',
    messages: [user(`${text} is what I said.`), assistant('Yes.'), user('And?')],
    reuse: [{ value: 'ord-4711', used: 3 }],
  };
  const none = rewriting('none', 'none', (all) => all);
  const last = rewriting('last', 'peer', (all) => all.slice(-1));
  const figures = figuresOf(await compare('set', [trace], { none, others: [last] }, prices, counter));
  const run = { source: 'recorded', schedule: 'prefix-128', prices, packages: {} } as const;
  writeResults(folder, { ...run, traces: new Map([['set', [trace]]]) }, [figures], [figures], figures);
  const bytes = readFileSync(join(folder, 'recorded-prefix-128.json'), 'utf8');
  return { file: JSON.parse(bytes), bytes };
}

describe('the file of a run', () => {
  it('has the figures of each policy, in a line of its own', async () => {
    const { file, bytes } = await written(SECRET);

    expect(file).toMatchObject({ source: 'recorded', schedule: 'prefix-128', prices, dearerFrom: 1.03 });
    expect(file.sets[0]).toMatchObject({ name: 'set', conversations: 1, requests: 2, values: 1 });
    const [none, last] = file.sets[0]?.policies ?? [];
    expect(none).toMatchObject({ name: 'none', paidToNone: 1, ratios: [1], visible: 1 });
    expect(last).toMatchObject({ name: 'last', visible: 0, constraints: [{ given: 1, kept: 0 }] });
    expect(bytes.split('\n').filter((line) => line.startsWith('{"name":"last"'))).toHaveLength(3);
  });

  it('holds nothing that a conversation says, and a hash that depends on it', async () => {
    const one = await written(SECRET);
    const other = await written(SECRET.replace('seen', 'shown'));

    expect(one.bytes).not.toMatch(/4711|must/);
    expect(one.file.conversations.set).toMatch(/^[0-9a-f]{16}$/);
    expect(one.file.conversations.set).not.toBe(other.file.conversations.set);
    expect((await written(SECRET)).bytes).toBe(one.bytes);
  });
});
