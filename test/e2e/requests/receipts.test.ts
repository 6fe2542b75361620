import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import type { Receipt } from '../../../src/memory/plan/receipt-schema.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

interface Verification {
  readonly valid: boolean;
  readonly complete: boolean;
  readonly checks: readonly { name: string; ok: boolean | null; reason?: string }[];
}

const BODY = {
  model: recording.model,
  tools: recording.tools,
  messages: recording.messages.slice(0, 43),
  max_completion_tokens: 1_000,
};

const STRATEGIES = {
  none: { mode: 'none' },
  compact: { mode: 'compact', token_budget: 20_000 },
  trim: { mode: 'trim', max_turns: 1, keep_last_n_turns: 1, token_budget: 20_000 },
  auto: { mode: 'auto', token_budget: 20_000 },
  observed: { mode: 'auto', token_budget: 20_000, observe: true },
} as const;

const ALL = [
  'signature',
  'version',
  'array',
  'request',
  'strategy',
  'prices',
  'text',
  'plan',
  'view',
  'words',
];

overProtocols('a receipt', deployment, (protocol) => {
  const verify = async (body: object, receipt: unknown, headers: Record<string, string> = {}) => {
    const key = protocol.key(KEY);
    const response = await fetch(`${deployment.url}/v1/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...protocol.body(body as Record<string, unknown>), receipt }),
    });
    return { status: response.status, answer: (await response.json()) as Verification };
  };
  const receiptOf = async (
    body: { messages: object[]; memory_strategy: object; [field: string]: unknown },
    stream = false,
  ): Promise<Receipt> => {
    const { memory } = await deployment.ask({ ...body, stream });
    if (!memory.receipt) throw new Error('the report has no receipt');
    return memory.receipt;
  };
  const failing = ({ checks }: Verification) =>
    checks.filter(({ ok }) => ok === false).map(({ name }) => name);

  it.each(Object.entries(STRATEGIES))('of mode %s is verified from the array', async (_, memory_strategy) => {
    for (const stream of [false, true]) {
      const receipt = await receiptOf({ ...BODY, memory_strategy }, stream);
      const { status, answer } = await verify(BODY, receipt);

      expect(status).toBe(200);
      expect(answer.checks).toEqual(ALL.map((name) => ({ name, ok: true })));
      expect(answer).toMatchObject({ object: 'memory.verification', valid: true, complete: true });
    }
    const asked = deployment.upstream.requests.length;
    await verify(BODY, await receiptOf({ ...BODY, memory_strategy }));
    // One for the receipt, none for its verification.
    expect(deployment.upstream.requests.length).toBe(asked + 1);
  });

  it('says the same again but for its time, and names nothing of the conversation', async () => {
    const body = { ...BODY, memory_strategy: STRATEGIES.compact };
    const [one, other] = [await receiptOf(body), await receiptOf(body)];

    expect(one.hashes).toEqual(other.hashes);
    expect(Object.keys(one).toSorted()).toEqual(
      [
        'version',
        'precis',
        'issued_at',
        'protocol',
        'observed',
        'strategy',
        'limit',
        'hashes',
        'signature',
      ].toSorted(),
    );
  });

  it.each<[string, (receipt: Receipt) => Receipt, string[]]>([
    [
      'its strategy',
      (one) => ({ ...one, strategy: { ...one.strategy, token_budget: 24_000 } }),
      ['signature', 'strategy'],
    ],
    [
      'its plan',
      (one) => ({ ...one, hashes: { ...one.hashes, plan: one.hashes.view } }),
      ['signature', 'plan'],
    ],
    [
      'its view',
      (one) => ({ ...one, hashes: { ...one.hashes, view: one.hashes.array } }),
      ['signature', 'view'],
    ],
    ['its time', (one) => ({ ...one, issued_at: one.issued_at + 1 }), ['signature']],
    ['its signature', (one) => ({ ...one, signature: one.hashes.view }), ['signature']],
  ])('is not valid when %s was changed', async (_, change, failed) => {
    const receipt = await receiptOf({ ...BODY, memory_strategy: STRATEGIES.compact });
    const { answer } = await verify(BODY, change(receipt));

    expect(answer.valid).toBe(false);
    expect(failing(answer)).toEqual(failed);
  });

  it('is not made for a body of over 4 MiB', async () => {
    const content = 'word '.repeat(900_000);
    const body = {
      model: 'gpt-4.1',
      messages: [{ role: 'user', content }],
      memory_strategy: STRATEGIES.none,
    };
    const { memory } = await deployment.ask(body);

    expect(memory.mode).toBe('none');
    expect(memory).not.toHaveProperty('receipt');
    const { status, answer } = await verify(
      body,
      await receiptOf({ ...BODY, memory_strategy: STRATEGIES.none }),
    );
    expect(status).toBe(413);
    expect(answer).toMatchObject({ error: { code: 'body_too_large' } });
  });

  it('is not valid for another array, model or key', async () => {
    const receipt = await receiptOf({ ...BODY, memory_strategy: STRATEGIES.compact });
    const others = BODY.messages.map((message, at) =>
      at === 3 ? { ...message, content: 'other' } : message,
    );

    expect(failing((await verify({ ...BODY, messages: others }, receipt)).answer)).toEqual(['array']);
    expect(failing((await verify({ ...BODY, tools: undefined }, receipt)).answer)).toEqual(['request']);
    const stranger = { authorization: `Bearer ${protocol.key('sk-another-key-of-a-test-0123456789')}` };
    // Before the upstream knows a key, no plan is made for it.
    await (await deployment.chat(BODY, stranger)).text();
    const { answer } = await verify(BODY, receipt, stranger);
    expect(failing(answer)).toContain('signature');
  });

  it('is not valid without a key, whose tenant alone can have signed it', async () => {
    const receipt = await receiptOf({ ...BODY, memory_strategy: STRATEGIES.none });
    const response = await fetch(`${deployment.url}/v1/verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...protocol.body(BODY as Record<string, unknown>),
        receipt: { ...receipt, issued_at: 1 },
      }),
    });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Verification;
    expect(answer.checks).toContainEqual(expect.objectContaining({ name: 'signature', ok: null }));
    expect(answer).toMatchObject({ valid: false, complete: false });
  });

  it("knows a summary's words while they are stored, and leaves them open then", async () => {
    const memory_strategy = {
      mode: 'summarize',
      context_limit: 1,
      keep_last_n_turns: 1,
      token_budget: 20_000,
    };
    const turns = Array.from({ length: 6 }, (_, n) => [
      { role: 'user', content: `Question ${n}: ${'what follows from that? '.repeat(60)}` },
      { role: 'assistant', content: `Answer ${n}. ${'This is the answer to it. '.repeat(60)}` },
    ]).flat();
    const conversation_id = `a case over ${protocol.name}`;
    const body = {
      model: 'gpt-4.1',
      messages: [...turns, { role: 'user', content: 'And?' }],
      conversation_id,
    };
    const receipt = await receiptOf({ ...body, memory_strategy });
    expect(receipt.hashes.words).toMatch(/^[\da-f]{64}$/);
    const stored = await verify(body, receipt);
    expect(stored.answer).toMatchObject({ valid: true, complete: true });

    const path = `/v1/conversations/${encodeURIComponent(conversation_id)}/memory`;
    expect((await deployment.fetch(path, { method: 'DELETE' })).ok).toBe(true);
    const { answer } = await verify(body, receipt);
    expect(answer).toMatchObject({ valid: true, complete: false });
    expect(answer.checks).toContainEqual({ name: 'plan', ok: true });
    expect(answer.checks.filter(({ ok }) => ok === null).map(({ name }) => name)).toEqual(['view', 'words']);
  });

  it.each([
    [undefined, 'receipt'],
    ['a text', 'receipt'],
    [{ version: 2 }, 'receipt.version'],
  ])('is refused if it is %j', async (receipt, param) => {
    const { status, answer } = await verify(BODY, receipt);

    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { type: 'invalid_request_error', code: 'invalid_value', param } });
  });

  it('names the field of a strategy that this version does not know', async () => {
    const receipt = await receiptOf({ ...BODY, memory_strategy: STRATEGIES.compact });
    const { status, answer } = await verify(BODY, {
      ...receipt,
      strategy: { mode: 'compact', of_tomorrow: 1 },
    });

    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { param: 'receipt.strategy.of_tomorrow' } });
  });
});

