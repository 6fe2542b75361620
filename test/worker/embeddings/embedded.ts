/** An archive in a deployment with embeddings, and a server for them that can misbehave. */
import { runInDurableObject } from 'cloudflare:test';
import { onTestFinished, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { embeddingsAnswer } from '../../support/conversations/concepts.ts';
import { archive } from '../conversations/archived.ts';
import { give } from '../entry.ts';

const SERVER = 'http://embeddings.test/';

const KEY = 'sk-a-caller-of-the-tests-with-embeddings';

export const EMBEDDINGS = {
  EMBEDDINGS_BASE_URL: `${SERVER}v1`,
  EMBEDDINGS_MODEL: 'an-embedding-model',
  EMBEDDINGS_API_KEY: 'sk-the-key-of-the-embeddings',
};

interface Asked {
  readonly url: string;
  readonly authorization: string | null;
  readonly model: string;
  readonly input: readonly string[];
}

type Stub = DurableObjectStub<ConversationMemory>;

/** Sends the requests to the embeddings to a server of the test, and all others on. */
export function embeddingsServer() {
  const asked: Asked[] = [];
  const server = {
    asked,
    /** What it answers; undefined: vectors. */
    answer: undefined as
      | ((body: { model: string; input: string[] }) => Response | undefined | Promise<Response | undefined>)
      | undefined,
    /** The texts of all requests since the last call. */
    texts: () => asked.splice(0).flatMap(({ input }) => input),
  };
  const fetched = vi.mocked(globalThis.fetch);
  const others = fetched.getMockImplementation();
  fetched.mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    if (!request.url.startsWith(SERVER)) return (others as typeof fetch)(request);
    const body = (await request.json()) as { model: string; input: string[] };
    asked.push({ url: request.url, authorization: request.headers.get('authorization'), ...body });
    const givenUp = new Promise<never>((_, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason));
    });
    const answer = Promise.race([server.answer?.(body), givenUp]);
    return (await answer) ?? Response.json(embeddingsAnswer(body));
  });
  return server;
}

/** The app and a new conversation, with embeddings. */
export function embeddedArchive() {
  onTestFinished(give(EMBEDDINGS));
  const talk = archive(EMBEDDINGS, KEY);
  const server = embeddingsServer();
  const { stub, ask } = talk;
  return {
    ...talk,
    server,
    vectors: () => vectorsOf(stub),
    /** Asks, and waits until vectors are made of all that is archived, or can't be. */
    said: async (...how: Parameters<typeof ask>) => {
      const response = await ask(...how);
      await idle(stub);
      return response;
    },
  };
}

/** Waits until an object makes no vectors. */
export async function idle(stub: Stub): Promise<void> {
  await vi.waitUntil(
    () =>
      runInDurableObject(
        stub,
        (memory) => (Reflect.get(memory, 'embedding') as { isRunning: boolean }).isRunning === false,
      ),
    { timeout: 60_000 },
  );
}

/** The positions of the messages that have a vector, and of those that wait for one. */
export function vectorsOf(stub: Stub): Promise<{ made: number[]; queued: number[] }> {
  return runInDurableObject(stub, (_, { storage: { sql } }) => {
    const has = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'archive_vectors'").toArray().length > 0;
    const positions = (table: string): number[] =>
      has
        ? sql
            .exec<{ position: number }>(
              `SELECT position FROM ${table} JOIN archive_messages USING (archived_id) ORDER BY archived_id`,
            )
            .toArray()
            .map(({ position }) => position)
        : [];
    return { made: positions('archive_vectors'), queued: positions('archive_unembedded') };
  });
}

/** Gives an object another model, until it is evicted. @param model undefined: none */
export function useModel(stub: Stub, model: string | undefined): Promise<void> {
  return runInDurableObject(stub, (memory) => {
    const make = Reflect.get(Object.getPrototypeOf(memory), 'embedder') as () => object;
    const real = make.call(memory);
    Reflect.set(memory, 'embedder', () => (model === undefined ? undefined : { ...real, model }));
  });
}
