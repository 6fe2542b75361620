import { describe, expect, it, vi } from 'vitest';
import { embedTexts } from '../../../src/upstream/embeddings.ts';

const TARGET = {
  baseUrl: 'http://embeddings.test/v1?tier=a',
  apiKey: 'sk-of-the-embeddings',
  headers: {},
  model: 'a-model',
};

/** Asks a server that gives this answer. */
async function embedded(
  answer: () => Response | Promise<Response>,
  texts = ['one', 'two'],
  timeoutMs = 60_000,
) {
  const sent: Request[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    sent.push(new Request(input, init));
    return answer();
  });
  return { made: await embedTexts(TARGET, texts, timeoutMs), sent };
}

const vectors =
  (...data: unknown[]) =>
  () =>
    Response.json({ object: 'list', model: 'a-model', data });
const item = (index: unknown, ...embedding: unknown[]) => ({ object: 'embedding', index, embedding });

describe('a call of the embeddings', () => {
  it('asks for floats with the key of the deployment, and takes the vectors in the order of their indices', async () => {
    const { made, sent } = await embedded(vectors(item(1, 0.5, -1), item(0, 0, 2)));

    expect(made).toEqual({
      ok: true,
      value: [
        [0, 2],
        [0.5, -1],
      ],
    });
    const [request] = sent as [Request];
    expect(request.url).toBe('http://embeddings.test/v1/embeddings?tier=a');
    expect(request.headers.get('authorization')).toBe('Bearer sk-of-the-embeddings');
    expect(request.redirect).toBe('manual');
    expect(await request.json()).toEqual({
      model: 'a-model',
      input: ['one', 'two'],
      encoding_format: 'float',
    });
  });

  it('takes vectors without an index in their own order', async () => {
    const { made } = await embedded(vectors({ embedding: [1] }, { embedding: [2] }));

    expect(made).toEqual({ ok: true, value: [[1], [2]] });
  });

  it.each<[string, () => Response]>([
    ['no list', () => Response.json({})],
    ['null', () => Response.json(null)],
    ['too few', vectors(item(0, 1))],
    ['too many', vectors(item(0, 1), item(1, 1), item(2, 1))],
    ['the same index twice', vectors(item(0, 1), item(0, 1))],
    ['an index that is too large', vectors(item(0, 1), item(2, 1))],
    ['an index that is no number', vectors(item(0, 1), item('1', 1))],
    ['several lengths', vectors(item(0, 1), item(1, 1, 2))],
    ['no number', vectors(item(0, 1), item(1, '1'))],
    [
      'a number that is not finite',
      () =>
        new Response('{"data":[{"embedding":[1]},{"embedding":[1e999]}]}', {
          headers: { 'content-type': 'application/json' },
        }),
    ],
    ['nothing in a vector', vectors(item(0), item(1))],
    ['no direction', vectors(item(0, 1, 1), item(1, 0, 0))],
    ['base64', vectors({ index: 0, embedding: 'AAAA' }, { index: 1, embedding: 'AAAA' })],
    ['null for a vector', vectors(item(0, 1), { index: 1, embedding: null })],
    ['no object', vectors(null, 1)],
    ['too many dimensions', vectors(item(0, ...Array(4_097).fill(1)), item(1, ...Array(4_097).fill(1)))],
    ['HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ])('is malformed with %s', async (_, answer) => {
    const { made } = await embedded(answer);

    expect(made).toEqual({ ok: false, reason: { code: 'malformed', again: false, isOfInput: true } });
  });

  it('takes as many dimensions as models have', async () => {
    const { made } = await embedded(vectors(item(0, ...Array(4_096).fill(1))), ['one']);

    expect(made.ok).toBe(true);
  });

  it.each([
    [400, { code: 'refused', again: false, isOfInput: true }],
    [413, { code: 'refused', again: false, isOfInput: true }],
    [422, { code: 'refused', again: false, isOfInput: true }],
    [401, { code: 'refused', again: false }],
    [404, { code: 'refused', again: false }],
    [302, { code: 'refused', again: false }],
    [429, { code: 'rate_limited', again: true, afterMs: 3_000 }],
    [503, { code: 'upstream_error', again: true, afterMs: 3_000 }],
  ])('says whether another try or another text may help after %i', async (status, fault) => {
    const headers = { 'retry-after': '3', location: 'http://elsewhere.test' };
    const { made, sent } = await embedded(() => new Response('no', { status, headers }));

    expect(made).toEqual({ ok: false, reason: { ...fault, cause: expect.any(String) } });
    expect(sent).toHaveLength(1);
  });

  it('gives up a server that does not answer in time, or breaks off', async () => {
    vi.spyOn(globalThis, 'fetch').mockImplementation(
      (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
        }),
    );
    expect(await embedTexts(TARGET, ['one'], 1)).toMatchObject({ reason: { code: 'timeout', again: true } });

    const { made } = await embedded(() => Promise.reject(new TypeError('no route')));
    expect(made).toEqual({ ok: false, reason: { code: 'unreachable', again: true, cause: 'TypeError' } });
  });

  it('F29: reads no more of an answer than vectors may have', async () => {
    let sent = 0;
    const most = 8 * 1024 * 1024;
    const chunk = new Uint8Array(256 * 1024).fill(32);
    const { made } = await embedded(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            pull: (controller) => {
              sent += chunk.length;
              if (sent > 20 * most) controller.close();
              else controller.enqueue(chunk);
            },
          }),
          { headers: { 'content-type': 'application/json' } },
        ),
    );

    expect(made.ok).toBe(false);
    expect(sent).toBeLessThanOrEqual(most + 8 * chunk.length);
  });
});
