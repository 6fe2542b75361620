/**
 * The configurations of docs/clients.md: requests of the form that each client sends, to its base
 * URL and with its headers. The command-line clients are run too, by `npm run test:clients`.
 */
import { describe, expect, it } from 'vitest';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { type ClientSettings, SETTINGS } from '../../support/documents/client-configurations.ts';

const deployment = deploy({ upstream: { strict: { jsonArguments: true } } });

type Json = Record<string, unknown>;

/** Eighteen outputs of about 3,500 tokens: over the budgets of the configurations. */
const STEPS = Array.from({ length: 18 }, (_, at) => ({
  id: `call_${at}`,
  output: Array.from({ length: 250 }, (_, line) => `file ${at} line ${line}: value ${at * line}`).join('\n'),
}));

const SYSTEM = 'You are a careful assistant.';
const TASK = 'Read the files one after the other, and tell me the largest value.';
const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

/** A loop over chat completions. @param content of a result, and of a message that only calls */
const chat = (content: { result: (text: string) => unknown; call: unknown }, more: Json = {}): Json => ({
  model: 'gpt-6-sol',
  stream: true,
  stream_options: { include_usage: true },
  tools: [{ type: 'function', function: { name: 'read_file', parameters: PARAMETERS } }],
  ...more,
  messages: [
    system(SYSTEM),
    user(TASK),
    ...STEPS.flatMap(({ id, output }, at) => [
      {
        role: 'assistant',
        content: content.call,
        tool_calls: [
          { id, type: 'function', function: { name: 'read_file', arguments: `{"path":"${at}"}` } },
        ],
      },
      result(id, content.result(output)),
    ]),
  ],
});

const responses = (more: Json): Json => ({
  model: 'gpt-6-sol',
  store: false,
  tools: [{ type: 'function', name: 'read_file', parameters: PARAMETERS, strict: false }],
  ...more,
  input: [
    user([{ type: 'input_text', text: TASK }]),
    ...STEPS.flatMap(({ id, output }, at) => [
      { type: 'function_call', call_id: id, name: 'read_file', arguments: `{"path":"${at}"}` },
      { type: 'function_call_output', call_id: id, output },
    ]),
  ],
});

/** Files as messages of the user, without tools. */
const typed = (): Json => ({
  model: 'gpt-6-sol',
  stream: true,
  temperature: 0,
  messages: [
    system(SYSTEM),
    ...STEPS.flatMap(({ output }) => [user(`These are the files:\n${output}`), assistant('Ok.')]),
    user(TASK),
  ],
});

const plain = (text: string): unknown => text;
const parts = (text: string): unknown => [{ type: 'text', text }];

/** By client: the path of its requests, their body, and the headers that are its own. */
const REQUESTS: Readonly<
  Record<string, readonly [path: string, body: Json, headers?: Record<string, string>]>
> = {
  Codex: [
    '/responses',
    responses({
      instructions: SYSTEM,
      stream: true,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 's-1',
    }),
    { 'session-id': 's-1', originator: 'codex_cli_rs', accept: 'text/event-stream' },
  ],
  OpenCode: ['/responses', responses({ instructions: SYSTEM, stream: true }), { 'x-session-id': 's-2' }],
  Continue: ['/chat/completions', chat({ result: plain, call: ' ' })],
  Aider: ['/chat/completions', typed()],
  Cline: ['/chat/completions', chat({ result: plain, call: null }, { temperature: 0 })],
  LibreChat: [
    '/chat/completions',
    chat({ result: parts, call: '' }, { user: 'u-1', temperature: 1, top_p: 1 }),
  ],
  'Open WebUI': [
    '/chat/completions',
    chat({ result: plain, call: '' }),
    { 'x-openwebui-user-id': 'u-2', 'x-openwebui-chat-id': 'c-2' },
  ],
};

const withTools = Object.keys(REQUESTS).filter((client) => client !== 'Aider');

/** Sends a client's request where its configuration says. */
async function send(client: string, { baseURL, headers }: ClientSettings): Promise<Response> {
  const [path, body, own] = REQUESTS[client] ?? [''];
  const url = baseURL.replace('http://127.0.0.1:8787', deployment.url);
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...own, ...headers },
    body: JSON.stringify(body),
  });
}

describe('the configuration', () => {
  it.each(Object.keys(SETTINGS))('chooses the strategy of its header: %s', async (client) => {
    const settings = SETTINGS[client] as ClientSettings;
    const answer = await send(client, settings);
    const text = await answer.text();

    expect(answer.status, text).toBe(200);
    expect(answer.headers.get('x-memory-source')).toBe('request');
    expect(answer.headers.get('x-memory-mode')).toBe('auto');
    expect(answer.headers.get('x-memory-warning') ?? '').not.toMatch(/no_tenant|store_failed|upstream_state/);
    expect(deployment.upstream.requests.at(-1)?.headers).not.toHaveProperty('x-memory-strategy');
  });

  it.each(withTools)('has its old outputs sent as placeholders: %s', async (client) => {
    const answer = await send(client, SETTINGS[client] as ClientSettings);

    expect(answer.status, await answer.text()).toBe(200);
    const view = String(deployment.upstream.requests.at(-1)?.rawBody);
    expect(view).toContain('⟦removed: tool output for read_file');
    expect(view).not.toContain('file 1 line 200:');
    expect(view).toContain('file 17 line 249:');
  });

  it('waits until a summary of files in typed messages pays off: Aider', async () => {
    const answer = await send('Aider', SETTINGS.Aider as ClientSettings);

    expect(answer.status, await answer.text()).toBe(200);
    expect(answer.headers.get('x-memory-applied')).toBe('none');
    expect(answer.headers.get('x-memory-warning')).toBe('waiting');
  });

  it.each(withTools)('may name an agent in its base URL instead: %s', async (client) => {
    const { baseURL } = SETTINGS[client] as ClientSettings;
    const answer = await send(client, { baseURL: baseURL.replace('/v1', '/agents/coding/v1'), headers: {} });

    expect(answer.status, await answer.text()).toBe(200);
    expect(answer.headers.get('x-memory-source')).toBe('agent');
    expect(answer.headers.get('x-memory-mode')).toBe('auto');
  });
});
