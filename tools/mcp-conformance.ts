/**
 * `npm run mcp:conformance`: runs the public conformance suite of the Model Context Protocol
 * against `/mcp`, in both eras. It needs a network: npx fetches the suite, which is no dependency.
 *
 * The suite is for a server that has everything. What this one has not, by intention, is named
 * here, by check; any other failure ends the script with an error.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWorker } from './own-worker.ts';

/** The first releases with the revision 2026-07-28 are alphas. */
const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';

/** All scenarios for what the server has. Others call tools, prompts and resources of the suite. */
const SCENARIOS = [
  'server-initialize',
  'server-session-lifecycle',
  'ping',
  'tools-list',
  'server-stateless',
  'caching',
  'http-header-validation',
  'dns-rebinding-protection',
  'input-required-result-unsupported-methods',
];

const NO_TOOL_OF_THE_SUITE = 'needs a tool of the suite';
const NO_OTHER_LISTS = 'the server has tools alone';

/** Checks that fail by intention, and why. */
const INTENDED: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability': NO_TOOL_OF_THE_SUITE,
  'sep-2575-missing-capability-http-400': NO_TOOL_OF_THE_SUITE,
  'sep-2575-http-server-no-independent-requests-on-stream': NO_TOOL_OF_THE_SUITE,
  'sep-2575-server-no-log-without-loglevel': NO_TOOL_OF_THE_SUITE,
  'sep-2549-prompts-list-caching-hints': NO_OTHER_LISTS,
  'sep-2549-resources-list-caching-hints': NO_OTHER_LISTS,
  'sep-2549-resources-templates-list-caching-hints': NO_OTHER_LISTS,
};

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** The checks of a scenario. */
function checksOf(scenario: string, url: string): readonly Check[] {
  const results = mkdtempSync(join(tmpdir(), 'precis-conformance-'));
  try {
    const args = ['--yes', SUITE, 'server', '--url', url, '--scenario', scenario, '-o', results];
    const run = spawnSync('npx', args, { encoding: 'utf8' });
    const files = readdirSync(results, { recursive: true, encoding: 'utf8' });
    const file = files.find((name) => name.endsWith('checks.json'));
    if (file === undefined) throw new Error(`${scenario} has no results: ${run.stderr.slice(-2_000)}`);
    return JSON.parse(readFileSync(join(results, file), 'utf8')) as Check[];
  } finally {
    rmSync(results, { recursive: true });
  }
}

const worker = await startWorker({
  PRECIS_SECRET: 'only-for-a-run-of-the-conformance-suite',
  // The suite sends no key.
  LOCAL_TENANT: 'conformance',
  UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
});
try {
  let passed = 0;
  for (const scenario of SCENARIOS) {
    for (const { id, status, errorMessage } of checksOf(scenario, `${worker.url}/mcp`)) {
      if (status === 'SUCCESS') passed++;
      if (status !== 'FAILURE') continue;
      const why = INTENDED[id];
      console.log(`${scenario}: ${id}: ${why ?? `FAILED: ${errorMessage}`}`);
      if (why === undefined) process.exitCode = 1;
    }
  }
  console.log(`${passed} checks passed`);
} finally {
  await worker.close();
}
