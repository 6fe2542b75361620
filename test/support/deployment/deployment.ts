/** A Worker in front of an upstream that tests control, for one file of end-to-end tests. */
import OpenAI, { type ClientOptions } from 'openai';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../../../tools/upstream/upstream.ts';
import type { WorkerServer } from '../../../tools/worker-server.ts';
import type { TimeLimits } from '../time-limits.ts';
import { startBuiltWorker } from './built-worker.ts';
import { dataOf } from './event-stream.ts';
import type { WithMemory } from './memory-report.ts';
import { CHAT, fetchOver, fetchWire, PROTOCOLS, type Protocol } from './protocol.ts';
import { SUMMARIZER_KEY, SUMMARIZER_MODEL, type Summarizer, startSummarizer } from './summarizer.ts';
import { uncaughtIn } from './watched-worker.ts';

/** The default secret of deployments. */
export const SECRET = 'secret-of-the-end-to-end-tests';

/** The key of the data that earlier versions have stored. */
const EARLIER_KEY = 'sk-the-key-of-a-test-caller-0001';

/**
 * The default key of callers. Each file that shares a Worker has its own key, and so its own
 * tenant.
 */
export let KEY = EARLIER_KEY;
let keys = 1;

export interface DeploymentOptions {
  /**
   * The Worker's variables. The secret and the upstream are always set. Files without variables and
   * without stored data share a Worker.
   */
  readonly vars?: Record<string, string>;
  /** Time limits that differ from `TIME_LIMITS`. */
  readonly limits?: Partial<TimeLimits>;
  readonly upstream?: UpstreamOptions;
  /** The path of a folder with stored data. The Worker reads and changes it. */
  readonly state?: string;
  /** Whether the deployment has its own summarizer, with a limit of one second per answer. */
  readonly summarizer?: boolean;
  /**
   * Whether the file shares no Worker. Needed after failures of a summarizer, since the Worker may
   * ask it again later.
   */
  readonly alone?: boolean;
}

/** The parts of a deployment. */
interface Running {
  upstream: Upstream;
  readonly worker: WorkerServer;
  readonly summarizer: Summarizer | undefined;
  /** Length of the Worker's output when the file began. */
  printed: number;
  /** Length of the part of it in which no error went uncaught. */
  checked: number;
}

/** The shared deployments, without and with a summarizer. A process runs one file at a time. */
const shared = new Map<boolean, Promise<Running>>();

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
  readonly worker: WorkerServer;
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
  /** Runs work while nothing listens at the upstream's address. */
  withoutUpstream<Value>(work: () => Promise<Value>): Promise<Value>;
  /** `POST /v1/chat/completions`. A string is sent as it is. */
  chat(body: object | string, headers?: Record<string, string>): Promise<Response>;
  /** Likewise, with the answer as it came over the wire. */
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

async function start(options: DeploymentOptions): Promise<Running> {
  const upstream = await startUpstream(options.upstream);
  const summarizer = options.summarizer ? await startSummarizer() : undefined;
  const worker = await startBuiltWorker({
    ...(options.state === undefined ? {} : { state: options.state }),
    vars: {
      PRECIS_SECRET: SECRET,
      UPSTREAM_BASE_URL: upstream.url,
      ...(summarizer && variablesOf(summarizer)),
      ...options.vars,
      ...(options.limits && { TEST_TIME_LIMITS: JSON.stringify(options.limits) }),
    },
  });
  return { upstream, worker, summarizer, printed: 0, checked: 0 };
}

/** The shared deployment, set up for one file. */
async function startShared({ summarizer = false, upstream = {} }: DeploymentOptions): Promise<Running> {
  const starting = shared.get(summarizer) ?? start({ summarizer });
  shared.set(summarizer, starting);
  const running = await starting;
  running.upstream.become(upstream);
  running.printed = running.worker.output().length;
  return running;
}

/** Starts both before the tests of a file. Stops them after, unless files share them. */
export function deploy(deploymentOptions: DeploymentOptions = {}): Deployment {
  const { vars, limits, upstream: options = {}, state, alone = false } = deploymentOptions;
  const shares = vars === undefined && limits === undefined && state === undefined && !alone;
  if (shares) KEY = `sk-the-key-of-a-test-caller-${String(++keys).padStart(4, '0')}`;
  if (state !== undefined) KEY = EARLIER_KEY;
  let started: Running | undefined;
  let protocol = CHAT;
  const fetchThis = fetchOver(() => protocol);
  const fetchRaw = fetchWire(() => protocol);
  const running = () => {
    if (!started) throw new Error('the deployment runs only within tests');
    return started;
  };

  beforeAll(async () => {
    started = await (shares ? startShared(deploymentOptions) : start(deploymentOptions));
  });
  beforeEach(() => {
    running().upstream.requests.length = 0;
    running().summarizer?.reset();
  });
  afterAll(async () => {
    if (!started) return;
    if (!shares) {
      await started.worker.close();
      await started.upstream.close();
      await started.summarizer?.close();
    }
    expectNothingUncaught(started);
  });

  const deployment: Deployment = {
    get url() {
      return running().worker.url;
    },
    get worker() {
      const { worker, printed } = running();
      return { ...worker, output: () => worker.output().slice(printed) };
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
    chat: async (body, headers) => protocol.answer(await deployment.wire(body, headers)),
    wire: (body, headers = {}) =>
      fetchRaw(
        `${deployment.url}/v1/chat/completions`,
        withKey({
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' ? protocol.text(body) : JSON.stringify(body),
        }),
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

/** A shared Worker may print an error late: then the next file fails for it. */
function expectNothingUncaught(running: Running): void {
  const output = running.worker.output();
  const uncaught = uncaughtIn(output.slice(running.checked));
  running.checked = output.length;
  expect(uncaught, 'the uncaught errors of the Worker').toEqual([]);
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
    SUMMARIZER_TIMEOUT_MS: '1000',
  };
}

/** The report in a completion, or in a stream's last chunk. */
function reportIn(text: string): Report {
  const whole = text.startsWith('data:') ? (dataOf(text).at(-2) ?? '') : text;
  const { memory } = JSON.parse(whole) as WithMemory;
  if (!memory) throw new Error('the answer has no report');
  return memory;
}
