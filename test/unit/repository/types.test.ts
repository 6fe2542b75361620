/** The types for callers (`precis/types`), as another package sees them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const dir = mkdtempSync(join(tmpdir(), 'types-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** What the compiler says about a file of a package that depends on this one. */
function compiled(source: string): string {
  writeFileSync(join(dir, 'caller.ts'), source);
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', ''];
  try {
    execFileSync(process.execPath, [TSC, ...options, 'caller.ts'], { cwd: dir, encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe('precis/types', () => {
  const installed = join(dir, 'node_modules/precis');
  mkdirSync(installed, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/zod'), join(dir, 'node_modules/zod'));
  const { name, type, exports } = manifest;
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name, type, exports }));
  execFileSync(process.execPath, [TSC, '-p', 'tsconfig.types.json', '--outDir', join(installed, 'dist')], {
    cwd: ROOT,
  });

  it('has the strategy, the injection, the memory blocks and the report', () => {
    const source = `
      import type { MemoryBlocksRequest, MemoryInjectionRequest, MemoryReport, MemoryStrategyRequest } from 'precis/types';
      export const blocks: MemoryBlocksRequest = { labels: ['team'], writable: true };
      export const strategy: MemoryStrategyRequest = { mode: 'auto', token_budget: 32_000 };
      export const injection: MemoryInjectionRequest = { role: 'user' };
      export const freed = ({ tokens }: MemoryReport): number => (tokens?.before ?? 0) - (tokens?.after ?? 0);
    `;
    expect(compiled(source)).toBe('');
  });

  it('allows null where the API takes it, and not elsewhere', () => {
    const allowed = `
      import type { MemoryBlocksRequest, MemoryInjectionRequest, MemoryStrategyRequest } from 'precis/types';
      export const strategies: MemoryStrategyRequest[] = [
        { mode: 'auto', token_budget: null, compact_exclude_tools: null, rehydrate: { items: null } },
        { mode: 'rolling_summary', summary_max_tokens: null, archive: null },
        { mode: 'none' },
      ];
      export const injections: MemoryInjectionRequest[] = [{ role: null, max_tokens: null }, true];
      export const blocks: MemoryBlocksRequest[] = [{ labels: [], role: null, writable: null }, ['a'], false];
    `;
    expect(compiled(allowed)).toBe('');
    const refused = `
      import type { MemoryBlocksRequest, MemoryStrategyRequest } from 'precis/types';
      export const strategy: MemoryStrategyRequest = { mode: null };
      export const blocks: MemoryBlocksRequest = { labels: null };
    `;
    expect(compiled(refused).match(/error TS/g)).toHaveLength(2);
  });

  it('knows no field that the schema refuses', () => {
    const source = `
      import type { MemoryStrategyRequest } from 'precis/types';
      export const strategy: MemoryStrategyRequest = { mode: 'compact', token_budgt: 32_000 };
    `;
    expect(compiled(source)).toContain("'token_budgt' does not exist");
  });
});
