/** A bucket that can fail, and the app with an upstream that records its requests. */
import {
  createExecutionContext,
  evictDurableObject,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Env } from '../../src/config.ts';
import type { ConversationMemory } from '../../src/index.ts';
import { servicesOf } from '../../src/request/services.ts';
import { conversationName } from '../../src/storage/conversation/names.ts';
import { conversationMemory } from '../../src/storage/objects.ts';
import type { TextMaterial } from '../../src/summary/conversation.ts';
import { writeSections } from '../../src/summary/text/headings.ts';
import { Tenants } from '../../src/tenant/identity.ts';
import { TIME_LIMITS } from '../../src/time-limits.ts';
import { assistant, lines, user } from '../support/conversations/chat.ts';
import { shorten } from '../support/time-limits.ts';

export type Operation = 'put' | 'get' | 'head' | 'list' | 'delete';

export interface WatchedBucket {
  readonly bucket: R2Bucket;
  readonly operations: { readonly name: Operation; readonly key: string }[];
  /** Operations that fail. */
  readonly failing: Set<Operation>;
  /** Operations that never answer. */
  readonly hanging: Set<Operation>;
  /** Operations that wait for a promise first. */
  readonly gates: Map<Operation, Promise<void>>;
}

/** The runtime's real bucket, with a record of every operation. */
export function watchedBucket(): WatchedBucket {
  const operations: { name: Operation; key: string }[] = [];
  const failing = new Set<Operation>();
  const hanging = new Set<Operation>();
  const gates = new Map<Operation, Promise<void>>();
  const bucket = new Proxy(env.REFS, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
      return async (...values: unknown[]) => {
        operations.push({ name: name as Operation, key: String(values[0]) });
        if (failing.has(name as Operation)) throw new Error('R2 is down');
        if (hanging.has(name as Operation)) return new Promise(() => undefined);
        await gates.get(name as Operation);
        return method.apply(target, values);
      };
    },
  });
  return { bucket, operations, failing, hanging, gates };
}

export interface WatchedObjects {
  readonly namespace: DurableObjectNamespace;
  /** The called methods, in order; methods of parts with their part (`archive.page`). */
  readonly calls: readonly string[];
  /** Methods that throw. */
  readonly failing: Set<string>;
  /** Methods that never answer. */
  readonly hanging: Set<string>;
  /** Methods that wait for a promise first. */
  readonly gates: Map<string, Promise<void>>;
  /** Every object that was called. */
  readonly stubs: readonly DurableObjectStub[];
  /** Evicts every object that was called from memory. */
  evict(): Promise<void>;
  /** Ends the life of every object that was called, whatever it is doing. */
  restart(): Promise<void>;
}

/**
 * The real objects of a binding, whose calls go through a function.
 *
 * The test plug-in answers each property of an object with a function, in which the runtime finds
 * no methods. So a part is fetched before its method is called; without the plug-in that is one
 * call.
 *
 * @param call gets the path of a method (`archive.page`) and the call itself
 */
export function throughCalls(
  real: DurableObjectNamespace,
  call: (path: string, goOn: () => Promise<unknown>, id: DurableObjectId) => Promise<unknown> = (_, goOn) =>
    goOn(),
): DurableObjectNamespace {
  const idFromName = (name: string) => real.idFromName(name);
  const get = (id: DurableObjectId) => {
    const stub = real.get(id);
    // A stub whose object was restarted meanwhile is broken.
    const member = (path: readonly string[]): object =>
      new Proxy(() => undefined, {
        get: (_, name) => member([...path, String(name)]),
        apply: (_, __, values: unknown[]) =>
          call(path.join('.'), () => callAt(real.get(id) as unknown as Called, path, values), id),
      });
    const fetch = (...sent: Parameters<DurableObjectStub['fetch']>) => real.get(id).fetch(...sent);
    const own: object = { id, constructor: stub.constructor, fetch };
    return new Proxy(stub, {
      get: (_, name) => Reflect.get(own, name) ?? member([String(name)]),
    }) as unknown as DurableObjectStub;
  };
  const getByName = (name: string) => get(idFromName(name));
  return { idFromName, get, getByName } as unknown as DurableObjectNamespace;
}