describe('precis verify', () => {
  const folder = mkdtempSync(join(tmpdir(), 'precis-receipt-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = (...args: string[]): Promise<{ code: number; said: string }> =>
    new Promise((resolve) => {
      const env = { ...process.env, OPENAI_API_KEY: KEY, PRECIS_URL: deployment.url };
      execFile(process.execPath, ['bin/precis.js', ...args], { env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), said: out + err }),
      );
    });
  const file = (name: string, value: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };

  it('prints the checks of an answer and its request, and ends with their verdict', async () => {
    const { text } = await deployment.ask({ ...BODY, memory_strategy: STRATEGIES.compact });
    const answer = file('answer.json', text);
    const right = await run('verify', answer, file('request.json', BODY));
    expect(right).toEqual({ code: 0, said: expect.stringMatching(/^✓ signature\n(✓ \w+\n){9}valid\n$/) });

    const wrong = await run('verify', answer, file('array.json', BODY.messages.slice(1)));
    expect(wrong.code).toBe(1);
    expect(wrong.said).toMatch(/✗ array +These are different messages\./);
    expect(right.said + wrong.said).not.toContain(KEY);
  });

  it('verifies a body that is not written as a client would write it', async () => {
    const text = JSON.stringify(
      { ...BODY, memory_strategy: STRATEGIES.compact, memory_report: true },
      null,
      2,
    );
    const answered = await (await deployment.wire(text)).text();
    const whole = await run('verify', file('answer.json', answered), file('request.json', text));
    expect(whole).toEqual({ code: 0, said: expect.stringMatching(/^(✓ \w+\n){10}valid\n$/) });

    const anew = await run('verify', file('answer.json', answered), file('b.json', JSON.parse(text)));
    expect(anew.code).toBe(0);
    expect(anew.said).toMatch(/\? text +White space or escapes differ/);
    expect(anew.said).toMatch(/\? plan +It may depend on white space/);
  });

  it.each([
    ['asks for no key', 200, { status: 'ok' }],
    ['asks for one as others do', 401, { error: { message: "You didn't provide an API key." } }],
    ['knows no such path', 404, {}],
  ])('B11: gives neither key nor request to a server that %s', async (_, status, json) => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const files = [file('r.json', {}), file('b.json', BODY)];
    const { code, said } = await run('verify', ...files, '--url', `http://127.0.0.1:${port}`);
    server.close();
    expect(seen).toEqual(['GET /v1/deployment ']);
    expect(said).toContain('the key was not sent, since this does not answer like Precis');
    expect(code).toBe(2);
  });

  it('says what it lacks', async () => {
    expect(await run('verify')).toEqual({
      code: 2,
      said: expect.stringContaining('precis verify <receipt.json>'),
    });
    expect(await run('verify', file('broken.json', '{'), file('b.json', {}))).toEqual({
      code: 2,
      said: expect.stringContaining('not JSON'),
    });
    const nobody = await run('verify', file('r.json', {}), file('b.json', {}), '--url', 'http://127.0.0.1:9');
    expect(nobody).toEqual({ code: 2, said: expect.stringContaining("can't be asked") });
    expect(await run('verify', file('r.json', {}), file('b.json', BODY))).toEqual({
      code: 2,
      said: expect.stringContaining('400 receipt'),
    });
  });
});
