/** A bucket that can fail, and the app with an upstream that records what it is sent. */
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Env } from '../../src/config.ts';

export type Operation = 'put' | 'get' | 'head' | 'list' | 'delete';

export interface WatchedBucket {
  readonly bucket: R2Bucket;
  readonly operations: { readonly name: Operation; readonly key: string }[];
  /** Operations that fail from now on. */
  readonly failing: Set<Operation>;
  /** Operations that never answer from now on. */
  readonly hanging: Set<Operation>;
}

/** The real bucket of the runtime, with every operation noted. */
export function watchedBucket(): WatchedBucket {
  const operations: { name: Operation; key: string }[] = [];
  const failing = new Set<Operation>();
  const hanging = new Set<Operation>();
  const bucket = new Proxy(env.REFS, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
      return async (...values: unknown[]) => {
        operations.push({ name: name as Operation, key: String(values[0]) });
        if (failing.has(name as Operation)) throw new Error('R2 is down');
        if (hanging.has(name as Operation)) return new Promise(() => undefined);
        return method.apply(target, values);
      };
    },
  });
  return { bucket, operations, failing, hanging };
}

export const KEY = 'sk-a-caller-of-the-worker-tests';

export interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/** The app over a bucket, with variables, and all that it has sent upstream. */
export function startApp(bucket: R2Bucket, variables: Partial<Env> = {}) {
  const app = createApp();
  const bindings: Env = { ...env, VERIFY_KEYS: 'false', ...variables, REFS: bucket };
  const sent: Sent[] = [];
  const answer = { status: 200, modelsStatus: 200 };
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    sent.push({ url: request.url, headers: request.headers, body: await request.text() });
    const status = request.url.endsWith('/models') ? answer.modelsStatus : answer.status;
    return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices: [] }, { status });
  });

  /** Sends a request and waits for its background work too. */
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const context = createExecutionContext();
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${KEY}`);
    const response = await app.fetch(
      new Request(`http://precis.test${path}`, { ...init, headers }),
      bindings,
      context,
    );
    if (!hasHanging(bucket)) await waitOnExecutionContext(context);
    return response;
  };
  const chat = (body: object): Promise<Response> =>
    request('/v1/chat/completions', { method: 'POST', body: JSON.stringify(body) });
  return { request, chat, sent, answer };
}

/** Background work on a bucket that never answers is not waited for. */
const hangingBuckets = new WeakSet<R2Bucket>();

export function hang(watched: WatchedBucket, ...operations: Operation[]): void {
  for (const operation of operations) watched.hanging.add(operation);
  hangingBuckets.add(watched.bucket);
}

function hasHanging(bucket: R2Bucket): boolean {
  return hangingBuckets.has(bucket);
}

/** The refs that a text names. */
export const refsIn = (text: string): string[] => [...new Set(text.match(/ref_[a-z2-7]{26}/g) ?? [])];
