/** The examples, run as they are against a stub: a model that looks at sixteen orders. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { READ_ORDER } from '../../../examples/orders.ts';
import { refsIn } from '../../../src/memory/conversation/refs.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const ORDERS = 16;
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

/** The stand-in for Python's package `openai`, which npm does not install. */
const PYTHON_STAND_IN = join(import.meta.dirname, '../../support/clients/python');

/** Runs an example until it ends, and returns its output. */
async function run(command: string, file: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = { ...process.env, ...more, PRECIS_URL: deployment.url, OPENAI_API_KEY: KEY };
  const { stdout } = await execute(command, [join(EXAMPLES, file)], { env });
  return stdout;
}

const views = (): string[] =>
  deployment.upstream.requests
    .filter(({ method }) => method === 'POST')
    .map(({ rawBody }) => rawBody.toString());

/** Whether the machine has a Python, and with a package where one is named. */
function hasPython(statement = ''): boolean {
  try {
    execFileSync('python3', ['-c', statement], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What an example with the tool has printed and sent, of sixteen orders with one move. */
function expectOneMove(output: string): void {
  expect(output).toContain(ANSWER);
  expect(views()).toHaveLength(ORDERS + 1);
  expect(views().at(-1)).toContain('⟦removed: tool output for read_order');
  expect(views().at(-1)).not.toContain('event 7 of order 1:');
  expect(views().at(-1)).not.toContain('memory_strategy');
  const frontiers = frontiersIn(output);
  expect(frontiers).toHaveLength(ORDERS + 1);
  expect(frontiers.filter((each) => each === 'moved')).toHaveLength(1);
  expect(frontiers.at(-1)).toBe('kept');
}

function frontiersIn(output: string): (string | undefined)[] {
  return [...output.matchAll(/; frontier: (\w+)$/gm)].map(([, frontier]) => frontier);
}

describe('an example', () => {
  it.each(['openai.ts', 'ai-sdk.ts', 'agents-sdk.ts', 'langchain.ts'])(
    'replaces old outputs by placeholders, moves the frontier once, and gets its answer: %s',
    async (file) => expectOneMove(await run(process.execPath, file)),
  );

  it.skipIf(!hasPython())('in Python does the same, with a stand-in for its package', async () => {
    expectOneMove(await run('python3', 'openai-python.py', { PYTHONPATH: PYTHON_STAND_IN }));
  });

  it.skipIf(!hasPython('import openai'))('in Python does the same, with its package', async () => {
    expectOneMove(await run('python3', 'openai-python.py'));
  });

  it.skipIf(!hasPython('import agents'))('of the Agents SDK in Python does the same', async () => {
    expectOneMove(await run('python3', 'agents-sdk-python.py'));
  });

  it.skipIf(!hasPython('import langchain_openai'))('of LangChain in Python does the same', async () => {
    expectOneMove(await run('python3', 'langchain-python.py'));
  });

  it('has no name that Python would import instead of a package', () => {
    const names = readdirSync(EXAMPLES).map((file) => file.replace(/\.py$/, ''));
    expect(names).not.toContain('openai');
  });

  it('without tools fetches a removed observation that the model asks for in text', async () => {
    const output = await run(process.execPath, 'text-mode.ts');

    expect(output).toMatch(/the model: ⟦fetch ref=ref_[a-z2-7]{26}⟧\n.*\nthe model: Order 5 is late\./);
    const [before, after] = views().slice(-2);
    expect(before).not.toContain('event 7 of order 1:');
    expect(before).toContain('⟦removed: observation; reason=context_compaction; ref=');
    expect(after).toContain('Observation: order 1: delivered');
  });

  it('with curl shows headers and report', async () => {
    deployment.upstream.next({ type: 'answer', content: ANSWER });
    const output = await run('sh', 'curl.sh');

    expect(output).toMatch(/^x-memory-mode: auto\r?$/m);
    expect(output).toContain('"memory":{"mode":"auto"');
  });
});
