/** The recipe of docs/local-models.md, with its variables and its strategy. */
import { describe, expect, it } from 'vitest';
import { calls, result, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { commandsIn } from '../../support/documents/shell.ts';
import { SNIPPETS } from '../../support/documents/snippets.ts';

const onPage = SNIPPETS.filter(({ page }) => page === 'docs/local-models.md');
const strategy = onPage.find(({ language }) => language === 'json')?.code ?? '';

/** The variables of each `npm start`, without the upstream's address. */
const STARTS = onPage
  .filter(({ language }) => language === 'sh')
  .flatMap(({ code }) => commandsIn(code))
  .filter(({ words }) => words[0] === 'npm')
  .map(({ words }) =>
    Object.fromEntries(
      words
        .filter((_, at) => words[at - 1] === '--var')
        .map((word) => /^(\w+):(.*)$/s.exec(word)?.slice(1) ?? [])
        .filter(([name]) => name !== 'UPSTREAM_BASE_URL'),
    ),
  );

/** About 48,000 tokens: twice the budget. */
const MESSAGES = [
  user('Look at the logs, one after the other.'),
  ...Array.from({ length: 16 }, (_, at) => [
    calls([`call_${at}`, 'read_log', `{"day":${at}}`]),
    result(
      `call_${at}`,
      Array.from({ length: 300 }, (__, line) => `day ${at} line ${line}: took ${at * line} ms`).join('\n'),
    ),
  ]).flat(),
];

const TOOLS = [{ type: 'function', function: { name: 'read_log', parameters: { type: 'object' } } }];

/** Names as clients send them, by family. */
const MODELS: Readonly<Record<string, string>> = {
  gemma4: 'gemma4:31b',
  'qwen3-8b': 'Qwen/Qwen3-8B',
  local: 'local',
};

it('the page starts three servers', () => {
  expect(STARTS).toHaveLength(3);
});

describe.each(STARTS)('a deployment with %j', (vars) => {
  const deployment = deploy({ vars });
  const [row] = JSON.parse(vars.MODEL_WINDOWS ?? '[]') as { family: string; window: number }[];
  const { family, window } = row ?? { family: '', window: 0 };
  const ask = (key: string) =>
    fetch(`${deployment.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'x-memory-strategy': strategy },
      body: JSON.stringify({ model: MODELS[family], messages: MESSAGES, tools: TOOLS }),
    });

  it.each(['ollama', 'EMPTY'])('sends what fits, for a caller with the key %s', async (key) => {
    const answer = await ask(key);

    expect(answer.status, await answer.text()).toBe(200);
    expect(answer.headers.get('x-memory-warning')).toBeNull();
    expect(Number(answer.headers.get('x-memory-tokens-before'))).toBeGreaterThan(window);
    const { token_budget } = JSON.parse(strategy) as { token_budget: number };
    expect(Number(answer.headers.get('x-memory-tokens-after'))).toBeLessThanOrEqual(token_budget);
    expect(String(deployment.upstream.requests.at(-1)?.rawBody)).toContain(
      '⟦removed: tool output for read_log',
    );
  });
});

describe('a deployment without LOCAL_TENANT', () => {
  const deployment = deploy();

  it('shows placeholders without refs to callers with a short key, and says so', async () => {
    const answer = await fetch(`${deployment.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer ollama', 'x-memory-strategy': strategy },
      body: JSON.stringify({ model: 'gemma4', messages: MESSAGES, tools: TOOLS }),
    });

    expect(answer.status, await answer.text()).toBe(200);
    expect(answer.headers.get('x-memory-warning')).toContain('no_tenant');
    const view = String(deployment.upstream.requests.at(-1)?.rawBody);
    expect(view).toContain('⟦removed: tool output for read_log');
    expect(view).not.toContain('ref=ref_');
  });
});
