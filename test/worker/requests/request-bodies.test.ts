/** How much of a request's body is read. */
import { beforeEach, describe, expect, it } from 'vitest';
import { user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { lower } from '../../support/size-limits.ts';
import { startApp, watchedBucket } from '../support.ts';

beforeEach(quiet);

const MiB = 1024 * 1024;
/** Of every deployment. */
const LARGEST = 16 * MiB;
/** Lower, since most cases differ in what is refused, and not in how much. */
const LIMIT = MiB;
const CHUNK = 64 * 1024;
const ACCESS = {
  ACCESS_KEYS: 'one=sk-a-caller-of-the-worker-tests',
  UPSTREAM_API_KEY: 'sk-the-key-of-the-deployer',
};

/** A body of many pieces. It counts its bytes that were read, and shows whether it was canceled. */
function streamed(text: string) {
  const bytes = new TextEncoder().encode(text);
  const seen = { read: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.read >= bytes.length) return controller.close();
        const chunk = bytes.slice(seen.read, seen.read + CHUNK);
        seen.read += chunk.length;
        controller.enqueue(chunk);
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen, length: bytes.length };
}

/** A body of this many times the limit. */
const textOf = (path: string, times: number, fields: object = {}, limit = LIMIT) =>
  JSON.stringify({
    model: 'gpt-4.1',
    ...fields,
    [path === '/v1/responses' ? 'input' : 'messages']: [user('x'.repeat(times * limit))],
  });

async function ask(
  path: string,
  text: string,
  { headers = {}, announced = false, variables = {}, method = 'POST' }: Partial<Asking> = {},
) {
  const app = startApp(watchedBucket().bucket, variables);
  const { body, seen, length } = streamed(text);
  const named = announced ? { ...headers, 'content-length': String(length) } : headers;
  const response = await app.request(path, { method, headers: named, body });
  const answer = (await response.json()) as {
    error?: { code: string; param: string | null; message: string };
  };
  return { status: response.status, error: answer.error, headers: response.headers, sent: app.sent, seen };
}

interface Asking {
  readonly headers: Record<string, string>;
  readonly announced: boolean;
  readonly variables: object;
  readonly method: string;
}