interface Called extends Record<string, ((...values: unknown[]) => Promise<unknown>) & PromiseLike<Called>> {
  readonly [Symbol.dispose]?: () => void;
}

async function callAt(stub: Called, [first = '', name]: readonly string[], values: unknown[]) {
  if (name === undefined) return stub[first]?.(...values);
  const part = await stub[first];
  try {
    const method = part?.[name];
    if (!method) throw new TypeError(`there is no ${first}.${name}`);
    return await method(...values);
  } finally {
    part?.[Symbol.dispose]?.();
  }
}

/** The conversations' objects, whose parts answer in tests too (see `throughCalls`). */
export const CONVERSATIONS = throughCalls(env.CONVERSATION_MEMORY);

/** The tenants' objects, likewise. */
export const TENANTS = throughCalls(env.TENANT_MEMORY);

/** Calls a conversation's object from another isolate. @param name of the object */
export const remoteConversation = (name: string) =>
  conversationMemory<TextMaterial>({ ...env, CONVERSATION_MEMORY: CONVERSATIONS }, name, () => undefined);

/** A binding's real objects, which can fail. */
export function watchedObjects(real: DurableObjectNamespace): WatchedObjects {
  const calls: string[] = [];
  const failing = new Set<string>();
  const hanging = new Set<string>();
  const gates = new Map<string, Promise<void>>();
  const asked = new Map<string, DurableObjectStub>();
  const namespace = throughCalls(real, async (path, goOn, id) => {
    asked.set(id.toString(), real.get(id));
    calls.push(path);
    if (failing.has(path)) throw new Error('the object is down');
    if (hanging.has(path)) return new Promise(() => undefined);
    await gates.get(path);
    return goOn();
  });
  return {
    namespace,
    calls,
    failing,
    hanging,
    gates,
    get stubs() {
      return [...asked.values()];
    },
    async evict() {
      for (const stub of asked.values()) await evictDurableObject(stub);
    },
    async restart() {
      for (const stub of asked.values())
        await runInDurableObject(stub, (_, state) => state.abort('a restart')).catch(() => undefined);
    },
  };
}

export const KEY = 'sk-a-caller-of-the-worker-tests';

export interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * The app with a bucket and variables, and a record of its requests to the upstream.
 *
 * @param key of the caller, where a request has no other
 */
export function startApp(bucket: R2Bucket, variables: Partial<Env> = {}, key = KEY) {
  // Each request is awaited with its background work, so an event waits for no other.
  shorten({ gatherEventsMs: TIME_LIMITS.afterAnswerMs });
  const app = createApp();
  const bindings: Env = {
    ...env,
    VERIFY_KEYS: 'false',
    CONVERSATION_MEMORY: CONVERSATIONS,
    TENANT_MEMORY: TENANTS,
    ...variables,
    REFS: bucket,
  };
  const sent: Sent[] = [];
  const answer: {
    status: number;
    modelsStatus: number;
    /** The words of an answer; without them it has no choices. */
    words?: (sent: Sent) => string;
    /** What an answer waits for. */
    gate?: (sent: Sent) => Promise<unknown> | undefined;
    /** The calls of an answer, beside its words. */
    calls?: (sent: Sent) => object[] | undefined;
    /** The usage of an answer. */
    usage?: (sent: Sent) => object;
  } = { status: 200, modelsStatus: 200 };
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const one = { url: request.url, headers: request.headers, body: await request.text() };
    sent.push(one);
    await answer.gate?.(one);
    const status = request.url.endsWith('/models') ? answer.modelsStatus : answer.status;
    const message = { role: 'assistant', content: answer.words?.(one), tool_calls: answer.calls?.(one) };
    const choices = answer.words ? [{ index: 0, message, finish_reason: 'stop' }] : [];
    const usage = answer.usage ? { usage: answer.usage(one) } : {};
    return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices, ...usage }, { status });
  });

  /** Sends a request, and waits for its background work too. */
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const context = createExecutionContext();
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${key}`);
    const response = await app.fetch(
      new Request(`http://precis.test${path}`, { ...init, headers }),
      bindings,
      context,
    );
    if (hasHanging(bucket)) return response;
    // Some work waits until the caller has its whole answer.
    const body = response.body && (await response.arrayBuffer());
    await waitOnExecutionContext(context);
    return new Response(body, response);
  };
  const chat = (body: object): Promise<Response> =>
    request('/v1/chat/completions', { method: 'POST', body: JSON.stringify(body) });
  const services = () => servicesOf(bindings);
  return { request, chat, sent, answer, services };
}

