/** The types for callers (`precis/types`), as another package sees them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const dir = mkdtempSync(join(tmpdir(), 'types-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Files of a package that depends on this one, by what they show. */
const SOURCES = {
  types: `
    import type { MemoryBlocksRequest, MemoryInjectionRequest, MemoryReport, MemoryStrategyRequest } from 'precis/types';
    export const blocks: MemoryBlocksRequest = { labels: ['team'], writable: true };
    export const strategy: MemoryStrategyRequest = { mode: 'auto', token_budget: 32_000 };
    export const injection: MemoryInjectionRequest = { role: 'user' };
    export const freed = ({ tokens }: MemoryReport): number => (tokens?.before ?? 0) - (tokens?.after ?? 0);
  `,
  memory: `
    import type {
      ConversationMemory, ConversationTurn, MemoryHealth, MemoryVersion, TurnArtifact, TurnDigest,
    } from 'precis/types';
    const digest: TurnDigest = {
      tools: [{ name: 'search', calls: 2 }],
      observations_summary: 'search: three orders',
      reasoning_summary: null,
    };
    const artifacts: TurnArtifact[] = [
      { ref: 'ref_a', tool_name: 'search', tool_call_id: 'call_1', tokens: 900 },
    ];
    const turn: ConversationTurn = { user: 'Hello.', assistant: null, ts: 1_795_372_800, artifacts, digest };
    export const untimed: ConversationTurn = { user: '', assistant: '', artifacts: [], digest };
    export const memory: ConversationMemory = {
      first_user: null, recent_turns: [turn], pending_turns: [], summary: null,
    };
    export const failing: MemoryHealth[] = ['retry', 'degraded'];
    export const textOf = ({ memory_text, base_memory_id }: MemoryVersion): string =>
      base_memory_id === null ? '' : memory_text ?? '';
  `,
  'memory that is none': `
    import type { ConversationTurn, MemoryHealth } from 'precis/types';
    export const health: MemoryHealth = 'well';
    export const turn: ConversationTurn = { user: 'Hello.' };
  `,
  null: `
    import type { MemoryBlocksRequest, MemoryInjectionRequest, MemoryStrategyRequest } from 'precis/types';
    export const strategies: MemoryStrategyRequest[] = [
      { mode: 'auto', token_budget: null, compact_exclude_tools: null, rehydrate: { items: null } },
      { mode: 'rolling_summary', summary_max_tokens: null, archive: null },
      { mode: 'none' },
    ];
    export const injections: MemoryInjectionRequest[] = [{ role: null, max_tokens: null }, true];
    export const blocks: MemoryBlocksRequest[] = [{ labels: [], role: null, writable: null }, ['a'], false];
  `,
  'null elsewhere': `
    import type { MemoryBlocksRequest, MemoryStrategyRequest } from 'precis/types';
    export const strategy: MemoryStrategyRequest = { mode: null };
    export const blocks: MemoryBlocksRequest = { labels: null };
  `,
  'an unknown field': `
    import type { MemoryStrategyRequest } from 'precis/types';
    export const strategy: MemoryStrategyRequest = { mode: 'compact', token_budgt: 32_000 };
  `,
};

const fileOf = (of: string): string => `${of.replaceAll(' ', '-')}.ts`;

/** The compiler's errors. It reads all files at once, since a start takes it longer than a file. */
function compile(): string {
  for (const [of, source] of Object.entries(SOURCES)) writeFileSync(join(dir, fileOf(of)), source);
  const options = [
    '--singleThreaded',
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    '',
  ];
  const files = Object.keys(SOURCES).map(fileOf);
  const { stdout, stderr } = spawnSync(process.execPath, [TSC, ...options, ...files], {
    cwd: dir,
    encoding: 'utf8',
  });
  return stdout + stderr;
}

describe('precis/types', () => {
  const installed = join(dir, 'node_modules/precis');
  mkdirSync(installed, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/zod'), join(dir, 'node_modules/zod'));
  const { name, type, exports } = manifest;
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name, type, exports }));
  execFileSync(
    process.execPath,
    [TSC, '--singleThreaded', '-p', 'tsconfig.types.json', '--outDir', join(installed, 'dist')],
    {
      cwd: ROOT,
    },
  );

  const errors = compile().match(/^.*error TS.*$/gm) ?? [];
  const errorsOf = (of: keyof typeof SOURCES): string[] =>
    errors.filter((error) => error.startsWith(fileOf(of)));

  it('has the strategy, the injection, the memory blocks and the report', () => {
    expect(errorsOf('types')).toEqual([]);
  });

  it('has the turns of a conversation, their digests, and the health and versions of its memory', () => {
    expect(errorsOf('memory')).toEqual([]);
    expect(errorsOf('memory that is none')).toHaveLength(2);
  });

  it('allows null where the API takes it, and not elsewhere', () => {
    expect(errorsOf('null')).toEqual([]);
    expect(errorsOf('null elsewhere')).toHaveLength(2);
  });

  it('knows no field that the schema refuses', () => {
    expect(errorsOf('an unknown field')).toEqual([expect.stringContaining("'token_budgt' does not exist")]);
  });

  it('gives the compiler nothing else to say', () => {
    expect(errors).toHaveLength(5);
  });
});
