/** Headroom's contract, asked as gateways and its own client ask. */
import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';

const deployment = deploy({ vars: { VERIFY_KEYS: 'false' } });
const wide = deploy({
  vars: { VERIFY_KEYS: 'false', DEFAULT_MEMORY_STRATEGY: '{"mode":"auto","token_budget":500000}' },
});

interface Compressed {
  messages: { role: string; content: unknown }[];
  tokens_before: number;
  tokens_after: number;
  tokens_saved: number;
  compression_ratio: number;
  transforms_applied: string[];
  ccr_hashes: string[];
  memory: { mode: string; warnings: string[] };
}

const { model, messages } = recording;

function post(
  body: object,
  headers: Record<string, string> = {},
  path = '/v1/compress',
  at = deployment,
): Promise<Response> {
  return at.postTo(path, body, headers);
}

async function compressed(...asked: Parameters<typeof post>): Promise<Compressed> {
  const response = await post(...asked);
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Compressed;
}

/** As LiteLLM's guardrail looks for them. */
function hashesIn(view: Compressed['messages']): string[] {
  const texts = view.flatMap(({ content }) =>
    Array.isArray(content) ? content.map(({ text }: { text?: string }) => text ?? '') : [String(content)],
  );
  return texts.flatMap((text) => [...text.matchAll(/hash=([a-f0-9]{24})/g)].map(([, hash = '']) => hash));
}

async function retrieved(hash: string, query = ''): Promise<Record<string, string>> {
  const response = await deployment.fetch(`/v1/retrieve/${hash}?query=${encodeURIComponent(query)}`);
  return (await response.json()) as Record<string, string>;
}

