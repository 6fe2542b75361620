/** The tools of `/mcp` when their storage fails. */
import { env } from 'cloudflare:workers';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { describe, expect, it, vi } from 'vitest';
import { Retriever } from '../../../src/retrieval/retriever.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { user } from '../../support/conversations/chat.ts';
import { shorten } from '../../support/time-limits.ts';
import { KEY, startApp, watchedBucket, watchedObjects } from '../support.ts';

const REF = new Tenants(env.PRECIS_SECRET).ofToken(KEY).refs.name('a content', () => 'a content');

/** The app, and a call of one of its tools. */
function tools() {
  const { bucket, failing: bucketFailing } = watchedBucket();
  const { namespace, failing: objectFailing, hanging } = watchedObjects(env.CONVERSATION_MEMORY);
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
  return { app, call, bucketFailing, objectFailing, hanging };
}

const searching = { memory_strategy: { mode: 'trim', archive: true }, conversation_id: 'searched' };

const failure = (text: unknown) => ({ content: [{ type: 'text', text }], isError: true });

describe('a tool of the MCP server', () => {
  it('says that R2 fails, and works when it works again', async () => {
    const { call, bucketFailing } = tools();
    const logged = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    bucketFailing.add('get');
    expect(await call('retrieve_ref', { ref: REF })).toEqual(
      failure(expect.stringContaining('Storage does not answer')),
    );

    bucketFailing.clear();
    expect(logged.mock.calls.map(([line]) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ code: 'store_failed', error: 'Error' }),
    );

    expect(await call('retrieve_ref', { ref: REF })).toEqual(
      failure(expect.stringContaining('no longer kept')),
    );
  });

  it('says that the object fails, and not how', async () => {
    const { call, objectFailing } = tools();
    objectFailing.add('archive.hits');

    expect(await call('search_memory', { query: 'a', conversation_id: 'b' })).toEqual(
      failure('Storage could not be read or written; try again.'),
    );
  });

  it('says that the object does not answer in time', async () => {
    const { call, hanging } = tools();
    hanging.add('archive.hits');
    shorten({ toolSearchMs: 500 });

    expect(await call('search_memory', { query: 'a', conversation_id: 'b' })).toEqual(
      failure('Storage could not be read or written; try again.'),
    );
  });

  it('finds ten messages by the index alone, however large they are', async () => {
    const { app, call, bucketFailing } = tools();
    const talk = Array.from({ length: 12 }, (_, n) => user(`${n} whale xxxxx`.padEnd(1_000_000)));
    await app.chat({ ...searching, messages: talk });
    for (const method of ['get', 'head', 'list'] as const) bucketFailing.add(method);

    const { content, isError } = (await call('search_memory', {
      query: 'whale',
      conversation_id: searching.conversation_id,
    })) as CallToolResult;

    const [found] = content;
    if (found?.type !== 'text') throw new Error('no text');
    expect(isError).toBe(false);
    expect(found.text.split('\n\n').map((block) => block.slice(0, 20))).toEqual(
      talk.slice(0, 10).map((_, n) => `[${n} user] ${n} whale xxxxx`.slice(0, 20)),
    );
    expect(found.text.length).toBeLessThan(10 * 1_300);
  });

  it('shows the text around the words', async () => {
    const { app, call } = tools();
    const words = Array.from({ length: 2_000 }, (_, n) => `word${n}`);
    await app.chat({ ...searching, conversation_id: 'around', messages: [user(words.join(' '))] });

    const { content } = (await call('search_memory', {
      query: 'word1000',
      conversation_id: 'around',
    })) as CallToolResult;

    const [found] = content;
    if (found?.type !== 'text') throw new Error('no text');
    const shown = found.text.split(' ').filter((word) => word.startsWith('word'));
    expect(found.text).toMatch(/^\[0 user\] … word\d+ .* word\d+ …$/);
    expect(words.join(' ')).toContain(shown.join(' '));
    expect(shown).toContain('word1000');
    expect(shown.length).toBeGreaterThan(100);
  });

  it('hides the cause of an internal failure', async () => {
    vi.spyOn(Retriever.prototype, 'find').mockRejectedValue(new Error('an address inside'));

    expect(await tools().call('retrieve_ref', { ref: REF })).toEqual(failure('Precis failed on this call.'));
  });
});
