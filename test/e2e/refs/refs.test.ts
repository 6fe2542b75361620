import { beforeAll, describe, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';

const deployment = deploy();

const text = [...Array(60).keys()]
  .map((at) =>
    at % 20 === 10 ? `${at + 1} ERROR [order.*] é 😀` : `${at + 1} nothing happened here, as usual`,
  )
  .join('\n')
  .concat('\n');
const json =
  '{ "items": [ {"id":"a"}, {"id": 12345678901234567890, "price":1.0}, {"the key":{"deep":[1,[2, 3 ]]}} ], "note":"é", "filler":"the quick brown fox jumps over the lazy dog, and over the other one as well" }';
const long = linesAbout('a long file', 6_000);

const refs = { text: '', json: '', long: '' };

/** Sends the outputs to be compacted. Returns their refs. @param ids how the ids of calls begin */
async function store(outputs: string[], ids = 'call'): Promise<string[]> {
  const messages = JSON.parse(JSON.stringify(conversationOf(outputs)).replaceAll('"call_', `"${ids}_`));
  const body = { model: 'gpt-4.1-mini', messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };
  const { memory } = (await (await deployment.chat(body)).json()) as WithMemory;
  const stored = memory?.refs.map(({ ref }) => ref) ?? [];
  if (stored.length !== outputs.length) throw new Error(`${stored.length} of ${outputs.length} are stored`);
  return stored;
}

beforeAll(async () => {
  const [ofText = '', ofJson = '', ofLong = ''] = await store([text, json, long]);
  Object.assign(refs, { text: ofText, json: ofJson, long: ofLong });
});

function get(ref: string, query: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> {
  return deployment.fetch(`/v1/refs/${ref}?${new URLSearchParams(query)}`, init);
}

async function errorOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { error: unknown }).error;
}

describe('GET /v1/refs/{ref}', () => {
  it('gives the output of a call whose id is longer than what R2 keeps beside it', async () => {
    const output = linesAbout('a call with a long id');
    const [ref = ''] = await store([output], 'x'.repeat(9_000));
    expect(await (await get(ref)).text()).toBe(output);
  });

  it('gives the content and its type, and lets no browser do anything with it', async () => {
    // `content-length` is the content's length only if no server on the way compresses it.
    const response = await get(refs.text, {}, { headers: { 'accept-encoding': 'identity' } });

    expect(response.status).toBe(200);
    expect(await response.text()).toBe(text);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment',
      'content-security-policy': 'sandbox',
    });
    expect(response.headers.get('cache-control')).toContain('private');
  });

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=100-', 100, Buffer.byteLength(text)],
    ['bytes=-7', Buffer.byteLength(text) - 7, Buffer.byteLength(text)],
    ['bytes=5-999999', 5, Buffer.byteLength(text)],
  ])('gives the bytes that Range: %s asks for', async (range, start, end) => {
    const response = await get(refs.text, {}, { headers: { range } });

    const bytes = Buffer.from(text);
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes.subarray(start, end))).toBe(true);
  });

  it('says how long the content is when a range begins after its end', async () => {
    const response = await get(refs.text, {}, { headers: { range: 'bytes=999999-' } });

    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe(`bytes */${Buffer.byteLength(text)}`);
  });

  it('answers HEAD with the headers alone', async () => {
    const response = await get(refs.text, {}, { method: 'HEAD' });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(await response.text()).toBe('');
  });

  it.each(['/refs', '/some/prefix/v1/refs', '/agents/coding/v1/refs'])('is found under %s', async (path) => {
    const response = await deployment.fetch(`${path}/${refs.text}`);

    expect(await response.text()).toBe(text);
  });
});

describe('a part of a ref', () => {
  const lines = text.split('\n');

  it.each([
    ['2-4', lines.slice(1, 4)],
    ['59-', lines.slice(58, 60)],
    ['11', [lines[10]]],
    ['70-80', []],
  ])('is what lines=%s names', async (range, expected) => {
    const response = await get(refs.text, { lines: range });

    expect(response.status).toBe(200);
    expect(await response.text()).toBe(expected.join('\n'));
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toBe('sandbox');
  });

  it('is what grep finds, taken literally, with the context asked for', async () => {
    const bare = await get(refs.text, { grep: 'ERROR [order.*]' });
    const around = await get(refs.text, { grep: '31 ERROR [order.*] é 😀', context: '1' });
    const nothing = await get(refs.text, { grep: 'error' });

    expect(await bare.text()).toBe([11, 31, 51].map((at) => `${at}:${lines[at - 1]}`).join('\n--\n'));
    expect(await around.text()).toBe(`30-${lines[29]}\n31:${lines[30]}\n32-${lines[31]}`);
    expect([nothing.status, await nothing.text()]).toEqual([200, '']);
  });

  it.each([
    ['$', json],
    ['$.items[0].id', '"a"'],
    ['$.items[1].id', '12345678901234567890'],
    ['$.items[1].price', '1.0'],
    ["$['items'][2]['the key'].deep[1]", '[2, 3 ]'],
    ['$.note', '"é"'],
  ])('is the value at path=%s, in the digits that it was written in', async (path, expected) => {
    const response = await get(refs.json, { path });

    expect(await response.text()).toBe(expected);
    expect(response.headers.get('content-type')).toContain('application/json');
  });

  it('is cut, and says so, when it is longer than an answer may be', async () => {
    const whole = await get(refs.long);
    const part = await get(refs.long, { lines: '1-' });

    expect(await whole.text()).toBe(long);
    expect(part.headers.get('x-memory-truncated')).toBe('true');
    const given = await part.text();
    expect(long.startsWith(given)).toBe(true);
    expect(given.length).toBeGreaterThan(200_000);
    expect(given.length).toBeLessThan(long.length);
  });

  it.each([
    ['lines', { lines: '0-3' }],
    ['lines', { lines: '5-4' }],
    ['lines', { lines: 'all' }],
    ['grep', { grep: '' }],
    ['grep', { grep: 'é'.repeat(129) }],
    ['context', { grep: 'a', context: '21' }],
    ['context', { grep: 'a', context: '-1' }],
    ['context', { context: '1' }],
    ['path', { path: 'items' }],
    ['path', { path: '$.items[*]' }],
    ['path', { path: '$.items' }],
    ['grep', { lines: '1', grep: 'a' }],
    ['line', { line: '1-2' }],
  ])('is refused with the parameter %s named for %o', async (param, query) => {
    const response = await get(refs.text, query);

    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({
      type: 'invalid_request_error',
      code: 'invalid_value',
      param,
    });
  });

  it('names the parameter that was probably meant', async () => {
    expect(await errorOf(await get(refs.text, { line: '1-2' }))).toMatchObject({
      message: "'line' is not a parameter of this route; the nearest known one is 'lines'.",
    });
  });

  it('is not found where the JSON has nothing at the path', async () => {
    const response = await get(refs.json, { path: '$.items[7].id' });

    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({ code: 'ref_not_found', param: 'path' });
  });
});
