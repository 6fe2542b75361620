/** A Worker in front of an upstream of Anthropic's API, for one file of end-to-end tests. */
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import {
  type MessagesUpstream,
  type MessagesUpstreamOptions,
  startMessagesUpstream,
} from '../../../tools/upstream/messages-upstream.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { startUpstream, type Upstream } from '../../../tools/upstream/upstream.ts';
import { postOf } from './deployment.ts';
import type { Environment } from './environment.ts';
import { FileWorker } from './file-worker.ts';

/** The caller's key. */
export const MESSAGES_KEY = 'sk-ant-the-key-of-a-test-caller-1';

export const MESSAGES_MODEL = 'claude-sonnet-4-6';

interface Options extends Partial<Environment> {
  readonly upstream?: MessagesUpstreamOptions;
  /** Whether refusals of the upstream are part of the file's tests. */
  readonly refuses?: true;
}

/** An answer of Precis with its report. */
interface Reported {
  readonly memory: Report;
  readonly headers: Headers;
  /** The message. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly message: any;
  /** The last request to the upstream for an answer. */
  readonly seen: RecordedRequest;
}

export interface MessagesDeployment {
  /** The Worker's URL, without `/v1`. */
  readonly url: string;
  readonly worker: Pick<FileWorker, 'output'>;
  readonly upstream: MessagesUpstream;
  /** The other upstream, of OpenAI's API. */
  readonly openai: Upstream;
  /** A request with `MESSAGES_KEY` and a version; `init` may set others. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Likewise, with JSON as its body. A string is sent as it is. */
  postTo(path: string, body: object | string, headers?: Record<string, string>): Promise<Response>;
  /** `POST /v1/messages`. */
  post(body: object, headers?: Record<string, string>): Promise<Response>;
  /** Likewise, with the report. Rejects any answer but 200. */
  ask(body: object, headers?: Record<string, string>): Promise<Reported>;
}

/** Starts all before the tests of a file, and stops them after. No request may be refused. */
export function deployMessages({ vars, limits, upstream = {}, refuses }: Options = {}): MessagesDeployment {
  const worker = new FileWorker({});
  let started: { upstream: MessagesUpstream; openai: Upstream } | undefined;
  const running = () => {
    if (!started) throw new Error('the deployment runs only within tests');
    return started;
  };
  beforeAll(async () => {
    const messages = await startMessagesUpstream(upstream);
    const openai = await startUpstream();
    started = { upstream: messages, openai };
    const own = { ANTHROPIC_BASE_URL: messages.url, UPSTREAM_BASE_URL: openai.url };
    await worker.start({ vars: { ...own, ...vars }, limits });
  });
  beforeEach(() => {
    running().upstream.become(upstream);
    running().openai.requests.length = 0;
  });
  afterAll(async () => {
    await worker.stop();
    await started?.upstream.close();
    await started?.openai.close();
    if (!refuses) expect(started?.upstream.refusals).toEqual([]);
  });
  const deployment: MessagesDeployment = {
    worker,
    get url() {
      return worker.url;
    },
    get upstream() {
      return running().upstream;
    },
    get openai() {
      return running().openai;
    },
    fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has('authorization') && !headers.has('x-api-key')) headers.set('x-api-key', MESSAGES_KEY);
      if (!headers.has('anthropic-version')) headers.set('anthropic-version', '2023-06-01');
      return fetch(`${deployment.url}${path}`, { ...init, headers });
    },
    postTo: (path, body, headers) => deployment.fetch(path, postOf(body, headers)),
    post: (body, headers) =>
      deployment.postTo('/v1/messages', { model: MESSAGES_MODEL, max_tokens: 1_024, ...body }, headers),
    async ask(body, headers) {
      const response = await deployment.post({ memory_report: true, ...body }, headers);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${text}`);
      const message = JSON.parse(text);
      const seen = running().upstream.messages().at(-1);
      if (!seen || !message.memory) throw new Error('the answer has no report');
      return { memory: message.memory, headers: response.headers, message, seen };
    },
  };
  return deployment;
}
