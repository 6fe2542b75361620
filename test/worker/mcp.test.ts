/** The tools of `/mcp` when what they read from fails. */
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Retriever } from '../../src/retrieval/retriever.ts';
import { Tenants } from '../../src/storage/tenant.ts';
import { KEY, startApp, watchedBucket, watchedObjects } from './support.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const REF = new Tenants(env.PRECIS_SECRET).ofToken(KEY).refs.name('a content', () => 'a content');

/** The app, and a call of one of its tools. */
function tools() {
  const { bucket, failing: bucketFailing } = watchedBucket();
  const { namespace, failing: objectFailing } = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(bucket, { CONVERSATION_MEMORY: namespace });
  const call = async (name: string, args: object): Promise<unknown> => {
    const response = await app.request('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    });
    const { result } = (await response.json()) as { result: unknown };
    return result;
  };
  return { call, bucketFailing, objectFailing };
}

const failure = (text: unknown) => ({ content: [{ type: 'text', text }], isError: true });

describe('a tool', () => {
  it('says that R2 fails, and works when it works again', async () => {
    const { call, bucketFailing } = tools();
    bucketFailing.add('get');
    expect(await call('retrieve_ref', { ref: REF })).toEqual(
      failure(expect.stringContaining('Storage does not answer')),
    );

    bucketFailing.clear();

    expect(await call('retrieve_ref', { ref: REF })).toEqual(
      failure(expect.stringContaining('not kept any more')),
    );
  });

  it('says that the object fails, and not how', async () => {
    const { call, objectFailing } = tools();
    objectFailing.add('searchArchive');

    expect(await call('search_memory', { query: 'a', conversation_id: 'b' })).toEqual(
      failure('The storage could not be read or written; try again.'),
    );
  });

  it('never says what went wrong inside', async () => {
    vi.spyOn(Retriever.prototype, 'find').mockRejectedValue(new Error('an address inside'));

    expect(await tools().call('retrieve_ref', { ref: REF })).toEqual(
      failure('Precis has failed on this call.'),
    );
  });
});
