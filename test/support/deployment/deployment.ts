/** A Worker in front of an upstream that tests control, for one file of end-to-end tests. */
import OpenAI, { type ClientOptions } from 'openai';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../../../tools/upstream/upstream.ts';
import type { Environment } from './environment.ts';
import { dataOf } from './event-stream.ts';
import { FileWorker, type FileWorkerOptions } from './file-worker.ts';
import type { WithMemory } from './memory-report.ts';
import { CHAT, fetchOver, fetchWire, PROTOCOLS, type Protocol } from './protocol.ts';
import { SUMMARIZER_KEY, SUMMARIZER_MODEL, type Summarizer, startSummarizer } from './summarizer.ts';

/** The default key of callers. */
export const KEY = 'sk-the-key-of-a-test-caller-0001';

export interface DeploymentOptions extends FileWorkerOptions, Partial<Environment> {
  readonly upstream?: UpstreamOptions;
  /** Whether the deployment has its own summarizer. */
  readonly summarizer?: boolean;
}

/** What a deployment asks. */
interface Running {
  upstream: Upstream;
  readonly summarizer: Summarizer | undefined;
}

/** A completion from Precis with its report. */
export interface Asked {
  readonly memory: Report;
  readonly headers: Headers;
  /** The body of the answer, or the bytes of its stream. */
  readonly text: string;
  /** The last request to the upstream. */
  readonly seen: RecordedRequest;
}

export interface Deployment {
  /** The Worker's URL, without `/v1`. */
  readonly url: string;
  readonly worker: Pick<FileWorker, 'output'>;
  readonly upstream: Upstream;
  readonly summarizer: Summarizer;
  /** The protocol on the wire. All functions below take and return chat. */
  readonly protocol: Protocol;
  /** Sets the protocol for the tests of the current block. */
  over(protocol: Protocol): void;
  /** The completion requests to the upstream in this test, in order. */
  chats(): RecordedRequest[];
  /** The last of them. */
  lastChat(): RecordedRequest;
  /** A client without retries. */
  client(options?: ClientOptions): OpenAI;
  /** A request with `KEY`; `init` may set other headers, including `authorization`. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Likewise, with JSON as its body. A string is sent as it is. */
  postTo(path: string, body: object | string, headers?: Record<string, string>): Promise<Response>;
  /** Runs work while nothing listens at the upstream's address. */
  withoutUpstream<Value>(work: () => Promise<Value>): Promise<Value>;
  /** `POST /v1/chat/completions`. A string is sent as it is. */
  chat(body: object | string, headers?: Record<string, string>): Promise<Response>;
  /** Likewise, with the answer as it is on the wire. */
  wire(body: object | string, headers?: Record<string, string>): Promise<Response>;
  /**
   * Likewise, with the report, streaming or not. Rejects any answer but 200. The messages come last
   * in the body.
   */
  ask(
    body: { messages: object[]; [field: string]: unknown },
    headers?: Record<string, string>,
  ): Promise<Asked>;
}

/** Starts all before the tests of a file, and stops them after. */
export function deploy(deploymentOptions: DeploymentOptions = {}): Deployment {
  const { vars, limits, upstream: options = {}, summarizer: hasSummarizer = false } = deploymentOptions;
  const worker = new FileWorker(deploymentOptions);
  let started: Running | undefined;
  let protocol = CHAT;
  const fetchThis = fetchOver(() => protocol);
  const fetchRaw = fetchWire(() => protocol);
  const running = () => {
    if (!started) throw new Error('the deployment runs only within tests');
    return started;
  };

  beforeAll(async () => {
    const upstream = await startUpstream(options);
    const summarizer = hasSummarizer ? await startSummarizer() : undefined;
    started = { upstream, summarizer };
    const own = { UPSTREAM_BASE_URL: upstream.url, ...(summarizer && variablesOf(summarizer)) };
    await worker.start({ vars: { ...own, ...vars }, limits });
  });
  beforeEach(() => {
    running().upstream.requests.length = 0;
    running().summarizer?.reset();
  });
  afterAll(async () => {
    await worker.stop();
    await started?.upstream.close();
    await started?.summarizer?.close();
  });

  const deployment: Deployment = {
    worker,
    get url() {
      return worker.url;
    },
    get upstream() {
      return running().upstream;
    },
    get summarizer() {
      const { summarizer } = running();
      if (!summarizer) throw new Error('the deployment has no summarizer');
      return summarizer;
    },
    get protocol() {
      return protocol;
    },
    over(spoken) {
      beforeAll(() => {
        protocol = spoken;
      });
      afterAll(() => {
        protocol = CHAT;
      });
    },
    chats: () =>
      running()
        .upstream.requests.filter(({ path }) => PROTOCOLS.some((one) => path.includes(one.path)))
        .map(protocol.seen),
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
      new OpenAI({
        baseURL: `${deployment.url}/v1`,
        apiKey: KEY,
        maxRetries: 0,
        fetch: fetchThis,
        ...clientOptions,
      }),
    fetch: (path, init = {}) => fetchThis(`${deployment.url}${path}`, withKey(init)),
    postTo: (path, body, headers) => deployment.fetch(path, postOf(body, headers)),
    chat: async (body, headers) => protocol.answer(await deployment.wire(body, headers)),
    wire: (body, headers) =>
      fetchRaw(
        `${deployment.url}/v1/chat/completions`,
        withKey(postOf(typeof body === 'string' ? protocol.text(body) : body, headers)),
      ),
    async ask({ messages, ...fields }, headers) {
      const body = { model: 'gpt-4.1', ...fields, memory_report: true, messages };
      const response = await deployment.chat(body, headers);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${text}`);
      return { memory: reportIn(text), headers: response.headers, text, seen: deployment.lastChat() };
    },
  };
  return deployment;
}

/** A request with JSON as its body. A string is sent as it is. */
export function postOf(body: object | string, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Adds `KEY`, unless there is another key. */
function withKey(init: RequestInit): RequestInit {
  const headers = new Headers({ authorization: `Bearer ${KEY}` });
  new Headers(init.headers).forEach((value, name) => {
    headers.set(name, value);
  });
  return { ...init, headers };
}

function variablesOf({ url }: Summarizer): Record<string, string> {
  return {
    SUMMARIZER_BASE_URL: url,
    SUMMARIZER_MODEL,
    SUMMARIZER_API_KEY: SUMMARIZER_KEY,
  };
}

/** The report in a completion, or in a stream's last chunk. */
function reportIn(text: string): Report {
  const whole = text.startsWith('data:') ? (dataOf(text).at(-2) ?? '') : text;
  const { memory } = JSON.parse(whole) as WithMemory;
  if (!memory) throw new Error('the answer has no report');
  return memory;
}