describe.each(['/v1/chat/completions', '/v1/responses'])('F4: a body over the limit to %s', (path) => {
  const param = path === '/v1/responses' ? 'input' : 'messages';
  const edited = { headers: { 'x-memory-strategy': 'compact' } };

  beforeEach(() => lower({ body: LIMIT }));

  it('is refused before a byte of it is read, where its length is announced', async () => {
    const { status, error, sent, seen } = await ask(path, textOf(path, 5), { ...edited, announced: true });

    expect([status, error?.code, error?.param]).toEqual([413, 'body_too_large', param]);
    expect([seen.read, sent.length]).toEqual([0, 0]);
    expect(error?.message).toContain('forwarded unchanged');
    for (const other of ['/v1/compact', '/v1/explain', '/v1/compress']) {
      const { status, error } = await ask(other, textOf(path, 5));
      expect([other, status, error?.message]).toEqual([other, 413, expect.not.stringContaining('none')]);
    }
  });

  it('is refused at the limit, where it is not', async () => {
    const { status, error, sent, seen } = await ask(path, textOf(path, 5), edited);

    expect([status, error?.code, error?.param]).toEqual([413, 'body_too_large', param]);
    expect(seen.read).toBeLessThanOrEqual(LIMIT + CHUNK);
    expect([seen.cancelled, sent.length]).toEqual([true, 0]);
  });

  it.each([
    ['the deployment', {}],
    ['a header', { headers: { 'x-memory-strategy': 'none', 'x-conversation-id': 'c' } }],
    [
      'a header before the deployment',
      { headers: { 'x-memory-strategy': 'none' }, variables: { DEFAULT_MEMORY_STRATEGY: 'auto' } },
    ],
  ])('is sent byte for byte where %s says that nothing is done', async (_, asking) => {
    const text = textOf(path, 17 / 16);
    for (const announced of [false, true]) {
      const { status, headers, sent } = await ask(path, text, { ...asking, announced });

      expect([status, headers.get('x-memory-mode')]).toEqual([200, 'none']);
      expect(sent[0]?.body === text).toBe(true);
    }
  });

  it.each([
    'memory_strategy',
    'memory_injection',
    'memory_report',
    'memory_summary',
    'conversation_id',
    'agent_type',
  ])(
    'is refused where it holds a field of Precis, and the upstream gets no whole body: %s',
    async (field) => {
      const { status, error, sent } = await ask(path, textOf(path, 17 / 16, { [field]: 'auto' }));
      const behind = await ask(path, `${textOf(path, 17 / 16).slice(0, -1)},"${field}":"auto"}`);

      expect([status, error?.code, sent.length]).toEqual([413, 'body_too_large', 0]);
      expect([behind.status, behind.sent.length]).toEqual([413, 0]);
    },
  );

  it.each([
    'memory_strat\\u0065gy',
    Array.from('agent_type', (letter) => `\\u00${letter.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  ])('is refused where the field is spelled with escapes: %s', async (field) => {
    const { status, sent } = await ask(path, `{"${field}":"auto",${textOf(path, 17 / 16).slice(1)}`);
    const behind = await ask(path, `${textOf(path, 17 / 16).slice(0, -1)},"${field}":"auto"}`);

    expect([status, sent.length]).toEqual([413, 0]);
    expect([behind.status, behind.sent.length]).toEqual([413, 0]);
  });

  it('F24: is refused where marked reasoning is in it, which no upstream must get', async () => {
    const marked = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'precis1_reasoning' };
    const { status, error, sent } = await ask(path, textOf(path, 17 / 16, { x: marked }));

    expect([status, error?.code, sent.length]).toEqual([413, 'body_too_large', 0]);
  });

  it.each<[string, Partial<Asking>]>([
    ['a strategy of the deployment', { variables: { DEFAULT_MEMORY_STRATEGY: 'auto' } }],
    ['an agent', { headers: { 'x-agent-type': 'coding' } }],
    ['settings of a conversation', { headers: { 'x-conversation-id': 'c' } }],
    ['injection', { headers: { 'x-memory-injection': 'true' } }],
    ['an account that callers share', { variables: ACCESS }],
    ['an archive', { headers: { 'x-memory-strategy': '{"mode":"none","archive":true}' } }],
  ])('is refused where it must be read for %s', async (_, asking) => {
    const { status, sent, seen } = await ask(path, textOf(path, 17 / 16), asking);

    expect([status, sent.length]).toEqual([413, 0]);
    expect(seen.read).toBeLessThanOrEqual(LIMIT + CHUNK);
  });

  const named = { 'x-memory-strategy': 'none', 'x-conversation-id': 'c' };
  const archiving = { 'x-memory-strategy': '{"mode":"none","archive":true}' };

  it.each<[string, Partial<Asking>, RegExp]>([
    [
      'the deployer’s archive',
      { headers: named, variables: { ARCHIVE: 'always' } },
      /^.+ the deployer archives/,
    ],
    ['its own archive', { headers: archiving }, /memory_strategy asks for an archive/],
    ['an account that callers share', { headers: named, variables: ACCESS }, /request to a shared account/],
  ])('names %s as the reason why it must be read, and not of mode none', async (_, asking, why) => {
    for (const announced of [false, true]) {
      const { status, error, sent } = await ask(path, textOf(path, 17 / 16), { ...asking, announced });

      expect([status, error?.code, error?.param, sent.length]).toEqual([413, 'body_too_large', param, 0]);
      expect(error?.message).toMatch(why);
      expect(error?.message).toContain(`at most ${LIMIT.toLocaleString('en-US')} bytes`);
      expect(error?.message).not.toContain('can only be forwarded unchanged');
    }
  });

  it('is refused for its encoding where that cannot be read, also with the deployer’s archive', async () => {
    const headers = { ...named, 'content-encoding': 'x-unknown' };
    const { status, error } = await ask(path, textOf(path, 1 / 16), {
      headers,
      variables: { ARCHIVE: 'always' },
    });

    expect([status, error?.code, error?.param]).toEqual([415, 'unsupported_media_type', 'content-encoding']);
  });
});

describe('F4: a body over the limit of its route', () => {
  it.each([
    ['POST', '/v1/compact', 20, LARGEST],
    ['POST', '/v1/responses/compact', 20, LARGEST],
    ['PATCH', '/v1/conversations/c/memory', 1, 64 * 1024],
    ['POST', '/mcp', 5, 4 * MiB],
  ])('is refused: %s %s', async (method, path, mebibytes, limit) => {
    const text = textOf(path === '/v1/responses/compact' ? '/v1/responses' : path, mebibytes, {}, MiB);
    const plain = await ask(path, text, { method });
    const announced = await ask(path, text, { method, announced: true });

    expect([plain.status, plain.error?.code]).toEqual([413, 'body_too_large']);
    expect(plain.seen.read).toBeLessThanOrEqual(limit + CHUNK);
    expect([announced.status, announced.seen.read]).toEqual([413, 0]);
  });

  it('is read whole where it just fits, in pieces of whatever size', async () => {
    const text = textOf('/v1/chat/completions', 15, {}, MiB);
    const { status, sent } = await ask('/v1/chat/completions', text);

    expect(status).toBe(200);
    expect(sent[0]?.body === text).toBe(true);
  });
});