/** Background work on a bucket that never answers is not awaited. */
const hangingBuckets = new WeakSet<R2Bucket>();

export function hang(watched: WatchedBucket, ...operations: Operation[]): void {
  for (const operation of operations) watched.hanging.add(operation);
  hangingBuckets.add(watched.bucket);
}

function hasHanging(bucket: R2Bucket): boolean {
  return hangingBuckets.has(bucket);
}

/** The refs in a text. */
export const refsIn = (text: string): string[] => [...new Set(text.match(/ref_[a-z2-7]{26}/g) ?? [])];

/** A summarizer of the deployment. */
export const SUMMARIZER = {
  SUMMARIZER_BASE_URL: 'http://summarizer.test/v1',
  SUMMARIZER_MODEL: 'a-model',
  SUMMARIZER_API_KEY: 'sk-the-key-of-the-summarizer',
} as const;

export const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };
export const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0, retry_attempts: 0 };
export const MODES = [
  ['summarize', SUMMARIZE],
  ['rolling_summary', ROLLING],
] as const;

/** A question with more tokens than any summary of it. */
export const question = (n: number) => `Question ${n}: what follows?\n${lines(40, `question ${n}, line`)}`;
const isSummarizer = ({ url }: Sent) => url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL);
const isCompletion = ({ url }: Sent) => url.endsWith('/chat/completions');

let made = 0;

/** A body without the key of its conversation, which differs from conversation to conversation. */
export function withoutKey(body = ''): string {
  return body.replace(/"prompt_cache_key":"[0-9a-f]+",/, '');
}

/** The app and a new conversation. */
export function start(strategy: object | undefined, variables: Partial<Env> = {}, key = KEY) {
  const id = `conversation ${made++}`;
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const watched = watchedBucket();
  const bindings = { ...SUMMARIZER, CONVERSATION_MEMORY: objects.namespace, ...variables };
  const app = startApp(watched.bucket, bindings, key);
  // A summary names its input, so that equal summaries have equal input.
  app.answer.words = (sent) => {
    if (!isSummarizer(sent)) return 'This is the answer.';
    const read = [...new Set(sent.body.match(/Question \d+:/g))].join(' ');
    const prior = sent.body.includes('The running summary so far') ? 'with' : 'without';
    return writeSections(new Map([['## Progress', `Made ${prior} a summary before, and of ${read}`]]));
  };
  const messages: object[] = [];
  const name = conversationName(new Tenants(env.PRECIS_SECRET).ofToken(key).id, undefined, { id });
  const stub = env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
  const overview = () => remoteConversation(name)((stub) => stub.versions.overview());
  const settled = () =>
    vi.waitUntil(async () => (await overview()).memories.every(({ status }) => status !== 'processing'), {
      timeout: 60_000,
    });
  /** One round. @param ends whether to wait for its background work */
  const ask = async (n: number, more: object = {}, ends = true) => {
    messages.push(user(question(n)));
    const fields = strategy === undefined ? {} : { memory_strategy: strategy };
    const response = await app.chat({
      model: 'gpt-4.1',
      conversation_id: id,
      ...fields,
      ...more,
      messages,
    });
    if (response.ok) messages.push(assistant('This is the answer.'));
    if (ends) await settled();
    const view = withoutKey(
      app.sent.filter((sent) => isCompletion(sent) && !isSummarizer(sent)).at(-1)?.body,
    );
    return { response, view, warning: response.headers.get('x-memory-warning') };
  };
  const rounds = async (from: number, to: number) => {
    const asked = [];
    for (let n = from; n <= to; n++) asked.push(await ask(n));
    return asked;
  };
  const summarizerCalls = () => app.sent.filter(isSummarizer);
  const expectFetchable = async (text: string): Promise<number> => {
    const refs = refsIn(text);
    for (const ref of refs) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
    return refs.length;
  };
  return {
    id,
    app,
    ask,
    rounds,
    messages,
    objects,
    watched,
    stub,
    overview,
    summarizerCalls,
    expectFetchable,
  };
}
