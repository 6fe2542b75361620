/** The examples, run as they are against a stub: a model that looks at eight orders. */
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { READ_ORDER } from '../../../examples/orders.ts';
import { refsIn } from '../../../src/memory/edits/placeholder.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const ORDERS = 8;
const ANSWER = 'Order 5 is late.';

type Json = Record<string, unknown>;

let asked = 0;

/** Looks at one order after the other, with the tool or as text. */
const clerk: Behaviour = (request, response, recorded) => {
  const { body } = recorded;
  const messages = (body.messages ?? body.input) as Json[];
  const seen = messages.filter(isResult).length;
  const say = (content: string) => behave({ type: 'answer', content }, request, response, recorded);
  if (body.tools === undefined) return void say(textFor(messages, seen));
  if (seen >= ORDERS) return void say(ANSWER);
  const id = `call_${asked++}`;
  const call = { id, name: READ_ORDER.name, arguments: JSON.stringify({ number: seen + 1 }) };
  void behave({ type: 'answer', toolCalls: [call] }, request, response, recorded);
};

function isResult({ role, type, content }: Json): boolean {
  const isObservation = role === 'user' && /^(Observation:|⟦removed)/.test(String(content));
  return role === 'tool' || type === 'function_call_output' || isObservation;
}

/** An agent without tools looks once more at the first observation that was removed. */
function textFor(messages: readonly Json[], seen: number): string {
  if (seen < ORDERS) return `Action: read_order ${seen + 1}`;
  const [ref] = refsIn(JSON.stringify(messages));
  return seen === ORDERS && ref !== undefined ? `⟦fetch ref=${ref}⟧` : ANSWER;
}

const deployment = deploy({ upstream: { strict: { jsonArguments: true }, chat: clerk } });
const execute = promisify(execFile);

/** Runs an example until it ends, and returns its output. */
async function run(command: string, file: string): Promise<string> {
  const env = { ...process.env, PRECIS_URL: deployment.url, OPENAI_API_KEY: KEY };
  const { stdout } = await execute(command, [join(EXAMPLES, file)], { env });
  return stdout;
}

const views = (): string[] =>
  deployment.upstream.requests
    .filter(({ method }) => method === 'POST')
    .map(({ rawBody }) => rawBody.toString());

/** Whether Python can run its example here. The package is not installed by npm. */
function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import openai'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('an example', () => {
  it.each([
    ...['openai.ts', 'ai-sdk.ts', 'agents-sdk.ts', 'langchain.ts'].map((file) => [file, process.execPath]),
    ...(hasPython() ? [['openai.py', 'python3']] : []),
  ])('sends placeholders in the place of old outputs, and gets its answer: %s', async (file, command) => {
    const output = await run(command ?? '', file ?? '');

    expect(output).toContain(ANSWER);
    expect(views()).toHaveLength(ORDERS + 1);
    expect(views().at(-1)).toContain('⟦removed: tool output for read_order');
    expect(views().at(-1)).not.toContain('event 7 of order 1:');
    expect(views().at(-1)).not.toContain('memory_strategy');
  });

  it('without tools fetches a removed observation that the model asks for in text', async () => {
    const output = await run(process.execPath, 'text-mode.ts');

    expect(output).toMatch(/the model: ⟦fetch ref=ref_[a-z2-7]{26}⟧\n.*the model: Order 5 is late\./);
    const [before, after] = views().slice(-2);
    expect(before).not.toContain('event 7 of order 1:');
    expect(before).toContain('⟦removed: observation; reason=context_compaction; ref=');
    expect(after).toContain('Observation: order 1: delivered');
  });

  it('with curl shows headers and report', async () => {
    deployment.upstream.next({ type: 'answer', content: ANSWER });
    const output = await run('sh', 'curl.sh');

    expect(output).toMatch(/^x-memory-mode: compact\r?$/m);
    expect(output).toContain('"memory":{"mode":"compact"');
  });
});
