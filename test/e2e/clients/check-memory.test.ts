/** The commands by which docs/getting-started.md checks a memory, and what it says of answers. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import { run } from '../../support/deployment/backups.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';
import { SNIPPETS } from '../../support/documents/snippets.ts';

const summarizer = await startRollingSummarizer();
const deployment = deploy({ vars: summarizer.vars });

const blocks = SNIPPETS.filter(({ page }) => page === 'docs/getting-started.md');
const scripts = blocks.filter(({ language }) => language === 'sh');
const commands = scripts.slice(scripts.findIndex(({ code }) => code.includes('x-conversation-id: check')));

const PAGE = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8');
/** The page has it within a sentence. */
const DELETE = 'curl -X DELETE -H "$AUTH" "$HOST/v1/conversations/check/memory"';

const runBlock = (at: number): Promise<string> => runScript(commands[at]?.code ?? '');

/** Runs a script after the block that sets the variables. */
async function runScript(script: string): Promise<string> {
  const code = [commands[0]?.code, script]
    .join('\n')
    .replaceAll('http://127.0.0.1:8787', deployment.url)
    .replaceAll('curl ', 'curl --silent --show-error --fail-with-body ');
  const env = { PATH: process.env.PATH ?? '', OPENAI_API_KEY: KEY };
  const ran = await run('bash', ['--norc', '-euo', 'pipefail', '-c', code], { env, cwd: ROOT });
  expect(ran, ran.said).toMatchObject({ code: 0 });
  return ran.said;
}

/** The last JSON object of an output. */
// biome-ignore lint/suspicious/noExplicitAny: it has the members that the page names
const lastJson = (said: string): any =>
  JSON.parse(said.slice(said.lastIndexOf('\n{"') + 1 || said.indexOf('{"')));

describe.skipIf(spawnSync('curl', ['--version']).status !== 0)('the check of a memory', () => {
  it('shows what the page says, from the first memory to its deletion', async () => {
    expect(commands).toHaveLength(4);
    summarizer.say('The order has the number 4711.');

    const first = await runBlock(1);
    expect(first).toContain('x-memory-applied: none');
    const flushed = JSON.parse(first.slice(first.lastIndexOf('{"id":"check"')));
    expect(flushed).toMatchObject({ health: 'healthy', stuck: false, up_to_date: true });
    expect(flushed.memories).toMatchObject([
      { memory_id: 1, base_memory_id: null, start_sequence: 0, end_sequence: 3, status: 'completed' },
    ]);
    expect(flushed.memories[0].memory_text).toContain('4711');

    const second = await runBlock(2);
    expect(second).toContain('x-memory-applied: summarize');
    expect(second).toContain('x-memory-frontier: moved');
    expect(second).toContain('"covers":[0,3]');
    const { memories } = JSON.parse(second.slice(second.lastIndexOf('{"id":"check"')));
    expect(memories).toMatchObject([
      { memory_id: 2, base_memory_id: 1, start_sequence: 2, end_sequence: 5, status: 'completed' },
      { memory_id: 1, start_sequence: 0, end_sequence: 3, status: 'completed' },
    ]);

    const { messages } = lastJson(await runBlock(3));
    expect(messages).toHaveLength(5);
    expect(messages[1].content).toContain('<session_summary');
    const sent = JSON.parse(readFileSync(join(ROOT, 'examples/check-memory/fourth-round.json'), 'utf8'));
    expect(messages.slice(2)).toEqual(sent.messages.slice(4));

    expect(PAGE).toContain(`\`${DELETE}\``);
    await runScript(DELETE);
    const gone = await deployment.fetch('/v1/conversations/check/memory');
    expect(gone.status).toBe(404);
  });
});
