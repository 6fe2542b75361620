/** A Worker before an upstream that tests control: what one file of the end-to-end suite talks to. */
import OpenAI, { type ClientOptions } from 'openai';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type RecordedRequest, startUpstream, type Upstream, type UpstreamOptions } from './upstream.ts';
import { startWorker, type WorkerServer } from './worker-server.ts';

/** The caller's key, where a test names no other. */
export const KEY = 'sk-the-key-of-a-test-caller-0001';

export interface DeploymentOptions {
  /** The Worker's variables. The secret and the upstream are always given. */
  readonly vars?: Record<string, string>;
  readonly upstream?: UpstreamOptions;
}

export interface Deployment {
  /** Of the Worker, without `/v1`. */
  readonly url: string;
  readonly worker: WorkerServer;
  readonly upstream: Upstream;
  /** What the upstream was asked to complete in this test, in order. */
  chats(): RecordedRequest[];
  /** The last of these. */
  lastChat(): RecordedRequest;
  /** A client that does not try again: each failure is one. */
  client(options?: ClientOptions): OpenAI;
  /** A request with `KEY`; other headers, `authorization` too, as `init` has them. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Does something while nobody listens at the upstream's address. */
  withoutUpstream<Value>(work: () => Promise<Value>): Promise<Value>;
  /** `POST /v1/chat/completions`; a string or bytes go as they are. */
  chat(body: object | string, headers?: Record<string, string>): Promise<Response>;
}

/** Starts both before the tests of a file, and stops them after. */
export function deploy({ vars = {}, upstream: options = {} }: DeploymentOptions = {}): Deployment {
  let started: { upstream: Upstream; worker: WorkerServer } | undefined;
  const running = () => {
    if (!started) throw new Error('the deployment runs only within tests');
    return started;
  };

  beforeAll(async () => {
    const upstream = await startUpstream(options);
    const worker = await startWorker({
      vars: { PRECIS_SECRET: 'secret-of-the-end-to-end-tests', UPSTREAM_BASE_URL: upstream.url, ...vars },
    });
    started = { upstream, worker };
  });
  beforeEach(() => {
    running().upstream.requests.length = 0;
  });
  afterAll(async () => {
    await started?.worker.close();
    await started?.upstream.close();
  });

  const deployment: Deployment = {
    get url() {
      return running().worker.url;
    },
    get worker() {
      return running().worker;
    },
    get upstream() {
      return running().upstream;
    },
    chats: () => running().upstream.requests.filter(({ path }) => path.includes('/chat/completions')),
    lastChat() {
      const last = deployment.chats().at(-1);
      if (!last) throw new Error('the upstream was asked for no completion');
      return last;
    },
    async withoutUpstream(work) {
      const state = running();
      const port = Number(new URL(state.upstream.url).port);
      await state.upstream.close();
      try {
        return await work();
      } finally {
        state.upstream = await startUpstream({ ...options, port });
      }
    },
    client: (clientOptions = {}) =>
      new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey: KEY, maxRetries: 0, ...clientOptions }),
    fetch: (path, init = {}) => {
      const headers = new Headers({ authorization: `Bearer ${KEY}` });
      new Headers(init.headers).forEach((value, name) => {
        headers.set(name, value);
      });
      return fetch(`${deployment.url}${path}`, { ...init, headers });
    },
    chat: (body, headers = {}) =>
      deployment.fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
  return deployment;
}