describe('POST /v1/compress', () => {
  it('answers a gateway with shorter messages, each removed content under a hash', async () => {
    const { messages: view, ...facts } = await compressed({ model, messages, token_budget: 20_000 });

    expect(facts).toMatchObject({
      tokens_saved: facts.tokens_before - facts.tokens_after,
      compression_ratio: facts.tokens_after / facts.tokens_before,
      memory: { mode: 'auto' },
    });
    expect(facts.compression_ratio).toBeLessThan(0.7);
    const hashes = hashesIn(view);
    expect(hashes.length).toBeGreaterThan(3);
    // Some are in cleared arguments, where LiteLLM does not look.
    expect(facts.ccr_hashes).toEqual(expect.arrayContaining(hashes));
    const [hash = ''] = hashes;
    const whole = await retrieved(hash);
    expect(messages.map(({ content }) => content)).toContain(whole.original_content);
    const ref = await deployment.fetch(`/v1/refs/${whole.ref}`);
    expect(await ref.text()).toBe(whole.original_content);
  });

  it('answers the same array again with the same messages, which an upstream takes', async () => {
    const body = { model, messages, token_budget: 20_000 };
    const first = await compressed(body);
    const again = await compressed(body);

    expect(again.messages).toEqual(first.messages);
    // The strict upstream refuses orphaned results and unknown fields.
    await deployment.ask({ model, messages: first.messages, memory_strategy: { mode: 'none' } });
  });

  it('finds the lines that hold a query, and else gives the whole', async () => {
    const lines = Array.from({ length: 400 }, (_, index) => `line ${index} of the log`).join('\n');
    const { messages: view } = await compressed({
      model,
      messages: conversationOf([lines]),
      memory_strategy: { ...COMPACT_OLD_TURNS, compact_preview_tokens: 0 },
    });
    const [hash = ''] = hashesIn(view);

    const { original_content: found = '' } = await retrieved(hash, 'line 200 of');
    expect(found).toContain('line 200 of the log');
    expect(found.split('\n').length).toBeLessThan(20);
    expect(await retrieved(hash, 'nothing like it')).toMatchObject({ original_content: lines });
  });

  it("takes Anthropic's form from a gateway that passes it on", async () => {
    const steps = ['quinces', 'medlars', 'sloes', 'pears'].flatMap((topic, index) => [
      assistant([{ type: 'tool_use', id: `toolu_${index}`, name: 'read_file', input: { topic } }]),
      user([{ type: 'tool_result', tool_use_id: `toolu_${index}`, content: linesAbout(topic, 200) }]),
    ]);
    const { messages: view, compression_ratio } = await compressed({
      model: 'claude-sonnet-4-5',
      messages: [user('Read the files.'), ...steps, assistant('I have read them.'), user('Thank you.')],
      memory_strategy: COMPACT_OLD_TURNS,
    });

    expect(compression_ratio).toBeLessThan(0.7);
    expect(view.map(({ role }) => role)).toEqual([
      'user',
      ...steps.map(({ role }) => role),
      'assistant',
      'user',
    ]);
    expect(JSON.stringify(view)).toMatch(/"tool_result".*; hash=[a-f0-9]{24}; tokens=/);
  });

  it('leaves messages alone where the gateway asks for that, or they are few', async () => {
    const bypassed = await compressed(
      { model, messages, token_budget: 20_000 },
      { 'x-headroom-bypass': 'true' },
    );
    expect(bypassed).toMatchObject({ messages, tokens_saved: 0, compression_ratio: 1, ccr_hashes: [] });
    const few = await compressed({ messages: [user('How are sales?')] });
    expect(few).toMatchObject({ messages: [user('How are sales?')], ccr_hashes: [] });
  });

  it('obeys the strategy of a request, an agent and a conversation', async () => {
    const none = await compressed({
      model,
      messages,
      memory_strategy: { mode: 'none' },
      token_budget: 20_000,
    });
    expect(none).toMatchObject({ messages, memory: { mode: 'none' } });
    const coding = await compressed({ model, messages }, {}, '/agents/coding/v1/compress');
    expect(coding.memory).toMatchObject({ source: 'agent' });
  });

  it('takes a budget of the body for the request, whatever the default of the deployment', async () => {
    const body = { model, messages };
    const { memory, compression_ratio } = await compressed(
      { ...body, token_budget: 20_000 },
      {},
      undefined,
      wide,
    );
    expect(compression_ratio).toBeLessThan(0.7);
    expect(memory).toMatchObject({ mode: 'auto', source: 'request' });
    expect(await compressed(body, {}, undefined, wide)).toMatchObject({
      compression_ratio: 1,
      memory: { mode: 'auto', source: 'default' },
    });
  });

  it('reads a text that looks like a hash as the text that it is', async () => {
    const { messages: view, ccr_hashes } = await compressed({
      model,
      messages: [user(`⟦removed: observation; reason=offloaded; ref=ref_${'a'.repeat(26)}⟧`)],
    });
    expect(JSON.stringify(view)).not.toContain('hash=');
    expect(ccr_hashes).toEqual([]);
  });

  it.each([
    ['a budget of no number', { messages, token_budget: 'many' }, 'token_budget'],
    ['no messages', { model }, 'messages'],
  ])('refuses %s in the form of OpenAI', async (_, body, param) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } });
  });

  it('gives a content to its own key alone', async () => {
    const { ccr_hashes } = await compressed({ model, messages, token_budget: 20_000 });
    const url = `${deployment.url}/v1/retrieve/${ccr_hashes[0]}`;

    const other = await fetch(url, { headers: { authorization: `Bearer sk-${'another'.repeat(4)}` } });
    expect(other.status).toBe(404);
    expect(await other.json()).toMatchObject({ error: { code: 'ref_not_found', param: 'hash' } });
    for (const hash of ['0'.repeat(24), 'xyz'])
      expect((await deployment.fetch(`/v1/retrieve/${hash}`)).status).toBe(404);
  });

  it('says on /health that the Worker lives', async () => {
    expect(await (await fetch(`${deployment.url}/health`)).json()).toEqual({ status: 'ok' });
  });
});
