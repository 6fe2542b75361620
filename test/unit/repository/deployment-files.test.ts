/** Files about installing and deploying Precis. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../..', name), 'utf8');

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
}

describe('package-lock.json', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const locked = Object.entries(packages).filter(([path]) => path !== '');

  it('F16: has the integrity of every package, on whatever system it is installed', () => {
    const broken = locked.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));

    expect(locked.length).toBeGreaterThan(200);
    expect(broken.map(([path]) => path)).toEqual([]);
  });

  it('F16: names no registry but the public one', () => {
    const elsewhere = locked.filter(
      ([, { resolved = 'https://registry.npmjs.org/' }]) => new URL(resolved).host !== 'registry.npmjs.org',
    );

    expect(elsewhere.map(([path]) => path)).toEqual([]);
  });
});

describe('the release workflow', () => {
  interface Step {
    readonly uses?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    jobs: Record<string, { readonly steps: readonly Step[] }>;
  };

  it('publishes with Node 24 or later, whose npm knows trusted publishers', () => {
    const node = jobs.npm?.steps.find(({ uses = '' }) => uses.startsWith('actions/setup-node@'));

    expect(node?.with?.['node-version']).toBeGreaterThanOrEqual(24);
  });

  it('names the image in lower case, which a registry requires and an owner’s name may not have', () => {
    const tags = jobs.image?.steps.flatMap((step) => step.with?.tags ?? []).join('\n');

    expect(tags).toContain('.outputs.tags');
    expect(tags).not.toContain('github.repository');
  });
});

describe('wrangler.toml', () => {
  it('makes and binds each class of Durable Objects that the Worker exports', () => {
    const text = read('wrangler.toml');
    const bound = [...text.matchAll(/^class_name = "(\w+)"$/gm)].map(([, name]) => name);
    const made = [...text.matchAll(/^new_sqlite_classes = \[(.*)\]$/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/"(\w+)"/g)].map(([, name]) => name),
    );
    const exported = [...read('src/index.ts').matchAll(/^export .*?(\w+)(?: extends .*\{| \} from .*)$/gm)];

    expect(bound.length).toBeGreaterThan(3);
    expect(made.toSorted()).toEqual(bound.toSorted());
    expect(exported.map(([, name]) => name).toSorted()).toEqual(bound.toSorted());
  });

  it('F16: keeps URLs, which hold the words of a search, out of the logs', () => {
    const [, logs = ''] = read('wrangler.toml').split('[observability.logs]\n');

    expect(logs.split('\n[')[0]).toMatch(/^invocation_logs = false$/m);
  });
});
